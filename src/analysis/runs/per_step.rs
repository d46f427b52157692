//! Chooses the number of steps by which a run's total time is divided to get its time per step.
//!
//! The number of steps may differ between runs, even between runs on the same side. If only some steps are
//! compared, the time in these steps is divided by the number of compared steps in the run, not by the number
//! of all steps.

use crate::analysis::steps::StepPairs;
use crate::analysis::wall::Part;
use crate::diff::TraceDiff;
use crate::side::Side;

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
    pub(super) fn of(diff: &TraceDiff, pairs: &StepPairs, chosen: Option<&[bool]>) -> SharedSteps {
        if let (Some(paired), Some(count)) = (pairs.all(), pairs.count()) {
            let compared = count as usize;
            let others = diff.steps(Side::Candidate).len() - compared;
            return SharedSteps { paired, compared, others };
        }
        let paired = diff.steps(Side::Baseline).len().max(1);
        let compared =
            chosen.map_or(paired, |chosen| chosen.iter().filter(|&&is_chosen| is_chosen).count());
        SharedSteps { paired, compared, others: paired - compared }
    }

    /// The steps of the median run itself.
    pub(super) fn of_median(steps: usize, pairs: &StepPairs) -> SharedSteps {
        let paired = steps.max(1);
        let compared = pairs.count().map_or(paired, |steps| steps as usize);
        SharedSteps { paired, compared, others: paired - compared }
    }

    pub(super) fn count(self, scope: StepScope) -> usize {
        match scope {
            StepScope::All => self.paired,
            StepScope::Compared => self.compared,
            StepScope::Others => self.others,
        }
    }
}
