//! Chooses the number of steps by which a run's total time is divided to get its time per step.
//!
//! The number of steps may differ between runs, even between runs on the same side. If only some steps are
//! compared, the time in these steps is divided by the number of compared steps in the run, not by the number
//! of all steps.

use super::in_order;
use crate::analysis::Attribution;
use crate::analysis::wall::Part;
use crate::side::Side;
use crate::trace::Nanos;
use crate::tree::CallId;

/// The steps over which a time is summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::analysis) enum StepScope {
    /// All steps.
    All,
    /// Steps with a counterpart on the other side.
    Compared,
    /// Steps without a counterpart on the other side.
    Others,
}

impl StepScope {
    /// The steps that the idle time in a part of the wall time belongs to.
    pub(super) fn of_part(part: Part) -> StepScope {
        match part {
            Part::Window => StepScope::Compared,
            Part::Alone => StepScope::Others,
            Part::Before => StepScope::All,
        }
    }
}

/// How many steps of a run match steps of the median run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SharedSteps {
    /// Number of steps that match a step of the median run.
    paired: usize,
    /// Number of steps that match a compared step of the median run.
    compared: usize,
    /// Number of steps that are not compared with the other side.
    others: usize,
}

impl SharedSteps {
    /// Counts the steps of an analysis whose baseline is the median run. A run without detected steps is treated
    /// as if it had the same steps as the median run.
    pub(super) fn of(analysis: &Attribution) -> SharedSteps {
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

/// The time per step in each run, including the median run, in µs and in the order of the runs. A run without
/// steps in `scope` is skipped.
pub(super) fn per_step(
    analysis: &Attribution,
    side: Side,
    scope: StepScope,
    median: Nanos,
    others: impl IntoIterator<Item = Nanos>,
) -> Vec<f64> {
    let all = analysis.steps(side).len().max(1);
    let compared = analysis.wall().paired_steps().map_or(all, |steps| steps as usize);
    let own = SharedSteps { paired: all, compared, others: all - compared };
    let shared = in_order(analysis, side, own, analysis.runs[side].iter().map(|run| run.shared));
    in_order(analysis, side, median, others)
        .into_iter()
        .zip(shared.into_iter().map(|steps| steps.count(scope)))
        .filter(|&(_, count)| count > 0)
        .map(|(time, count)| time.as_micros() / count as f64)
        .collect()
}

/// The steps over which the times of the given events are summed: the compared steps if all events are in
/// compared steps, otherwise all steps.
pub(super) fn scope_of(analysis: &Attribution, side: Side, events: &[CallId]) -> StepScope {
    // No lookup is needed if all steps are compared.
    let Some(pairs) = analysis.wall().step_pairs() else { return StepScope::All };
    let is_compared = |&event: &CallId| {
        analysis.steps(side).step(event).is_some_and(|step| !pairs.is_alone(side, step))
    };
    if events.iter().all(is_compared) { StepScope::Compared } else { StepScope::All }
}
