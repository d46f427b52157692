//! Tests whether the times of a group of events differ significantly between the sides. The result is a
//! [`Judgement`]. All call sites together determine the usual spread and the false discovery rates, which all
//! tests use.
//!
//! A sample is the time in one run. The logarithms of the times are compared,
//! because longer times have more noise. The test statistic is the difference of the means divided by a
//! spread that takes the spreads of all call sites into account (see `moderation`). The resulting p-value is
//! corrected for the number of call sites (see `discovery`).
//!
//! ```text
//! the difference is below a threshold                          similar
//! a side has a single run                                      not tested
//! a run has no time at all (new, gone, or intermittent)        slower / faster if all runs of one side
//!                                                              are above all of the other
//! significant by the moderated test at the false discovery     slower / faster
//! rate or, if the work changed, at that probability
//! otherwise, or if the clock does not resolve the difference   within noise
//! ```
//! The result of a test depends only on the samples, so all tables show bit-identical results for the same
//! group of events.

use super::discovery::Discoveries;
use super::distributions::two_tails;
use super::judgement::{Judgement, Repeats, Thresholds, Verdict, Work};
use super::moderation::{Prior, Spread};
use crate::analysis::robust::{Few, lower_median, median, median_deviation, range, shift};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// The times of one call site on both sides.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Question {
    /// Time of the call site in each repeat, in µs.
    pub samples: PerSide<Vec<f64>>,
    /// Total time, which is compared if there are no repeats.
    pub time: PerSide<Nanos>,
    /// Whether different work explains the time difference; `Same` if it does not.
    pub work: Work,
    /// Whether the repeats are runs or steps.
    pub of: Repeats,
    /// The smallest difference that the clock resolves, in µs: one tick for each event in a repeat, because
    /// times are rounded to ticks. If the program is unchanged, all repeats are rounded in the same way, so
    /// the mean does not become more precise with more repeats.
    pub resolution_us: f64,
}

/// Tolerance, in µs, for rounding errors in means of whole ticks.
const BELOW_A_NANOSECOND: f64 = 5e-4;

/// The usual spread and the false discovery rates, computed from all call sites of a comparison together.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    prior: Prior,
    discoveries: Discoveries,
}

impl Family {
    /// Derives the usual spread and the false discovery rates from call sites that together contain each
    /// event of the comparison exactly once.
    pub fn of<'q>(places: impl IntoIterator<Item = &'q Question>) -> Family {
        let places: Vec<&Question> = places.into_iter().collect();
        let contrasts: Vec<Contrast> = places.iter().filter_map(|place| place.contrast()).collect();
        let spreads: Vec<Spread> = contrasts.iter().map(|contrast| contrast.spread).collect();
        let prior = Prior::of(&spreads);
        let probabilities = contrasts.iter().map(|contrast| contrast.probability(&prior));
        let discoveries = Discoveries::among(probabilities);
        Family { prior, discoveries }
    }

    /// Tests a call site or any other group of events.
    pub fn judge(&self, question: &Question, thresholds: &Thresholds) -> Judgement {
        let samples = &question.samples;
        let contrast = question.contrast();
        let p = contrast.map(|contrast| contrast.probability(&self.prior));
        let q = p.map(|p| self.discoveries.rate(p));
        // One call site among hundreds may have a small p by chance, so p is corrected. If the work of the
        // call site changed, no correction is needed, because the call site was not selected for its small p.
        let chance = match question.work {
            Work::Same => q,
            Work::Changed | Work::OneSided => p,
        };
        let is_found = match (contrast, chance) {
            (Some(contrast), Some(chance)) => {
                let difference = question.difference();
                chance <= thresholds.false_discovery_rate
                    && contrast.difference.signum() == difference.signum()
            }
            (None, _) | (_, None) => are_apart(samples),
        };
        let middle = match question.of {
            Repeats::Runs => lower_median,
            Repeats::Steps | Repeats::None | Repeats::OtherOptions => median,
        };
        Judgement {
            verdict: question.verdict(is_found && question.is_resolved(), thresholds),
            repeats: samples.as_ref().map(Vec::len),
            of: question.of,
            mean_us: question.compared(),
            median_us: samples.as_ref().map(|samples| middle(samples)),
            deviation_us: samples.as_ref().map(|samples| median_deviation(samples)),
            spread_us: samples.as_ref().map(|samples| range(samples)),
            shift_us: shift(samples),
            p,
            q,
            is_resolved: question.is_resolved(),
            is_apart: are_apart(samples),
            few: Few::among(samples),
        }
    }
}

impl Question {
    /// The contrast between the sides; `None` if the difference cannot be tested.
    fn contrast(&self) -> Option<Contrast> {
        (self.of == Repeats::Runs).then(|| Contrast::of(&self.samples)).flatten()
    }

    /// Whether both sides have several samples: both sides were recorded with the same options, each side has at least
    /// two samples, and at least one sample has a nonzero time.
    fn has_samples(&self) -> bool {
        self.of != Repeats::OtherOptions
            && Side::BOTH.into_iter().all(|side| self.samples[side].len() > 1)
            && Side::BOTH.into_iter().any(|side| self.samples[side].iter().any(|&time| time > 0.0))
    }

    /// Whether the difference exceeds the maximum rounding error of the clock.
    fn is_resolved(&self) -> bool {
        self.difference().abs() > self.resolution_us + BELOW_A_NANOSECOND
    }

    /// The mean over the repeats in µs; without repeats, the total time.
    fn compared(&self) -> PerSide<f64> {
        PerSide::from_fn(|side| {
            if self.has_samples() {
                self.samples[side].iter().sum::<f64>() / self.samples[side].len() as f64
            } else {
                self.time[side].as_micros()
            }
        })
    }

    fn difference(&self) -> f64 {
        let PerSide { baseline, candidate } = self.compared();
        candidate - baseline
    }

    fn verdict(&self, is_found: bool, thresholds: &Thresholds) -> Verdict {
        let is_close = thresholds.are_close(self.compared());
        let is_tested = self.of == Repeats::Runs && self.has_samples();
        match (is_close, is_tested, is_found, self.difference() > 0.0) {
            (true, ..) => Verdict::Similar,
            (false, false, ..) => Verdict::NotTested,
            (false, true, false, _) => Verdict::WithinNoise,
            (false, true, true, true) => Verdict::Slower,
            (false, true, true, false) => Verdict::Faster,
        }
    }
}

/// Whether every repeat on one side takes longer than every repeat on the other side.
fn are_apart(samples: &PerSide<Vec<f64>>) -> bool {
    let least = |side: Side| samples[side].iter().copied().fold(f64::INFINITY, f64::min);
    let most = |side: Side| samples[side].iter().copied().fold(0.0, f64::max);
    Side::BOTH.into_iter().any(|side| most(side) < least(side.other()))
}

/// Statistics of one call site's log times.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Contrast {
    /// Mean of the candidate minus mean of the baseline.
    difference: f64,
    /// Mean over all samples, and variance of the samples around the mean of their side.
    spread: Spread,
    /// Variance of the difference of the means, in units of the variance of one sample.
    share: f64,
    /// Number of samples on the side with fewer samples.
    fewest: usize,
}

/// Minimum number of runs per side required to borrow degrees of freedom from other call sites. All calls in
/// a run share the state of the machine. With only two runs per side, about one call site in a hundred
/// therefore seems to be free of noise by chance.
const ENOUGH_RUNS: usize = 3;

impl Contrast {
    /// Returns `None` without repeats, or if the time in a repeat is zero, because zero has no logarithm.
    fn of(samples: &PerSide<Vec<f64>>) -> Option<Contrast> {
        let is_known = |samples: &Vec<f64>| samples.len() > 1 && samples.iter().all(|&t| t > 0.0);
        if !is_known(&samples.baseline) || !is_known(&samples.candidate) {
            return None;
        }
        let logs = samples.as_ref().map(|list| list.iter().map(|t| t.ln()).collect::<Vec<f64>>());
        let counts = logs.as_ref().map(|list| list.len() as f64);
        let sums = logs.as_ref().map(|list| list.iter().sum::<f64>());
        let means = PerSide::from_fn(|side| sums[side] / counts[side]);
        let squares = PerSide::from_fn(|side| {
            logs[side].iter().map(|log| (log - means[side]).powi(2)).sum::<f64>()
        });
        let degrees = counts.baseline + counts.candidate - 2.0;
        let spread = Spread {
            mean: (sums.baseline + sums.candidate) / (counts.baseline + counts.candidate),
            variance: (squares.baseline + squares.candidate) / degrees,
            degrees,
        };
        let share = counts.baseline.recip() + counts.candidate.recip();
        let fewest = samples.baseline.len().min(samples.candidate.len());
        Some(Contrast { difference: means.candidate - means.baseline, spread, share, fewest })
    }

    /// The p-value: the probability that the sides differ by at least this much by chance.
    fn probability(&self, prior: &Prior) -> f64 {
        let Spread { variance, degrees, .. } = prior.moderate_runs(&self.spread);
        let degrees = if self.fewest < ENOUGH_RUNS { self.spread.degrees } else { degrees };
        two_tails(self.difference / (variance * self.share).sqrt(), degrees)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Contrast {
        /// The p-value of the published method, without what this module adds for runs.
        fn moderated(&self, prior: &Prior) -> f64 {
            let Spread { variance, degrees, .. } = prior.moderate(&self.spread);
            two_tails(self.difference / (variance * self.share).sqrt(), degrees)
        }
    }

    fn place(baseline: &[f64], candidate: &[f64]) -> Question {
        Question {
            samples: PerSide::new(baseline.to_vec(), candidate.to_vec()),
            ..Question::default()
        }
    }

    /// Six call sites with three steps per side.
    fn places() -> [Question; 6] {
        [
            place(&[100.0, 101.0, 99.0], &[101.0, 100.0, 102.0]),
            place(&[50.0, 52.0, 49.0], &[55.0, 57.0, 56.0]),
            place(&[10.0, 10.4, 9.9], &[10.1, 10.2, 9.8]),
            place(&[7.0, 7.7, 6.9], &[7.2, 6.8, 7.5]),
            place(&[200.0, 201.0, 203.0], &[230.0, 231.0, 229.0]),
            place(&[31.0, 30.0, 36.0], &[30.0, 33.0, 31.0]),
        ]
    }

    /// The expected values were computed with scipy 1.17.1 from Smyth's formulas (`polygamma`,
    /// `brentq` for the inverse, `t.sf`, `false_discovery_control`). The prior has 1.3327 degrees of
    /// freedom and a variance of 0.00027999.
    #[test]
    fn moderated_probabilities_and_rates_are_those_of_an_independent_computation() {
        let places = places();
        let contrasts = places.each_ref().map(|place| place.contrast().expect("samples"));
        let prior = Prior::of(&contrasts.map(|contrast| contrast.spread));
        let probabilities = contrasts.map(|contrast| contrast.moderated(&prior));
        let discoveries = Discoveries::among(probabilities.into_iter());
        let expected = [
            (0.354_033_196_145_627_84, 0.708_066_392_291_255_7),
            (0.001_914_572_432_224_342_5, 0.005_743_717_296_673_027),
            (0.730_611_413_887_216_8, 0.876_733_696_664_661_2),
            (0.917_771_042_514_583_6, 0.917_771_042_514_583_6),
            (9.029_193_706_653_588e-6, 5.417_516_223_992_153e-5),
            (0.617_429_710_254_595_8, 0.876_733_696_664_661_2),
        ];
        for (found, (p, q)) in probabilities.into_iter().zip(expected) {
            assert!((found / p - 1.0).abs() < 1e-7, "p {found} for {p}");
            let rate = discoveries.rate(found);
            assert!((rate / q - 1.0).abs() < 1e-7, "q {rate} for {q}");
        }
    }

    #[test]
    fn runs_that_happen_to_agree_at_one_place_have_the_usual_noise_there() {
        let noisy = |at: usize| {
            let noise = |run: usize| ((at * 7 + run * 5) % 9) as f64 * (1 + at % 5) as f64;
            let time = |run: usize| 100.0 + noise(run);
            place(&[time(0), time(1), time(2)], &[time(3), time(4), time(5)])
        };
        let mut places: Vec<Question> = (0..60).map(noisy).collect();
        places.push(place(&[110.0, 110.0, 110.0], &[120.0, 120.0, 120.0]));
        let contrasts: Vec<Contrast> = places.iter().filter_map(Question::contrast).collect();
        let prior = Prior::of(&contrasts.iter().map(|one| one.spread).collect::<Vec<_>>());
        let (plain, runs) = (contrasts[60].moderated(&prior), contrasts[60].probability(&prior));
        assert!(runs > 1.5 * plain, "{runs} {plain}");
    }

    #[test]
    fn with_two_runs_per_side_call_sites_borrow_no_certainty() {
        let mut places: Vec<Question> = places().to_vec();
        for place in &mut places {
            Side::BOTH.iter().for_each(|&side| place.samples[side].truncate(2));
        }
        let contrasts: Vec<Contrast> = places.iter().filter_map(Question::contrast).collect();
        let prior = Prior::of(&contrasts.iter().map(|one| one.spread).collect::<Vec<_>>());
        let (plain, two) = (contrasts[4].moderated(&prior), contrasts[4].probability(&prior));
        assert!(two > 5.0 * plain, "{two} {plain}");
    }

    #[test]
    fn the_verdict_on_a_total_uses_the_scale_of_the_call_sites() {
        let places = places();
        let family = Family::of(&places);
        let thresholds = Thresholds::default();
        let sum = place(&[150.0, 153.0, 148.0], &[176.0, 177.0, 178.0]);
        assert_eq!(family.judge(&sum, &thresholds).verdict, Verdict::Slower);
        let same = family.judge(&places[1].clone(), &thresholds);
        assert_eq!(same, family.judge(&places[1], &thresholds));
    }

    #[test]
    fn exchanging_the_sides_turns_the_verdict_and_keeps_the_evidence_to_the_bit() {
        let places = places();
        let turned: Vec<Question> = places
            .iter()
            .rev()
            .map(|place| Question { samples: place.samples.clone().swap(), ..Question::default() })
            .collect();
        let thresholds = Thresholds::default();
        let there = Family::of(&places).judge(&places[4], &thresholds);
        let back = Family::of(&turned).judge(&turned[1], &thresholds);
        assert_eq!((there.verdict, back.verdict), (Verdict::Slower, Verdict::Faster));
        assert_eq!((there.p, there.q), (back.p, back.q));
    }

    #[test]
    fn ranges_that_touch_are_not_apart() {
        let apart = |one: &[f64], two: &[f64]| are_apart(&PerSide::new(one.into(), two.into()));
        assert!(apart(&[0.0, 0.0], &[1.0, 2.0]));
        assert!(apart(&[3.0, 4.0], &[1.0, 2.0]));
        assert!(!apart(&[0.0, 1.0], &[1.0, 2.0]));
        assert!(!apart(&[0.0, 0.0], &[0.0, 2.0]));
    }

    #[test]
    fn call_sites_without_any_spread_get_a_verdict() {
        let still = [place(&[5.0; 3], &[6.5; 3]), place(&[7.0; 3], &[7.0; 3])];
        let family = Family::of(&still);
        let verdicts = still.each_ref().map(|q| family.judge(q, &Thresholds::default()).verdict);
        assert_eq!(verdicts, [Verdict::Slower, Verdict::Similar]);
    }

    #[test]
    fn a_call_site_whose_work_changed_is_not_corrected_for_all_the_others() {
        let mut all: Vec<Question> = (0..100)
            .map(|at| place(&[9.0, 10.0, 11.0], &[9.2, 10.1, 10.9 + at as f64 / 1e3]))
            .collect();
        all.push(place(&[9.0, 10.0, 11.0], &[12.0, 12.5, 13.5]));
        let family = Family::of(&all);
        let judged = |work: Work| {
            let question = Question { work, ..all[100].clone() };
            family.judge(&question, &Thresholds::default())
        };
        let (p, q) = (judged(Work::Same).p, judged(Work::Same).q);
        assert!(p < Some(0.05) && q > Some(0.05), "{p:?} {q:?}");
        assert_eq!(judged(Work::Same).verdict, Verdict::WithinNoise);
        assert_eq!(judged(Work::Changed).verdict, Verdict::Slower);
    }

    #[test]
    fn one_tick_of_the_clock_for_each_event_is_not_significant_however_often_it_repeats() {
        use Verdict::{Similar, Slower, WithinNoise};
        let judged = |resolution_us: f64| {
            let of = |one: f64, two: f64| Question { resolution_us, ..place(&[one; 9], &[two; 9]) };
            let all = [of(2.0, 3.0), of(7.0, 9.0), of(5.0, 5.0)];
            let family = Family::of(&all);
            all.each_ref().map(|q| family.judge(q, &Thresholds::default()).verdict)
        };
        assert_eq!(judged(0.0), [Slower, Slower, Similar]);
        assert_eq!(judged(1.0), [WithinNoise, Slower, Similar], "one event");
        assert_eq!(judged(2.0), [WithinNoise, WithinNoise, Similar], "two events");
        // In floating point, 16.6 − 15.6 is a little more than 1.
        let one = place(&[16.0, 16.0, 16.0, 15.0, 15.0], &[17.0, 17.0, 17.0, 16.0, 16.0]);
        assert!(!Question { resolution_us: 1.0, ..one }.is_resolved());
    }

    #[test]
    fn a_mean_that_one_step_moves_against_all_others_is_not_a_finding() {
        let mut all = places().to_vec();
        all.push(place(&[100.0, 100.0, 100.0, 100.0, 900.0], &[110.0; 5]));
        let judged = Family::of(&all).judge(&all[6], &Thresholds::default());
        assert_eq!(judged.verdict, Verdict::WithinNoise);
    }
}
