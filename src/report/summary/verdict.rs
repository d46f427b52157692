//! Computes the verdicts that `summary.json` and the terminal show.

use crate::analysis::Analysis;
use crate::analysis::verdict::Site;
use crate::side::{PerSide, Side};
use crate::trace::{Argument, Nanos};
use serde::Serialize;

/// Maximum number of changed call sites in the list.
const LARGEST: usize = 20;

/// The verdict on the total time, and the call sites whose change in time is supported by the repeated measurements.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[doc(hidden)]
pub struct VerdictSummary {
    /// Verdict on the total attributed time: `slower`, `faster`, `similar`, `within_noise` or
    /// `not_tested`.
    pub total: &'static str,
    /// A description of the verdict and of what was tested, such as `faster, not significant (3 runs)`.
    pub words: String,
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
    /// p-value of the moderated test over the repetitions; `null` if a side has fewer than two
    /// repetitions.
    pub p: Option<f64>,
    /// False discovery rate among all call sites when `p` is used as the significance threshold.
    pub q: Option<f64>,
    /// Minimum time change, in µs per step, for a call site to be counted in `changes` and listed.
    pub least_difference_us: f64,
    /// Number of call sites that became slower or faster by at least `least_difference_us`.
    pub changes: u64,
    /// Number of call sites where the sides did different work, regardless of time.
    pub other_work: u64,
    /// The changed call sites with the largest differences, at most 20.
    pub largest_changes: Vec<Change>,
}

/// Verdict on the wall time of a step, which requires several runs per side.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[doc(hidden)]
pub struct StepVerdict {
    /// `slower`, `faster`, `similar` or `within_noise`.
    pub verdict: &'static str,
    /// A description of the verdict and of what was tested.
    pub words: String,
    /// One-sided p-value of the permutation test over the runs.
    pub p: Option<f64>,
}

/// A call site whose time changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[doc(hidden)]
pub struct Change {
    /// Name of the call site's rows.
    pub name: String,
    /// The enclosing module in the baseline; empty if there is none.
    pub module_trace1: String,
    /// The enclosing module in the candidate; empty if there is none.
    pub module_trace2: String,
    /// `Input Dims` of the baseline op or, if the baseline has no such op, of the candidate op.
    pub input_shape: String,
    /// `slower` or `faster`.
    pub verdict: &'static str,
    /// Whether both sides did the same work: `same`, `changed` or `one_sided`.
    pub work: &'static str,
    /// Attributed time in the baseline, in µs.
    pub kernel_us_trace1: f64,
    /// Attributed time in the candidate, in µs.
    pub kernel_us_trace2: f64,
    /// Difference in attributed time, candidate − baseline, in µs.
    pub difference_us: f64,
    /// The baseline time that the verdict is based on, in µs: the mean per step or run; without
    /// repetitions, the total.
    pub judged_us_trace1: f64,
    /// The candidate time that the verdict is based on, in µs: the mean per step or run; without
    /// repetitions, the total.
    pub judged_us_trace2: f64,
    /// False discovery rate of the call site's test; `null` if the call site was not tested.
    pub q: Option<f64>,
    /// A description of the few repetitions that contain most of the difference; `null` if the difference is spread
    /// over most repetitions.
    pub few: Option<String>,
}

impl VerdictSummary {
    /// The baseline time and candidate time to display for a changed call site. With several runs per side, the times
    /// are per-step means over the runs, because in a single run the time may have changed in the opposite direction.
    /// With a single run per side, the times are taken from the two traces.
    pub(in crate::report) fn shown(&self, change: &Change) -> PerSide<Nanos> {
        let micros = if self.runs_trace1.min(self.runs_trace2) > 1 {
            PerSide::new(change.judged_us_trace1, change.judged_us_trace2)
        } else {
            PerSide::new(change.kernel_us_trace1, change.kernel_us_trace2)
        };
        micros.map(|micros| Nanos((micros * 1e3).round() as i64))
    }

    /// A caption that says how the displayed times of changed call sites were obtained, and whether their noise is
    /// known.
    pub(in crate::report) fn caption(&self) -> &'static str {
        match self.basis {
            "runs" => "mean over the runs, per step",
            _ => "not tested",
        }
    }
}

pub(super) fn summarise(analysis: &Analysis) -> VerdictSummary {
    let verdicts = analysis.judged();
    VerdictSummary {
        total: verdicts.total.verdict.label(),
        words: verdicts.total.words(),
        basis: verdicts.repeats.basis(),
        step: verdicts.step.map(|step| StepVerdict {
            verdict: step.verdict.label(),
            words: step.words(),
            p: step.p,
        }),
        runs_trace1: analysis.runs()[Side::Baseline].len() as u64 + 1,
        runs_trace2: analysis.runs()[Side::Candidate].len() as u64 + 1,
        steps_trace1: verdicts.steps.baseline as u64,
        steps_trace2: verdicts.steps.candidate as u64,
        p: verdicts.total.p,
        q: verdicts.total.q,
        least_difference_us: verdicts.least.as_micros(),
        changes: verdicts.changes().count() as u64,
        other_work: verdicts.other_work().count() as u64,
        largest_changes: verdicts
            .changes()
            .take(LARGEST)
            .map(|site| change(analysis, site))
            .collect(),
    }
}

fn change(analysis: &Analysis, site: &Site) -> Change {
    let row = &analysis.rows()[site.first_row()];
    let shapes = Side::BOTH.map(|side| row.argument_text(analysis.diff(), Argument::Shape, side));
    let shape = shapes.into_iter().find(|shape| !shape.is_empty());
    let PerSide { baseline, candidate } = site.time.map(Nanos::as_micros);
    Change {
        name: site.name.clone(),
        module_trace1: site.module.baseline.clone(),
        module_trace2: site.module.candidate.clone(),
        input_shape: shape.unwrap_or_default().to_owned(),
        verdict: site.judgement.verdict.label(),
        work: site.work.label(),
        kernel_us_trace1: baseline,
        kernel_us_trace2: candidate,
        difference_us: (site.time.candidate - site.time.baseline).as_micros(),
        judged_us_trace1: site.judgement.mean_us.baseline,
        judged_us_trace2: site.judgement.mean_us.candidate,
        q: site.judgement.q,
        few: site.judgement.few_words(),
    }
}
