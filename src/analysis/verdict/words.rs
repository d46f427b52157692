//! A [`Judgement`] → the words of it for people: what was tested, and what came of it.

use super::judgement::{Judgement, Repeats, Verdict};
use crate::side::PerSide;

impl Judgement {
    /// `slower (5 steps, q 0.002)`, `faster, not proven (3 steps)`, `similar (3 and 4 steps)`,
    /// `not tested (one step each)`.
    pub fn words(&self) -> String {
        let steps = steps(self.repeats, self.of);
        let chance = self.chance();
        let direction = match self.mean_us.candidate > self.mean_us.baseline {
            true => Verdict::Slower.label(),
            false => Verdict::Faster.label(),
        };
        match (self.verdict, self.is_tested()) {
            (Verdict::Slower | Verdict::Faster, _) => format!("{direction} ({steps}{chance})"),
            (Verdict::WithinNoise, _) => format!("{direction}, not proven ({steps})"),
            (Verdict::NotTested, _) => format!("not tested ({steps})"),
            (Verdict::Similar, true) => format!("similar ({steps})"),
            (Verdict::Similar, false) => format!("similar, not tested ({steps})"),
        }
    }

    /// The rate that supports a change: `, q 0.002`, or the probability where that is enough, since
    /// the work changed.
    fn chance(&self) -> String {
        let (sign, chance) = match (self.p, self.q) {
            (Some(p), Some(q)) if q > USUAL_RATE => ("p", p),
            (_, Some(q)) => ("q", q),
            (_, None) => return String::new(),
        };
        match chance < LEAST_SHOWN {
            true => format!(", {sign} < {LEAST_SHOWN}"),
            false => format!(", {sign} {chance:.3}"),
        }
    }
}

/// Rates above this support no change by themselves.
const USUAL_RATE: f64 = 0.05;

/// Smaller chances than this are not told apart.
const LEAST_SHOWN: f64 = 0.001;

fn steps(counts: PerSide<usize>, of: Repeats) -> String {
    let what = match of {
        Repeats::Runs => "runs",
        Repeats::Steps | Repeats::None => "steps",
    };
    match (counts.baseline, counts.candidate) {
        (0, 0) => "no steps".to_owned(),
        (1, 1) => "one step each".to_owned(),
        (one, other) if one == other => format!("{one} {what}"),
        (one, other) => format!("{one} and {other} {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(verdict: Verdict, repeats: (usize, usize), q: Option<f64>) -> String {
        let judgement = Judgement {
            verdict,
            repeats: PerSide::new(repeats.0, repeats.1),
            of: Repeats::Steps,
            mean_us: PerSide::new(2.0, 1.0),
            median_us: PerSide::default(),
            deviation_us: PerSide::default(),
            spread_us: PerSide::default(),
            shift_us: None,
            p: q,
            q,
        };
        judgement.words()
    }

    #[test]
    fn words_say_what_was_tested() {
        assert_eq!(words(Verdict::NotTested, (1, 1), None), "not tested (one step each)");
        assert_eq!(words(Verdict::NotTested, (0, 0), None), "not tested (no steps)");
        assert_eq!(words(Verdict::NotTested, (1, 6), None), "not tested (1 and 6 steps)");
        assert_eq!(words(Verdict::Similar, (1, 1), None), "similar, not tested (one step each)");
        assert_eq!(words(Verdict::Similar, (3, 3), Some(0.4)), "similar (3 steps)");
    }

    #[test]
    fn a_chance_that_rounds_to_nothing_is_told_as_less_than_the_least() {
        assert_eq!(words(Verdict::Faster, (5, 5), Some(1e-9)), "faster (5 steps, q < 0.001)");
    }

    #[test]
    fn what_is_not_proven_is_not_told_as_a_fact() {
        assert_eq!(words(Verdict::WithinNoise, (3, 3), Some(0.1)), "faster, not proven (3 steps)");
        assert_eq!(words(Verdict::Faster, (3, 4), Some(0.01)), "faster (3 and 4 steps, q 0.010)");
    }
}
