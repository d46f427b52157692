//! Builds the chips below the headline of the page, which show how certain the result is and link to details.

use crate::analysis::Analysis;
use crate::analysis::account::Totals;
use crate::analysis::comparability::damage;
use crate::analysis::verdict::{Repeats, Verdict};
use crate::program::{Measure, counted};
use crate::report::summary::Summary;
use crate::side::Side;
use crate::trace::Nanos;

/// Minimum number of runs per side required to measure how much runs vary.
pub(super) const RUNS: usize = 3;

/// A short remark with a link to its details.
pub(super) struct Chip {
    pub(super) text: String,
    /// The section of the page that contains the details.
    pub(super) section: &'static str,
    /// `warn` if figures may be wrong, otherwise empty.
    pub(super) style: &'static str,
}

pub(super) fn chips(analysis: &Analysis, summary: &Summary) -> Vec<Chip> {
    let mut chips = vec![confidence(analysis)];
    let totals = &analysis.account().totals;
    let share = |pick: fn(&Totals) -> Nanos| -> Nanos {
        Side::BOTH.iter().map(|&side| pick(&totals[side])).sum()
    };
    let (all, matched) = (share(|totals| totals.time), share(|totals| totals.paired));
    if all > Nanos::ZERO {
        let what = match analysis.ledger().measure() {
            Measure::GpuTime => "GPU time",
            Measure::HostSelfTime => "op time",
        };
        let percent = |share: f64| {
            if share < 1.0 {
                format!("{:.0}%", (100.0 * share).min(99.0))
            } else {
                "100%".to_owned()
            }
        };
        let firmly = analysis
            .changes()
            .firm_share()
            .map_or_else(String::new, |share| format!(", {} with certainty", percent(share)));
        let exact = if summary.account_is_exact {
            "totals exact"
        } else {
            "totals not exact: please report this bug"
        };
        let matched = percent(matched.0 as f64 / all.0 as f64);
        chips.push(chip(format!("{matched} of {what} matched{firmly}; {exact}"), "totals", ""));
    }
    if !summary.comparable {
        chips.push(chip("different work".to_owned(), "notes", "warn"));
    }
    let damage = damage(analysis.diff(), analysis.names()).len() as u64;
    if damage > 0 {
        chips.push(chip("recording incomplete".to_owned(), "notes", "warn"));
    }
    let notes = summary.notes.len() as u64;
    if notes > 0 {
        chips.push(chip(counted(notes, "warning"), "notes", ""));
    }
    chips
}

fn chip(text: String, section: &'static str, style: &'static str) -> Chip {
    Chip { text, section, style }
}

/// The chip that shows how certain the step times are.
fn confidence(analysis: &Analysis) -> Chip {
    let runs = Side::BOTH.map(|side| analysis.runs()[side].len() + 1);
    let judged = analysis.judged();
    match (judged.repeats, judged.step.map(|step| step.verdict)) {
        (Repeats::Runs, Some(Verdict::WithinNoise)) => {
            chip(format!("{} and {} runs: within noise", runs[0], runs[1]), "steps", "warn")
        }
        (Repeats::Runs, Some(Verdict::Slower | Verdict::Faster)) => {
            chip(format!("{} and {} runs: significant", runs[0], runs[1]), "steps", "")
        }
        (Repeats::Runs, Some(Verdict::Similar)) => chip(
            format!("{} and {} runs: no significant difference", runs[0], runs[1]),
            "steps",
            "",
        ),
        (Repeats::Runs, Some(Verdict::NotTested) | None) => {
            chip(format!("{} and {} runs: too few to test", runs[0], runs[1]), "steps", "warn")
        }
        (Repeats::None | Repeats::OtherOptions, _) if runs == [1, 1] => {
            chip(format!("1 run per side: not tested; record {RUNS} per side"), "next", "warn")
        }
        (Repeats::None | Repeats::OtherOptions, _) => chip(
            format!("1 run on one side: could be noise; record {RUNS} per side"),
            "next",
            "warn",
        ),
    }
}
