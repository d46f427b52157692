//! Describes in words what a [`Judgement`] tested, and what the result is.

use super::judgement::{Judgement, Repeats, Verdict};
use crate::side::PerSide;

impl Judgement {
    /// The verdict in words, such as `slower (3 runs, all apart)`, `faster, not significant (3 runs)`,
    /// `similar (3 and 4 runs)` or `not tested (one run per side)`.
    pub fn words(&self) -> String {
        let runs = runs(self.runs, self.of);
        // If the result is not significant, the words describe the direction in which the medians over the
        // runs differ, because the headline shows these medians.
        let direction = if self.median_us.candidate > self.median_us.baseline {
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

    /// A description such as `; in 1 of 5 candidate runs: +60.000 ms`, if a few runs contain most of the difference.
    fn in_few(&self) -> String {
        self.few.map_or_else(String::new, |few| format!("; {}", few.words("runs")))
    }

    /// The evidence for a change: that the runs of the sides do not overlap, or else the probability of a difference
    /// this large by chance.
    fn chance(&self) -> String {
        match self.p {
            Some(_) if self.is_apart => ", all apart".to_owned(),
            Some(p) if p < LEAST_SHOWN => format!(", p < {LEAST_SHOWN}"),
            Some(p) => format!(", p {p:.3}"),
            None => String::new(),
        }
    }
}

/// Smallest probability that is shown as a number; smaller probabilities are shown as `< 0.001`.
const LEAST_SHOWN: f64 = 0.001;

fn runs(counts: PerSide<usize>, of: Repeats) -> String {
    match of {
        Repeats::OtherOptions => "recorded with different options".to_owned(),
        Repeats::None => "one run per side".to_owned(),
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

    fn judgement(of: Repeats, verdict: Verdict, runs: (usize, usize), p: Option<f64>) -> Judgement {
        Judgement {
            verdict,
            runs: PerSide::new(runs.0, runs.1),
            of,
            median_us: PerSide::new(2.0, 1.0),
            p,
            is_resolved: true,
            is_apart: false,
            few: None,
        }
    }

    #[test]
    fn words_say_what_was_tested() {
        let words = |of, verdict, runs| judgement(of, verdict, runs, None).words();
        let not_tested = "not tested (one run per side)";
        assert_eq!(words(Repeats::None, Verdict::NotTested, (1, 1)), not_tested);
        let similar = words(Repeats::None, Verdict::Similar, (1, 1));
        assert_eq!(similar, "similar, not tested (one run per side)");
        assert_eq!(words(Repeats::Runs, Verdict::Similar, (3, 4)), "similar (3 and 4 runs)");
    }

    #[test]
    fn a_change_is_explained_by_its_probability_or_by_runs_that_are_apart() {
        let runs = judgement(Repeats::Runs, Verdict::Faster, (5, 5), Some(1e-9));
        assert_eq!(runs.words(), "faster (5 runs, p < 0.001)");
        let apart = Judgement { is_apart: true, ..runs };
        assert_eq!(apart.words(), "faster (5 runs, all apart)");
    }

    #[test]
    fn without_significance_the_direction_is_that_of_the_medians() {
        let runs = judgement(Repeats::Runs, Verdict::WithinNoise, (4, 3), Some(0.4));
        let slower = Judgement { median_us: PerSide::new(1.0, 2.0), ..runs }.words();
        assert_eq!(slower, "slower, not significant (4 and 3 runs)");
    }

    #[test]
    fn a_difference_in_one_of_five_runs_is_reported_there() {
        let few = Few { side: Side::Candidate, count: 1, of: 5, excess: Nanos(60_000_000) };
        let verdict = judgement(Repeats::Runs, Verdict::WithinNoise, (5, 5), Some(0.3));
        let shown = Judgement { few: Some(few), ..verdict }.words();
        let expected = "faster, not significant (5 runs; in 1 of 5 candidate runs: +60.000 ms)";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_difference_below_the_resolution_of_the_clock_is_labelled() {
        let verdict = judgement(Repeats::Runs, Verdict::WithinNoise, (5, 5), Some(0.001));
        let shown = Judgement { is_resolved: false, ..verdict }.words();
        assert_eq!(shown, "faster by less than the clock resolution of 1 µs per event (5 runs)");
    }
}
