//! Fits a smooth curve to points. The curve models how the spread of a call site's times depends on the mean
//! of these times.
//!
//! At each of several positions, a straight line is fitted to the nearest half of the points. Closer points have larger
//! weights. The method is described in Cleveland, *Robust locally weighted regression and smoothing scatterplots*,
//! Journal of the American Statistical Association 74 (1979) 829–836; the second pass is omitted. The curve is linear
//! between the positions and constant beyond the outermost positions.

use crate::order::Order as _;

/// Each line is fitted to this share of the points. This share makes the curve about as flexible as a spline with four
/// parameters.
const SHARE: f64 = 0.5;

/// Minimum number of points required to fit lines. With fewer points, the curve is constant, and its value is the mean
/// of the points.
const FEWEST: usize = 10;

/// Maximum number of positions at which lines are fitted.
const POSITIONS: usize = 64;

/// A smooth curve.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trend {
    /// Points on the curve, sorted by x.
    knots: Vec<(f64, f64)>,
    /// Effective number of parameters of the curve, which reduces the degrees of freedom of the residuals.
    pub(super) parameters: f64,
}

impl Trend {
    /// Fits a curve to the given points (x, y); there must be at least one.
    pub(super) fn through(points: &[(f64, f64)]) -> Trend {
        let mut sorted = points.to_vec();
        sorted.order_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        if sorted.len() < FEWEST {
            let mean = sorted.iter().map(|point| point.1).sum::<f64>() / sorted.len() as f64;
            return Trend { knots: vec![(sorted[0].0, mean)], parameters: 1.0 };
        }
        let count = sorted.len().min(POSITIONS);
        let positions = (0..count).map(|at| at * (sorted.len() - 1) / (count - 1));
        let lines: Vec<Line> = positions.map(|at| Line::around(&sorted, at)).collect();
        let leverage = lines.iter().map(|line| line.leverage).sum::<f64>() / count as f64;
        let mut knots: Vec<(f64, f64)> = lines.iter().map(|line| (line.x, line.y)).collect();
        knots.dedup_by(|a, b| a.0.total_cmp(&b.0).is_eq());
        Trend { knots, parameters: leverage * sorted.len() as f64 }
    }

    pub(super) fn at(&self, x: f64) -> f64 {
        let after = self.knots.partition_point(|knot| knot.0 <= x);
        match (after.checked_sub(1).map(|at| self.knots[at]), self.knots.get(after)) {
            (Some((x1, y1)), Some(&(x2, y2))) => y1 + (y2 - y1) * (x - x1) / (x2 - x1),
            (Some((_, y)), None) | (None, Some(&(_, y))) => y,
            (None, None) => f64::NAN,
        }
    }
}

/// A straight line fitted to the points near one point.
struct Line {
    x: f64,
    y: f64,
    /// Weight of the point's own y in the fitted y.
    leverage: f64,
}

impl Line {
    fn around(sorted: &[(f64, f64)], at: usize) -> Line {
        let x = sorted[at].0;
        let nearest = nearest(sorted, at);
        let widest = nearest.iter().map(|point| (point.0 - x).abs()).fold(0.0, f64::max);
        // The sums of the weights and of the products weight · distance^k · y^l.
        let (mut w, mut wd, mut wdd, mut wy, mut wdy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for &(px, y) in nearest {
            let distance = px - x;
            let weight = tricube(distance, widest);
            w += weight;
            wd += weight * distance;
            wdd += weight * distance * distance;
            wy += weight * y;
            wdy += weight * distance * y;
        }
        let determinant = w * wdd - wd * wd;
        // If all points have the same x, the slope is undefined.
        if determinant > 1e-9 * w * w * widest * widest {
            Line { x, y: (wdd * wy - wd * wdy) / determinant, leverage: wdd / determinant }
        } else {
            Line { x, y: wy / w, leverage: 1.0 / w }
        }
    }
}

/// The points nearest to the point at position `at`: half of all points, but at least `FEWEST`.
fn nearest(sorted: &[(f64, f64)], at: usize) -> &[(f64, f64)] {
    let count = ((sorted.len() as f64 * SHARE).ceil() as usize).max(FEWEST);
    let x = sorted[at].0;
    let mut first = at.saturating_sub(count - 1);
    while first < at
        && first + count < sorted.len()
        && x - sorted[first].0 > sorted[first + count].0 - x
    {
        first += 1;
    }
    &sorted[first..(first + count).min(sorted.len())]
}

/// Weight of a point at a given distance: 1 at distance 0, and 0 at the largest distance.
fn tricube(distance: f64, widest: f64) -> f64 {
    if widest > 0.0 { (1.0 - (distance.abs() / widest).powi(3)).max(0.0).powi(3) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(count: usize, y: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..count).map(|at| at as f64 / 10.0).map(|x| (x, y(x))).collect()
    }

    #[test]
    fn a_straight_line_is_found_again_and_takes_about_four_parameters() {
        let trend = Trend::through(&points(200, |x| 3.0 - 0.5 * x));
        for x in [0.0, 0.03, 7.77, 19.9] {
            assert!((trend.at(x) - (3.0 - 0.5 * x)).abs() < 1e-9, "{}", trend.at(x));
        }
        assert!((3.0..6.0).contains(&trend.parameters), "{}", trend.parameters);
    }

    #[test]
    fn a_bend_is_followed_and_the_ends_are_level() {
        let trend = Trend::through(&points(300, |x| (x - 15.0).abs()));
        assert!((trend.at(0.0) - 15.0).abs() < 0.5);
        assert!(trend.at(15.0) < 3.0);
        assert_eq!(trend.at(-100.0), trend.at(0.0));
        assert_eq!(trend.at(1e6), trend.at(29.9));
    }

    #[test]
    fn few_points_have_a_mean_and_equal_points_do_too() {
        assert_eq!(Trend::through(&[(1.0, 2.0), (5.0, 4.0)]).at(1.0), 3.0);
        let trend = Trend::through(&[(7.0, 1.0); 30]);
        assert_eq!((trend.at(7.0), trend.at(8.0)), (1.0, 1.0));
    }

    #[test]
    fn the_order_of_the_points_changes_no_bit() {
        let mut all = points(100, |x| (x * 3.0).sin());
        let trend = Trend::through(&all);
        all.reverse();
        assert_eq!(trend, Trend::through(&all));
    }
}
