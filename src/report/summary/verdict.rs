//! The verdicts that `summary.json` and the terminal show.

use crate::analysis::Analysis;
use crate::side::Side;
use serde::Serialize;

/// The verdicts on the measured time and on the step time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[doc(hidden)]
pub struct VerdictSummary {
    /// Verdict on the total attributed time per step: `slower`, `faster`, `similar`, `within_noise` or
    /// `not_tested`.
    pub total: &'static str,
    /// A description of the verdict and of what was tested, such as `faster, not significant (3 runs)`.
    pub words: String,
    /// p-value of the one-sided permutation test over the runs; `null` if a side has a single run.
    pub p: Option<f64>,
    /// What all verdicts are based on: `runs`, `none` (a side has a single run, so nothing is tested), or
    /// `other_options` (nothing is tested because the recording options differ).
    pub basis: &'static str,
    /// Verdict on the wall time of a step over several runs; `null` if a side has a single run.
    pub step: Option<StepVerdict>,
    /// Number of runs of the baseline.
    pub runs_trace1: u64,
    /// Number of runs of the candidate.
    pub runs_trace2: u64,
    /// Number of steps of the baseline.
    pub steps_trace1: u64,
    /// Number of steps of the candidate.
    pub steps_trace2: u64,
}

/// Verdict on the wall time of a step, which requires several runs per side.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[doc(hidden)]
pub struct StepVerdict {
    /// `slower`, `faster`, `similar` or `within_noise`.
    pub verdict: &'static str,
    /// A description of the verdict and of what was tested.
    pub words: String,
    /// p-value of the one-sided permutation test over the runs.
    pub p: Option<f64>,
}

pub(super) fn summarise(analysis: &Analysis) -> VerdictSummary {
    let verdicts = analysis.judged();
    let runs = |side: Side| analysis.runs()[side].len() as u64 + 1;
    let steps = |side: Side| analysis.diff().steps(side).len() as u64;
    let total = verdicts.total;
    VerdictSummary {
        total: total.map_or("not_tested", |total| total.verdict.label()),
        words: total.map_or_else(|| "nothing was compared".to_owned(), |total| total.words()),
        p: total.and_then(|total| total.p),
        basis: verdicts.repeats.basis(),
        step: verdicts.step.map(|step| StepVerdict {
            verdict: step.verdict.label(),
            words: step.words(),
            p: step.p,
        }),
        runs_trace1: runs(Side::Baseline),
        runs_trace2: runs(Side::Candidate),
        steps_trace1: steps(Side::Baseline),
        steps_trace2: steps(Side::Candidate),
    }
}
