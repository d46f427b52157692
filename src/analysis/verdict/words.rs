//! Describes in words what a [`Judgement`] tested, and what the result is.

use super::judgement::{Judgement, Repeats, Verdict};
use crate::side::PerSide;

impl Judgement {
    /// The verdict in words, such as `slower (3 runs, q 0.002)`, `faster, not significant (3 runs)`,
    /// `similar (3 and 4 runs)` or `not tested (one run per side)`.
    pub fn words(&self) -> String {
        let runs = runs(self.repeats, self.of);
        // If the result is not significant, the words describe the direction in which the medians over the
        // runs differ, because the headline shows these medians.
        let is_of_runs = self.of == Repeats::Runs && self.verdict == Verdict::WithinNoise;
        let shown = if is_of_runs { self.median_us } else { self.mean_us };
        let direction = if shown.candidate > shown.baseline {
            Verdict::Slower.label()
        } else {
            Verdict::Faster.label()
        };
        match (self.verdict, self.is_tested()) {
            (Verdict::Slower | Verdict::Faster, _) => {
                let (verdict, chance, few) = (self.verdict.label(), self.chance(), self.in_few());
                format!("{verdict} ({runs}{chance}{few})")
            }
            (Verdict::WithinNoise, _) if !self.is_resolved => {
                format!("{direction} by less than the clock resolution of 1 µs per event ({runs})")
            }
            (Verdict::WithinNoise, _) => {
                format!("{direction}, not significant ({runs}{})", self.in_few())
            }
            (Verdict::NotTested, _) => format!("not tested ({runs})"),
            (Verdict::Similar, true) => format!("similar ({runs})"),
            (Verdict::Similar, false) => format!("similar, not tested ({runs})"),
        }
    }

    /// A description such as `in 1 of 5 candidate steps: +60.000 ms`, if a few repeats contain most of the
    /// difference.
    pub(crate) fn few_words(&self) -> Option<String> {
        self.few.map(|few| few.words(noun(self.of)))
    }

    fn in_few(&self) -> String {
        self.few_words().map_or_else(String::new, |words| format!("; {words}"))
    }

    /// The evidence for a change: its false discovery rate, such as `, q 0.002`. If the work changed, no
    /// correction is needed, and the uncorrected probability may be shown instead. For the step time, which has no
    /// false discovery rate, the best evidence is that the runs of the sides do not overlap.
    fn chance(&self) -> String {
        let (sign, chance) = match (self.p, self.q) {
            (Some(_), None) if self.is_apart => return ", all apart".to_owned(),
            (Some(p), Some(q)) if q > USUAL_RATE => ("p", p),
            (Some(p), None) => ("p", p),
            (_, Some(q)) => ("q", q),
            (None, None) => return String::new(),
        };
        if chance < LEAST_SHOWN {
            format!(", {sign} < {LEAST_SHOWN}")
        } else {
            format!(", {sign} {chance:.3}")
        }
    }
}

/// Maximum false discovery rate that is shown. For a significant change with a higher rate, the uncorrected
/// probability is shown instead.
const USUAL_RATE: f64 = 0.05;

/// Smallest probability that is shown as a number; smaller probabilities are shown as `< 0.001`.
const LEAST_SHOWN: f64 = 0.001;

fn noun(of: Repeats) -> &'static str {
    match of {
        Repeats::Runs => "runs",
        Repeats::Steps | Repeats::None | Repeats::OtherOptions => "steps",
    }
}

fn runs(counts: PerSide<usize>, of: Repeats) -> String {
    match of {
        Repeats::OtherOptions => "recorded with different options".to_owned(),
        Repeats::Steps | Repeats::None => "one run per side".to_owned(),
        Repeats::Runs if counts.baseline == counts.candidate => format!("{} runs", counts.baseline),
        Repeats::Runs => format!("{} and {} runs", counts.baseline, counts.candidate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::robust::Few;
    use crate::side::Side;
    use crate::trace::Nanos;

    fn judgement(
        of: Repeats,
        verdict: Verdict,
        repeats: (usize, usize),
        q: Option<f64>,
    ) -> Judgement {
        Judgement {
            verdict,
            repeats: PerSide::new(repeats.0, repeats.1),
            of,
            mean_us: PerSide::new(2.0, 1.0),
            median_us: PerSide::default(),
            deviation_us: PerSide::default(),
            spread_us: PerSide::default(),
            shift_us: None,
            p: q,
            q,
            is_resolved: true,
            is_apart: false,
            few: None,
        }
    }

    #[test]
    fn words_say_what_was_tested() {
        let words = |of, verdict, repeats| judgement(of, verdict, repeats, None).words();
        let not_tested = "not tested (one run per side)";
        assert_eq!(words(Repeats::Steps, Verdict::NotTested, (2, 6)), not_tested);
        assert_eq!(words(Repeats::None, Verdict::NotTested, (0, 0)), not_tested);
        let similar = words(Repeats::Steps, Verdict::Similar, (2, 2));
        assert_eq!(similar, "similar, not tested (one run per side)");
        assert_eq!(words(Repeats::Runs, Verdict::Similar, (3, 4)), "similar (3 and 4 runs)");
    }

    #[test]
    fn a_probability_that_rounds_to_zero_is_printed_as_less_than_the_smallest_value() {
        let runs = judgement(Repeats::Runs, Verdict::Faster, (5, 5), Some(1e-9));
        assert_eq!(runs.words(), "faster (5 runs, q < 0.001)");
    }

    #[test]
    fn without_significance_the_direction_is_that_of_the_medians() {
        let runs = judgement(Repeats::Runs, Verdict::WithinNoise, (4, 3), Some(0.4));
        let told = Judgement { median_us: PerSide::new(1.0, 2.0), ..runs }.words();
        assert_eq!(told, "slower, not significant (4 and 3 runs)");
    }

    #[test]
    fn a_difference_in_one_of_five_runs_is_reported_there() {
        let few = Few { side: Side::Candidate, count: 1, of: 5, excess: Nanos(60_000_000) };
        let verdict = judgement(Repeats::Runs, Verdict::WithinNoise, (5, 5), Some(0.3));
        let told =
            Judgement { median_us: PerSide::new(1.0, 2.0), few: Some(few), ..verdict }.words();
        let expected = "slower, not significant (5 runs; in 1 of 5 candidate runs: +60.000 ms)";
        assert_eq!(told, expected);
    }

    #[test]
    fn a_difference_below_the_resolution_of_the_clock_is_labelled() {
        let verdict = judgement(Repeats::Runs, Verdict::WithinNoise, (5, 5), Some(0.001));
        let told = Judgement { is_resolved: false, ..verdict }.words();
        assert_eq!(told, "faster by less than the clock resolution of 1 µs per event (5 runs)");
    }
}
