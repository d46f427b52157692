//! The verdicts of a comparison → what `summary.json` and the terminal show of them.

use crate::analysis::{Analysis, Site};
use crate::side::{PerSide, Side};
use crate::trace::{Argument, Nanos};
use serde::Serialize;

/// How many changes are listed.
const LARGEST: usize = 20;

/// The verdict on the total, and the changes that the evidence supports.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerdictSummary {
    /// `slower`, `faster`, `similar`, `within_noise` or `not_tested`: all accounted time.
    pub total: &'static str,
    /// The same in words that say what was tested: `faster, not significant (3 runs)`.
    pub words: String,
    /// The noise that all verdicts rest on: `between_runs`, `within_one_run` (then run-to-run noise is
    /// unknown) or `none`.
    pub basis: &'static str,
    /// The verdict on the wall time of a step over the runs; `null` where a side has one run.
    pub step: Option<StepVerdict>,
    /// What the repeats are: `runs`, `steps` or `none`.
    pub repeats: &'static str,
    /// Number of runs of the baseline.
    pub runs_trace1: u64,
    /// Number of runs of the candidate.
    pub runs_trace2: u64,
    /// Number of steps of the baseline.
    pub steps_trace1: u64,
    /// Number of steps of the candidate.
    pub steps_trace2: u64,
    /// Probability of the moderated test over steps; `null` with fewer than two on a side.
    pub p: Option<f64>,
    /// The false discovery rate at that probability, among all places.
    pub q: Option<f64>,
    /// Places that changed by less than this many µs per step are neither counted nor listed.
    pub least_difference_us: f64,
    /// Places that are slower or faster by at least that much.
    pub changes: u64,
    /// Places where the sides did not do the same work, whatever their times.
    pub other_work: u64,
    /// The largest changes: all of them, or the first 20.
    pub largest_changes: Vec<Change>,
}

/// The verdict on the wall time of a step, of several runs a side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepVerdict {
    /// `slower`, `faster`, `similar` or `within_noise`.
    pub verdict: &'static str,
    /// The same in words that say what was tested.
    pub words: String,
    /// Probability of the moderated test over the runs.
    pub p: Option<f64>,
}

/// An op of the program that changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Name of its rows.
    pub name: String,
    /// The module around it in the baseline; empty where there is none.
    pub module_trace1: String,
    /// The module around it in the candidate; empty where there is none.
    pub module_trace2: String,
    /// `Input Dims` in the baseline, else in the candidate.
    pub input_shape: String,
    /// `slower` or `faster`.
    pub verdict: &'static str,
    /// `same`, `changed` or `one_sided`: whether both sides did the same work.
    pub work: &'static str,
    /// Time in the baseline in µs.
    pub kernel_us_trace1: f64,
    /// Time in the candidate in µs.
    pub kernel_us_trace2: f64,
    /// Candidate − baseline, in µs.
    pub difference_us: f64,
    /// What the verdict compares in the baseline, in µs: the mean of a step or run; all time without repeats.
    pub judged_us_trace1: f64,
    /// The same in the candidate.
    pub judged_us_trace2: f64,
    /// False discovery rate of the test; `null` where it was not asked.
    pub q: Option<f64>,
    /// The few repeats that most of the difference is in; `null` where it is in most of them.
    pub few: Option<String>,
}

impl VerdictSummary {
    /// The times of a change that people are shown: with several runs the means over them, per step, since one
    /// run may show the opposite; else those of the two traces.
    pub(in crate::report) fn shown(&self, change: &Change) -> PerSide<Nanos> {
        let micros = match self.runs_trace1.min(self.runs_trace2) > 1 {
            true => PerSide::new(change.judged_us_trace1, change.judged_us_trace2),
            false => PerSide::new(change.kernel_us_trace1, change.kernel_us_trace2),
        };
        micros.map(|micros| Nanos((micros * 1e3).round() as i64))
    }

    /// Of what the shown times of changes are, and what is not known of their noise.
    pub(in crate::report) fn caption(&self) -> &'static str {
        match self.basis {
            "between_runs" => "mean over the runs, per step",
            "within_one_run" => "within one run; run-to-run noise unknown",
            _ => "one step each; noise unknown",
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
        repeats: verdicts.repeats.label(),
        runs_trace1: analysis.runs(Side::Baseline).len() as u64 + 1,
        runs_trace2: analysis.runs(Side::Candidate).len() as u64 + 1,
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
    let shapes = Side::BOTH.map(|side| analysis.argument_text(row, Argument::Shape, side));
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
