//! Decides whether the time shift between two sides exceeds a limit, and whether the shift is larger than the noise
//! between runs.
//!
//! ```text
//! shift = median of the candidate's runs − median of the baseline's
//! exceeded if the shift is larger than the limit and larger than the floor (the largest difference between
//! two runs of one side), and if the moderated test over the runs agrees
//! ```
//! If a side has only one run, the run-to-run noise is unknown. A shift that exceeds the limit is then inconclusive, or
//! a violation if the limit is hard.

use tracetree::analysis::robust::{lower_median as median, range as spread};
use tracetree::analysis::verdict::{Family, Judgement, Question, Thresholds, Verdict, Work};
use tracetree::side::PerSide;

/// The time of each run on both sides, in µs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shift<'a> {
    pub(super) before: &'a [f64],
    pub(super) after: &'a [f64],
}

/// Settings for a significance test between the two sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale<'a> {
    pub(super) family: &'a Family,
    /// The resolution of the recorded times in µs; 0 if times are recorded more finely than in whole microseconds.
    pub(super) resolution_us: f64,
    pub(super) thresholds: Thresholds,
}

impl Scale<'_> {
    /// Tests whether the two sides differ. Only this hypothesis is tested, so the p-value is not corrected for multiple
    /// comparisons.
    pub(super) fn judge(self, before: &[f64], after: &[f64]) -> Judgement {
        let question = Question {
            samples: PerSide::new(before.to_vec(), after.to_vec()),
            work: Work::Changed,
            resolution_us: self.resolution_us,
            ..Question::default()
        };
        self.family.judge(&question, &Thresholds { relative: 0.0, ..self.thresholds })
    }
}

/// The result of checking whether a shift exceeds a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// `None`: the shift is within the limit. `Some`: the shift exceeds the limit, but is treated as noise for the
    /// given reason.
    Within(Option<String>),
    /// The shift exceeds the limit; the strings are the evidence.
    Exceeds(Vec<String>),
    /// The shift exceeds the limit, but cannot be tested, because run-to-run noise is unknown; the string states the
    /// reason.
    Unknown(String),
}

impl Shift<'_> {
    pub(super) fn medians(self) -> (f64, f64) {
        (median(self.before), median(self.after))
    }

    /// The median of the candidate's runs minus the median of the baseline's runs.
    pub(super) fn size(self) -> f64 {
        let (before, after) = self.medians();
        after - before
    }

    /// Formats both medians and their relative difference for people.
    pub(super) fn words(self) -> String {
        let (before, after) = self.medians();
        if before > 0.0 {
            let percent = 100.0 * (after - before) / before;
            format!("{} → {} ({percent:+.1}%)", micros(before), micros(after))
        } else {
            format!("{} → {}", micros(before), micros(after))
        }
    }

    /// Whether a side has a single run, which leaves run-to-run noise unknown.
    pub(super) fn is_of_one_run(self) -> bool {
        self.before.len() < 2 || self.after.len() < 2
    }

    /// Decides whether the shift exceeds a limit in µs.
    pub(super) fn decide(self, limit_us: f64, is_hard: bool, scale: Scale<'_>) -> Decision {
        let runs = runs(self.before.len(), self.after.len());
        if self.size() <= limit_us {
            return Decision::Within(None);
        }
        if self.is_of_one_run() {
            return if is_hard {
                Decision::Exceeds(vec![format!("{runs}: run-to-run noise unknown")])
            } else {
                Decision::Unknown(format!("with {runs}; record 3 runs per side to decide"))
            };
        }
        let floor = spread(self.before).max(spread(self.after));
        let judgement = scale.judge(self.before, self.after);
        let chance = chance(judgement.p);
        if self.size() <= floor {
            let apart = micros(floor);
            return Decision::Within(Some(format!(
                "within noise: runs on the same side differ by up to {apart}{chance}"
            )));
        }
        if judgement.verdict != Verdict::Slower {
            return Decision::Within(Some(format!("not significant{chance} ({runs})")));
        }
        Decision::Exceeds(vec![
            format!("{runs}; runs on the same side differ by at most {}", micros(floor)),
            format!("moderated t test{chance}"),
        ])
    }
}

/// Counts of runs, such as `1 run per side` or `3 and 5 runs`.
fn runs(before: usize, after: usize) -> String {
    match (before, after) {
        (1, 1) => "1 run per side".to_owned(),
        (one, two) if one == two => format!("{one} runs per side"),
        (one, two) => format!("{one} and {two} runs"),
    }
}

/// A suffix such as `, p 0.012`; empty if nothing was tested.
pub(super) fn chance(p: Option<f64>) -> String {
    match p {
        Some(p) if p < 0.001 => ", p < 0.001".to_owned(),
        Some(p) => format!(", p {p:.3}"),
        None => String::new(),
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
