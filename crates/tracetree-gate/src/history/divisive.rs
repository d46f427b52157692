//! Finds where the level of a series changed, using windowed E-divisive with a t-test, as in Apache Otava.
//!
//! An interval is split at the point where the energy distance between the values on both sides of the point is largest
//! (Matteson and James, *A nonparametric approach for multiple change point analysis of multivariate data*, Journal of
//! the American Statistical Association 109 (2014) 334–345). With n values X before the point and m values Y from the
//! point up to κ:
//!
//! ```text
//! Q = 2/(m+n) Σ|X−Y|  −  2m/((m+n)(n−1)) Σ|X−X'|  −  2n/((m+n)(m−1)) Σ|Y−Y'|
//! ```
//! The next candidate is the point with the largest Q over all intervals and all κ. A candidate is accepted if
//! Student's t-test finds a difference between the values before and after it. The search stops at the first candidate
//! that is rejected. First, each window of the series is searched with a weak test. Then the points that fail a strong
//! test are removed, weakest first (Fleming and others, *Hunter: using change point detection to hunt for performance
//! regressions*, ICPE 2023).

use std::ops::Range;
use tracetree::analysis::verdict::two_tails;

/// Parameters of the search for change points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// Number of values per window.
    pub window: usize,
    /// Maximum p-value of an accepted change.
    pub most_p: f64,
    /// Only changes larger than this are reported. The value is a fraction of the smaller mean: 0.02 is 2%.
    pub least_change: f64,
}

impl Default for Search {
    fn default() -> Self {
        Search { window: 50, most_p: 0.001, least_change: 0.0 }
    }
}

/// A position in a series where the level changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value at the new level.
    pub at: usize,
    /// Mean of the values between the previous change point (or the start of the series) and this change point.
    pub before: f64,
    /// Mean of the values from this change point up to the next change point (or the end of the series).
    pub after: f64,
    /// p-value of the t-test between the two levels.
    pub p: f64,
}

impl ChangePoint {
    /// Size of the change: the difference between the two means as a fraction of the smaller mean.
    pub fn magnitude(&self) -> f64 {
        let change = |from: f64, to: f64| if from == 0.0 { 0.0 } else { (to / from - 1.0).abs() };
        change(self.before, self.after).max(change(self.after, self.before))
    }
}

/// If the maximum p-value is below 0.05, the weak test multiplies it by this factor.
const WEAK: f64 = 10.0;

/// Finds the change points of a series, in order.
pub fn change_points(series: &[f64], search: &Search) -> Vec<ChangePoint> {
    let weak = match search.most_p {
        p if p < 0.05 => WEAK * p,
        p if p < 0.5 => 2.0 * p,
        p => p,
    };
    merged(series, split(series, search.window.max(2), weak), search)
}

/// The change points that pass the weak test in any window, sorted and without duplicates.
fn split(series: &[f64], window: usize, most_p: f64) -> Vec<usize> {
    let mut points: Vec<usize> = Vec::new();
    let mut start = 0;
    while start < series.len() {
        let end = (start + window).min(series.len());
        let found = divided(&series[start..end], most_p);
        let last = found.last().map_or(0, |at| at + start);
        points.extend(found.iter().map(|at| at + start));
        start = last.max(start + window / 2);
    }
    points.sort_unstable();
    points.dedup();
    points
}

/// The change points of one window that pass the weak test.
fn divided(series: &[f64], most_p: f64) -> Vec<usize> {
    let mut points: Vec<usize> = Vec::new();
    loop {
        let candidates = intervals(&points, series.len())
            .into_iter()
            .filter(|interval| interval.len() > 1)
            .map(|interval| (candidate(&series[interval.clone()]), interval));
        // Ties are broken in favor of the first candidate.
        let best = candidates.reduce(|best, next| if next.0.1 > best.0.1 { next } else { best });
        let Some(((at, _), interval)) = best else { return points };
        let at = interval.start + at;
        let p = t_test(&series[interval.start..at], &series[at..interval.end]);
        // If all values in the interval are the same, there is no p-value.
        if p.is_nan() || p > most_p {
            return points;
        }
        points.push(at);
        points.sort_unstable();
    }
}

fn intervals(points: &[usize], length: usize) -> Vec<Range<usize>> {
    let starts = std::iter::once(0).chain(points.iter().copied());
    let ends = points.iter().copied().chain([length]);
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

/// The point with the largest Q in an interval, and that value of Q.
fn candidate(values: &[f64]) -> (usize, f64) {
    let length = values.len();
    let distance = |one: usize, two: usize| (values[one] - values[two]).abs();
    let mut best = (1, f64::NEG_INFINITY);
    // The sum Σ|X−X'| over the values before the point, updated incrementally.
    let mut within_before = 0.0;
    for point in 1..length {
        within_before += (0..point - 1).map(|one| distance(one, point - 1)).sum::<f64>();
        let (mut between, mut within_after) = (0.0, 0.0);
        for end in point + 1..=length {
            let last = end - 1;
            between += (0..point).map(|one| distance(one, last)).sum::<f64>();
            within_after += (point..last).map(|one| distance(one, last)).sum::<f64>();
            let (n, m) = (point as f64, (end - point) as f64);
            let mut q = 2.0 / (m + n) * between;
            if n > 1.0 {
                q -= 2.0 * m / ((m + n) * (n - 1.0)) * within_before;
            }
            if m > 1.0 {
                q -= 2.0 * n / ((m + n) * (m - 1.0)) * within_after;
            }
            if q > best.1 {
                best = (point, q);
            }
        }
    }
    best
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Two-sided Student's t-test for two samples with a common variance. As in Otava, variances are divided by
/// n instead of n − 1.
fn t_test(left: &[f64], right: &[f64]) -> f64 {
    let (n, m) = (left.len() as f64, right.len() as f64);
    if n + m <= 2.0 {
        return 1.0;
    }
    let variance = |values: &[f64]| {
        let mean = mean(values);
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64
    };
    let degrees = n + m - 2.0;
    let pooled = ((n - 1.0) * variance(left) + (m - 1.0) * variance(right)) / degrees;
    let difference = mean(left) - mean(right);
    let error = (pooled * (n.recip() + m.recip())).sqrt();
    match (difference == 0.0, error == 0.0) {
        (true, true) => f64::NAN,
        (false, true) => 0.0,
        (_, false) => two_tails(difference / error, degrees),
    }
}

/// Removes points until every remaining point passes the strong test and its change is large enough.
fn merged(series: &[f64], mut points: Vec<usize>, search: &Search) -> Vec<ChangePoint> {
    loop {
        let shown = shown(series, &points);
        let Some(weakest) = weakest(&shown, search) else { return shown };
        points.remove(weakest);
    }
}

/// The change points at the given positions, with the mean values before and after them.
fn shown(series: &[f64], points: &[usize]) -> Vec<ChangePoint> {
    let parts = intervals(points, series.len());
    let point = |pair: &[Range<usize>]| {
        let (left, right) = (&series[pair[0].clone()], &series[pair[1].clone()]);
        ChangePoint {
            at: pair[1].start,
            before: mean(left),
            after: mean(right),
            p: t_test(left, right),
        }
    };
    parts.windows(2).map(point).collect()
}

/// The point to remove next. This is the point with the largest p-value if this p-value is too large. Otherwise, it is
/// the point with the smallest change if this change is too small.
fn weakest(points: &[ChangePoint], search: &Search) -> Option<usize> {
    let first = |by: &dyn Fn(&ChangePoint, &ChangePoint) -> bool| {
        (0..points.len()).reduce(|best, at| if by(&points[at], &points[best]) { at } else { best })
    };
    let chance = first(&|one, best| one.p > best.p)?;
    let p = points[chance].p;
    if p.is_nan() || p >= search.most_p {
        return Some(chance);
    }
    let small = first(&|one, best| one.magnitude() < best.magnitude())?;
    (points[small].magnitude() <= search.least_change).then_some(small)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(series: &[f64]) -> Vec<usize> {
        change_points(series, &Search::default()).iter().map(|point| point.at).collect()
    }

    #[test]
    fn a_jump_is_found_and_constant_series_have_none() {
        let mut series = vec![1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99];
        assert_eq!(at(&series), Vec::<usize>::new());
        series.extend([1.5, 1.51, 1.49, 1.5, 1.52, 1.48]);
        assert_eq!(at(&series), [8]);
        assert_eq!(at(&[]), Vec::<usize>::new());
        assert_eq!(at(&[3.0; 40]), Vec::<usize>::new());
    }

    #[test]
    fn small_changes_are_left_out_where_that_is_asked() {
        let series: Vec<f64> = (0..40)
            .map(|at| if at < 20 { 100.0 } else { 101.0 } + f64::from(at % 3) * 0.01)
            .collect();
        assert_eq!(at(&series), [20]);
        let search = Search { least_change: 0.02, ..Search::default() };
        assert_eq!(change_points(&series, &search), []);
    }
}
