//! How much longer a time takes on one side than on the other, and how certain this is. The runs of each side are the
//! repeats, and the logarithms of their times are compared.
//!
//! ```text
//! baseline    ●  ●    ●                differences  each candidate run − each baseline run
//! candidate            ●    ●  ●       estimate     the median difference (Hodges–Lehmann)
//!           ─────────────────────▶     lower bound  the k-th smallest difference; k by the exact distribution of
//!                         log time                  ranks (Mann and Whitney), one-sided 5%
//! ```
//! The bound uses the order of the runs only, so no outlier can widen it without limit, and a slower candidate run never
//! lowers it. Three runs against three reach 5% exactly if all candidate runs are slower than all baseline runs. A bound
//! from a few runs that happen to agree is too narrow, so a bound is never closer to the estimate than the drift of the
//! machine from run to run allows. The drift is measured with all call sites of a run together.

use super::distributions::below_normal;
use super::judgement::{Judgement, Repeats, Thresholds, Verdict};
use crate::analysis::robust::{Few, lower_median, median};
use crate::side::{PerSide, Side};

/// The accepted probability of a bound that is wrong.
const CHANCE: f64 = 0.05;

/// Rounding error of a sum of probabilities.
const ROUNDING: f64 = 1e-12;

/// A run whose speed deviates further than this many typical deviations counts as if it deviated by as many.
const FARTHEST: f64 = 3.0;

/// The quantile of the normal distribution that belongs to [`CHANCE`].
const QUANTILE: f64 = 1.645;

/// Shorter times in µs count as this long, because zero has no logarithm. No clock resolves a shorter time.
const SHORTEST: f64 = 1e-3;

/// Up to this number of differences, their ranks are counted exactly. Beyond it, a normal distribution is close enough.
const MOST_EXACT: usize = 2_500;

/// The difference of a time between the sides, candidate − baseline, in logarithms of the time.
#[derive(Debug, Clone, Copy, PartialEq)]
#[doc(hidden)]
pub struct Shift {
    /// Number of runs on each side.
    pub runs: PerSide<usize>,
    /// The median run of each side, in µs.
    pub medians: PerSide<f64>,
    /// The Hodges–Lehmann shift.
    pub estimate: f64,
    /// One-sided bounds at 5%: the shift is at least, and at most, this large. `None` if there are too few runs.
    pub bounds: Option<(f64, f64)>,
    /// Whether every run of one side takes longer than every run of the other side.
    pub is_apart: bool,
    /// The probability that the sides differ by at least this much in this direction by chance, by the order of their
    /// runs alone; 1 if a side has a single run.
    pub p: f64,
}

/// The result of a comparison with a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
#[doc(hidden)]
pub enum Ruling {
    /// The measured time is within the limit.
    Within,
    /// The time exceeds the limit by more than chance explains.
    Exceeds,
    /// The measured time exceeds the limit, but chance may explain this. If the runs have a bound: the smallest relative
    /// increase that these runs would show to exceed the limit.
    Open(Option<f64>),
}

impl Shift {
    /// Compares the times of the runs, in µs. `drift` is the standard deviation of [`drift`]. Returns `None` if a side
    /// has no runs.
    pub fn between(runs: PerSide<&[f64]>, drift: f64) -> Option<Shift> {
        let logs = runs.map(|times| times.iter().map(|&time| log(time)).collect::<Vec<f64>>());
        let each = logs.candidate.iter().flat_map(|b| logs.baseline.iter().map(move |a| b - a));
        let mut differences: Vec<f64> = each.collect();
        differences.sort_by(f64::total_cmp);
        let (&least, &most) = (differences.first()?, differences.last()?);
        let counts = logs.as_ref().map(Vec::len);
        let chances = chances(counts);
        let estimate = median(&differences);
        let faster = differences.iter().filter(|&&difference| difference <= 0.0).count();
        let slower = differences.iter().filter(|&&difference| difference >= 0.0).count();
        let bound =
            chances.iter().take_while(|&&chance| chance < CHANCE + ROUNDING).count().checked_sub(1);
        let share = (counts.baseline as f64).recip() + (counts.candidate as f64).recip();
        let floor = QUANTILE * drift * share.sqrt();
        let is_repeated = counts.baseline.min(counts.candidate) > 1;
        let bounds = bound.filter(|_| is_repeated).map(|at| {
            let high = differences[differences.len() - 1 - at];
            (differences[at].min(estimate - floor), high.max(estimate + floor))
        });
        Some(Shift {
            runs: counts,
            medians: runs.map(lower_median),
            estimate,
            bounds,
            is_apart: least > 0.0 || most < 0.0,
            p: if is_repeated { chances[faster.min(slower)] } else { 1.0 },
        })
    }

    /// Compares the shift with a limit: by how many µs the median run may exceed the median run of the baseline.
    ///
    /// The time is within the limit only if the estimate and the medians both are. The medians are what reports show, so
    /// no report shows an increase above a limit that passes.
    pub fn ruling(&self, limit_us: f64) -> Ruling {
        let limit = log(self.medians.baseline + limit_us) - log(self.medians.baseline);
        match self.bounds {
            _ if self.measured() <= limit => Ruling::Within,
            Some((lower, _)) if lower > limit => Ruling::Exceeds,
            Some((lower, _)) => Ruling::Open(Some((limit + self.estimate - lower).exp_m1())),
            None => Ruling::Open(None),
        }
    }

    /// The measured shift: the estimate or the shift of the medians, whichever is larger.
    pub fn measured(&self) -> f64 {
        self.estimate.max(log(self.medians.candidate) - log(self.medians.baseline))
    }

    /// The verdict without a limit. A difference within the relative threshold is similar. A difference between runs
    /// that do not overlap is significant, whatever the drift. Otherwise, a wrong verdict in either direction has a
    /// probability of at most 5% in total, so each direction has half of it.
    fn verdict(&self, thresholds: &Thresholds) -> Verdict {
        if thresholds.are_close(self.medians) {
            return Verdict::Similar;
        }
        let Some((lower, upper)) = self.bounds else { return Verdict::NotTested };
        let is_unlikely = self.p < CHANCE / 2.0 + ROUNDING;
        if self.is_apart || is_unlikely && (lower > 0.0 || upper < 0.0) {
            if self.estimate > 0.0 { Verdict::Slower } else { Verdict::Faster }
        } else {
            Verdict::WithinNoise
        }
    }
}

fn log(micros: f64) -> f64 {
    micros.max(SHORTEST).ln()
}

/// The times of all runs, from which a verdict follows.
pub(super) struct Question {
    /// Time per step in each run, in µs.
    pub(super) samples: PerSide<Vec<f64>>,
    /// What the verdict is based on.
    pub(super) of: Repeats,
    /// The smallest difference that the clock resolves, in µs; 0 if it is finer than a microsecond.
    pub(super) resolution_us: f64,
}

impl Question {
    /// Compares the times. Returns `None` if a side has no runs.
    pub(super) fn judged(&self, drift: f64, thresholds: &Thresholds) -> Option<Judgement> {
        let found = Shift::between(self.samples.as_ref().map(Vec::as_slice), drift)?;
        let difference = found.medians.candidate - found.medians.baseline;
        let is_resolved = difference.abs() > self.resolution_us;
        let verdict = match (self.of, found.verdict(thresholds)) {
            (Repeats::OtherOptions, _) => Verdict::NotTested,
            (_, verdict) if verdict.is_change() && !is_resolved => Verdict::WithinNoise,
            (_, verdict) => verdict,
        };
        Some(Judgement {
            verdict,
            runs: found.runs,
            of: self.of,
            median_us: found.medians,
            p: found.bounds.map(|_| found.p),
            is_resolved,
            is_apart: found.is_apart,
            few: Few::among(&self.samples),
        })
    }
}

/// For each u, the probability that at most u of the differences between two groups of runs are below zero if the
/// groups differ by chance only.
fn chances(runs: PerSide<usize>) -> Vec<f64> {
    let (n, m) = (runs.baseline, runs.candidate);
    let most = n * m;
    if most > MOST_EXACT {
        let (middle, width) = (most as f64 / 2.0, ((most * (n + m + 1)) as f64 / 12.0).sqrt());
        let below = |u: usize| below_normal((u as f64 + 0.5 - middle) / width);
        return (0..=most).map(below).collect();
    }
    // ways[c][u]: in how many ways c candidate runs can be placed among the runs seen so far, with u baseline runs
    // in front of them in total. Each run that is added comes after all runs so far.
    let mut ways = vec![vec![0.0; most + 1]; m + 1];
    ways[0][0] = 1.0;
    for seen in 0..n + m {
        for c in (1..=m.min(seen + 1)).rev() {
            let before = seen + 1 - c;
            for u in (before..=most).rev().filter(|_| before <= n) {
                ways[c][u] += ways[c - 1][u - before];
            }
        }
    }
    let all: f64 = ways[m].iter().sum();
    let mut sum = 0.0;
    let share = |ways: &f64| {
        sum += ways / all;
        sum
    };
    ways[m].iter().map(share).collect()
}

/// How much the speed of the machine varies between the runs of one side: the standard deviation of the logarithms of
/// the runs' speeds. Each item is a call site with its time in each run. The speed of a run is the median over the call
/// sites that have work in every run, relative to their median over the runs, so single call sites hardly matter. Nor
/// does a single run that is much slower than the others.
#[doc(hidden)]
pub fn drift(sites: &PerSide<Vec<&[f64]>>) -> f64 {
    let of_sides = Side::BOTH.map(|side| deviations(&sites[side]));
    let degrees: usize = of_sides.iter().map(|runs| runs.len().saturating_sub(1)).sum();
    if degrees == 0 {
        return 0.0;
    }
    let mut sizes: Vec<f64> = of_sides.concat().into_iter().map(f64::abs).collect();
    sizes.sort_by(f64::total_cmp);
    // The median run of each side does not deviate.
    let farthest = FARTHEST * median(&sizes[sizes.len() - degrees..]);
    let squares: f64 = sizes.iter().map(|size| size.min(farthest).powi(2)).sum();
    (squares / degrees as f64).sqrt()
}

/// How much faster or slower each run of a side is than its median run, as a logarithm.
fn deviations(sites: &[&[f64]]) -> Vec<f64> {
    let runs = sites.iter().map(|times| times.len()).max().unwrap_or_default();
    let is_whole =
        |times: &&&[f64]| times.len() == runs && times.iter().all(|&time| time > SHORTEST);
    let mut of_runs = vec![Vec::new(); runs];
    for times in sites.iter().filter(is_whole) {
        let middle = log(median(times));
        times.iter().zip(&mut of_runs).for_each(|(&time, run)| run.push(log(time) - middle));
    }
    let speeds: Vec<f64> = of_runs.iter().map(|differences| median(differences)).collect();
    let middle = median(&speeds);
    speeds.iter().map(|speed| speed - middle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shift(baseline: &[f64], candidate: &[f64], drift: f64) -> Shift {
        Shift::between(PerSide::new(baseline, candidate), drift).expect("runs on both sides")
    }

    fn is_within(shift: &Shift, limit_us: f64) -> bool {
        shift.ruling(limit_us) == Ruling::Within
    }

    fn width(shift: &Shift) -> f64 {
        shift.bounds.map_or(f64::INFINITY, |(lower, _)| shift.estimate - lower)
    }

    /// The expected values are those of tables of the Mann–Whitney test: the largest u with a one-sided probability of
    /// at most 5% is 0 for 3 and 3 runs, 1 for 4 and 4, 4 for 5 and 5, 21 for 9 and 9.
    #[test]
    fn three_runs_against_three_just_reach_five_percent() {
        let reached = |n: usize, m: usize| {
            let all = chances(PerSide::new(n, m));
            assert!((all[n * m] - 1.0).abs() < 1e-9);
            all.iter().filter(|&&chance| chance < CHANCE + ROUNDING).count()
        };
        assert_eq!([reached(2, 2), reached(2, 4), reached(3, 3)], [0, 0, 1]);
        assert_eq!([reached(4, 4), reached(5, 5), reached(9, 9)], [2, 5, 22]);
        assert_eq!(chances(PerSide::new(3, 3))[0], 0.05);
        // The normal distribution of many runs continues the exact one.
        let [exact, normal] = [50, 51].map(|n| chances(PerSide::new(n, n))[n * n * 2 / 5]);
        assert!((exact / normal - 1.0).abs() < 0.05, "{exact} {normal}");
    }

    #[test]
    fn runs_that_are_all_apart_exceed_a_limit_below_their_gap() {
        let found = shift(&[48.0, 30.0, 25.0], &[133.0, 135.0, 87.0], 0.0);
        assert!(found.is_apart && found.ruling(4.8) == Ruling::Exceeds);
        let slow = shift(&[15.4; 3], &[30.4, 30.4, 75.0], 0.0);
        assert_eq!(slow.ruling(1.54), Ruling::Exceeds);
        // An outlier in the baseline leaves the decision open, but hides nothing.
        let hidden = shift(&[15.4, 15.4, 75.0], &[30.4; 3], 0.0);
        assert!(matches!(hidden.ruling(1.54), Ruling::Open(Some(least)) if least > 0.1));
        assert_eq!(shift(&[15.4], &[30.4], 0.0).ruling(1.54), Ruling::Open(None));
        assert_eq!(shift(&[15.4; 3], &[15.5; 3], 0.0).ruling(1.54), Ruling::Within);
    }

    #[test]
    fn a_bound_keeps_the_distance_that_the_drift_of_the_machine_requires() {
        let agreeing = |drift: f64| shift(&[100.0; 3], &[115.0; 3], drift).ruling(10.0);
        assert_eq!(agreeing(0.0), Ruling::Exceeds);
        assert!(matches!(agreeing(0.1), Ruling::Open(Some(_))));
    }

    #[test]
    fn the_drift_is_the_speed_of_whole_runs_whatever_single_call_sites_do() {
        let speeds = [1.0, 1.1, 1.21];
        let mut sites: Vec<Vec<f64>> =
            (1..20).map(|at| speeds.map(|speed| speed * f64::from(at)).to_vec()).collect();
        sites.extend([vec![1.0, 900.0, 3.0], vec![0.0, 5.0, 5.0]]);
        let of = |sites: &[Vec<f64>]| {
            let side: Vec<&[f64]> = sites.iter().map(Vec::as_slice).collect();
            drift(&PerSide::new(side.clone(), side))
        };
        assert!((of(&sites) - 1.1_f64.ln()).abs() < 1e-9, "{}", of(&sites));
        assert_eq!(of(&[vec![3.0], vec![5.0]]), 0.0);
    }

    #[test]
    fn a_single_slow_run_hardly_changes_the_drift() {
        let of = |slow: f64| {
            let (base, new) = ([1.0, 1.01, 0.99], [1.0, 0.99, slow]);
            drift(&PerSide::new(vec![&base[..]], vec![&new[..]]))
        };
        assert!(of(3.0) < 3.0 * of(1.01), "{} {}", of(3.0), of(1.01));
        assert!(of(30.0) == of(3.0));
    }

    fn runs() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(1.0..1e3_f64, 1..7)
    }

    proptest! {
        #[test]
        fn a_slower_candidate_run_never_turns_a_failure_into_a_pass(
            (baseline, candidate) in (runs(), runs()),
            (at, factor, drift, limit) in (0_usize..7, 1.0..50.0_f64, 0.0..0.3_f64, 0.0..500.0_f64),
        ) {
            let before = shift(&baseline, &candidate, drift);
            let mut slower = candidate.clone();
            slower[at % candidate.len()] *= factor;
            let after = shift(&baseline, &slower, drift);
            prop_assert!(is_within(&before, limit) || !is_within(&after, limit));
            let is_failed = before.ruling(limit) == Ruling::Exceeds;
            // The rank bound never falls; the floor may open a decision, but never turns it.
            prop_assert!(!is_failed || !is_within(&after, limit));
            let (one, two) = (shift(&baseline, &candidate, 0.0), shift(&baseline, &slower, 0.0));
            prop_assert!(one.bounds.map(|b| b.0) <= two.bounds.map(|b| b.0));
        }

        #[test]
        fn three_runs_are_never_laxer_than_one(
            (baseline, candidate) in (prop::array::uniform3(1.0..1e3_f64), prop::array::uniform3(1.0..1e3_f64)),
            (drift, percent) in (0.0..0.3_f64, 0.0..100.0_f64),
        ) {
            let all = shift(&baseline, &candidate, drift);
            let limit = |before: f64| before * percent / 100.0;
            let passes_alone = (0..3).any(|run| {
                let one = shift(&baseline[run..=run], &candidate[run..=run], drift);
                is_within(&one, limit(baseline[run]))
            });
            prop_assert!(passes_alone || !is_within(&all, limit(all.medians.baseline)));
            let medians = shift(&[all.medians.baseline], &[all.medians.candidate], drift);
            let at = limit(all.medians.baseline);
            prop_assert!(is_within(&medians, at) || !is_within(&all, at));
        }

        #[test]
        fn more_runs_of_the_same_kind_narrow_the_bound(
            (baseline, candidate) in (runs(), runs()),
            (times, drift) in (2_usize..4, 0.0..0.3_f64),
        ) {
            let few = shift(&baseline, &candidate, drift);
            let many = shift(&baseline.repeat(times), &candidate.repeat(times), drift);
            prop_assert!(width(&many) <= width(&few) + 1e-12, "{few:?} {many:?}");
            prop_assert!((many.estimate - few.estimate).abs() < 1e-9);
        }

        #[test]
        fn exchanging_the_sides_exchanges_the_bounds((baseline, candidate) in (runs(), runs())) {
            let (there, back) = (shift(&baseline, &candidate, 0.1), shift(&candidate, &baseline, 0.1));
            prop_assert!((there.estimate + back.estimate).abs() < 1e-9);
            prop_assert_eq!(there.p, back.p);
            if let (Some((lower, upper)), Some((least, most))) = (there.bounds, back.bounds) {
                prop_assert!((lower + most).abs() < 1e-9 && (upper + least).abs() < 1e-9);
            }
        }
    }
}
