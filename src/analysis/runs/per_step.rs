//! A time of a run → the steps that it is divided by.
//!
//! Runs may have other numbers of steps, on two sides and on one. What is compared step by step is divided
//! by the number of steps that are compared, in every run: two of five take two fifths of the time of five.

use crate::analysis::Analysis;
use crate::analysis::wall::Part;
use crate::side::Side;
use crate::trace::Nanos;
use crate::tree::CallId;

/// Which steps of the median run a time is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::analysis) enum StepScope {
    /// All of them.
    All,
    /// Those that have a partner on the other side, where one side has more.
    Compared,
    /// Those that have none.
    Others,
}

impl StepScope {
    /// Of idle time.
    pub(super) fn of_part(part: Part) -> StepScope {
        match part {
            Part::Window => StepScope::Compared,
            Part::Alone => StepScope::Others,
            Part::Before => StepScope::All,
        }
    }
}

/// How many of its steps a run shares with the median run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SharedSteps {
    /// With a partner in the median run.
    paired: usize,
    /// With a partner in it that is compared with the other side.
    compared: usize,
    /// Without a partner that is compared.
    others: usize,
}

impl SharedSteps {
    /// Of an analysis whose baseline is the median run. A run whose steps nobody told has the work of those
    /// of the median run.
    pub(super) fn of(analysis: &Analysis) -> SharedSteps {
        if let Some(pairs) = analysis.wall().step_pairs() {
            let compared = pairs.len() as usize;
            let others = analysis.steps(Side::Candidate).len() - compared;
            return SharedSteps { paired: pairs.all(), compared, others };
        }
        let paired = analysis.steps(Side::Baseline).len().max(1);
        let chosen = analysis.chosen_steps.as_ref();
        let compared =
            chosen.map_or(paired, |chosen| chosen.iter().filter(|&&is_chosen| is_chosen).count());
        SharedSteps { paired, compared, others: paired - compared }
    }

    fn count(self, scope: StepScope) -> usize {
        match scope {
            StepScope::All => self.paired,
            StepScope::Compared => self.compared,
            StepScope::Others => self.others,
        }
    }
}

impl Analysis {
    /// What events are divided by: where all of them are in steps that are compared, the number of those.
    pub(super) fn scope_of(&self, side: Side, events: &[CallId]) -> StepScope {
        // Where all steps are compared nothing has to be looked up.
        let Some(pairs) = self.wall().step_pairs() else { return StepScope::All };
        let is_compared = |&event: &CallId| {
            self.steps(side).step(event).is_some_and(|step| !pairs.is_alone(side, step))
        };
        match events.iter().all(is_compared) {
            true => StepScope::Compared,
            false => StepScope::All,
        }
    }

    /// Times of the median run and of the others, in a step in µs, in the order of the runs. A run that
    /// has none of these steps is left out.
    pub(super) fn per_step(
        &self,
        side: Side,
        scope: StepScope,
        median: Nanos,
        others: impl IntoIterator<Item = Nanos>,
    ) -> Vec<f64> {
        let all = self.steps(side).len().max(1);
        let compared = self.wall().paired_steps().map_or(all, |steps| steps as usize);
        let own = SharedSteps { paired: all, compared, others: all - compared };
        let shared = self.in_order(side, own, self.runs[side].iter().map(|run| run.shared));
        self.in_order(side, median, others)
            .into_iter()
            .zip(shared.into_iter().map(|steps| steps.count(scope)))
            .filter(|&(_, count)| count > 0)
            .map(|(time, count)| time.as_micros() / count as f64)
            .collect()
    }
}
