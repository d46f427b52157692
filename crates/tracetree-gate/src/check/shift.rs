//! Decides whether the time of the candidate's runs exceeds a limit. The gate and `diff --fail-on` both ask here.
//!
//! ```text
//! exceeded      the lower bound of the shift is above the limit
//! within        the measured shift is within the limit
//! unknown       anything else: the measured shift is above the limit, but the runs do not exclude chance
//! ```
//! If a side has only one run, there is no bound, so a time above its limit is unknown, or exceeded if the limit is
//! hard.

use tracetree::analysis::verdict::{Ruling, Shift};
use tracetree::side::PerSide;

/// The number of runs per side from which a bound exists.
const ENOUGH: usize = 3;

/// The time of each run on both sides, in µs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times<'a> {
    pub(super) runs: PerSide<&'a [f64]>,
    /// How much the speed of the machine varies from run to run (see [`tracetree::analysis::verdict::drift`]).
    pub(super) drift: f64,
    /// The resolution of the recorded times in µs; 0 if times are recorded more finely than in whole microseconds.
    pub(super) resolution_us: f64,
}

/// Whether a limit applies to the measured time or to its lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hardness {
    /// A time that exceeds the limit by chance is not a violation.
    Tested,
    /// Any measured time above the limit is a violation.
    Hard,
}

/// The result of comparing the times of both sides with a limit.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decision {
    /// The measured shift is within the limit.
    Within,
    /// The shift exceeds the limit; the strings are the evidence.
    Exceeds(Vec<String>),
    /// The measured shift exceeds the limit, but the runs do not exclude chance; the string states why and what would
    /// decide.
    Unknown(String),
}

impl Times<'_> {
    /// Decides whether the shift exceeds a limit in µs, and describes the shift. `None` if a side has no runs.
    pub(super) fn decide(self, limit_us: f64, hardness: Hardness) -> Option<(Shift, Decision)> {
        let shift = Shift::between(self.runs, self.drift)?;
        let decision = match (shift.ruling(limit_us.max(self.resolution_us)), hardness) {
            (Ruling::Within, _) => Decision::Within,
            (Ruling::Exceeds, _) => Decision::Exceeds(evidence(&shift)),
            (Ruling::Open(_), Hardness::Hard) => {
                Decision::Exceeds(vec![format!("{}; hard limit", runs(&shift))])
            }
            (Ruling::Open(detectable), Hardness::Tested) => {
                Decision::Unknown(unknown(&shift, detectable))
            }
        };
        Some((shift, decision))
    }
}

/// The number of runs, and how far apart they are.
fn evidence(shift: &Shift) -> Vec<String> {
    let apart = if shift.is_apart { ", all apart" } else { "" };
    let bound = shift
        .bounds
        .map(|(lower, _)| format!("at least {:+.1}% with 95% confidence", 100.0 * lower.exp_m1()));
    std::iter::once(format!("{}{apart}", runs(shift))).chain(bound).collect()
}

fn unknown(shift: &Shift, detectable: Option<f64>) -> String {
    match detectable {
        None => format!("with {}; record {ENOUGH} runs per side to decide", runs(shift)),
        Some(least) => {
            let overlap = if shift.is_apart { "all apart" } else { "which overlap" };
            let least = 100.0 * least;
            format!("with {}, {overlap}; detectable from {least:+.0}%", runs(shift))
        }
    }
}

/// Formats both medians and their relative difference for people. If the shift over all runs is larger than the
/// difference of the medians, the shift is added, because the limit applies to the larger of both.
pub(super) fn words(shift: &Shift) -> String {
    let PerSide { baseline: before, candidate: after } = shift.medians;
    if before <= 0.0 {
        return format!("{} → {}", micros(before), micros(after));
    }
    let percent = 100.0 * (after - before) / before;
    let whole = 100.0 * shift.measured().exp_m1();
    let more = if format!("{whole:.1}") == format!("{percent:.1}") {
        String::new()
    } else {
        format!("; {whole:+.1}% over all runs")
    };
    format!("{} → {} ({percent:+.1}%{more})", micros(before), micros(after))
}

/// Counts of runs, such as `1 run per side` or `3 and 5 runs`.
fn runs(shift: &Shift) -> String {
    match (shift.runs.baseline, shift.runs.candidate) {
        (1, 1) => "1 run per side".to_owned(),
        (one, two) if one == two => format!("{one} runs per side"),
        (one, two) => format!("{one} and {two} runs"),
    }
}

/// Formats a time in µs for people.
pub(crate) fn micros(micros: f64) -> String {
    match micros.abs() {
        1e6.. => format!("{:.3} s", micros / 1e6),
        1e3.. => format!("{:.3} ms", micros / 1e3),
        _ => format!("{micros:.1} µs"),
    }
}
