//! The curve of the lag, with as many points as a picture can show.

use crate::analysis::lag::Lag;
use crate::trace::Nanos;

/// Maximum number of points of a drawn curve.
const DRAWN: usize = 1_200;
/// A point is dropped if it differs from the last kept point by less than this share of the width and of the height.
const FINEST: f64 = 1.0 / 1_000.0;

/// The time in the baseline's step and how far the candidate is behind, from the start of the step to its end.
pub(super) fn points(lag: &Lag) -> Vec<(Nanos, Nanos)> {
    let anchors = lag.points.iter().map(|point| (point.at.baseline, point.behind()));
    let end = (lag.length.baseline, lag.total());
    std::iter::once((Nanos::ZERO, Nanos::ZERO)).chain(anchors).chain([end]).collect()
}

/// The indices of the points to draw; the first and the last point are always drawn.
pub(super) fn drawn(points: &[(Nanos, Nanos)]) -> Vec<usize> {
    let size = |of: fn(&(Nanos, Nanos)) -> i64| {
        let least = points.iter().map(of).min().unwrap_or_default();
        (points.iter().map(of).max().unwrap_or_default() - least).max(1) as f64
    };
    let (width, height) = (size(|point| point.0.0), size(|point| point.1.0));
    let mut least = FINEST;
    loop {
        let mut kept = vec![0];
        for at in 1..points.len() {
            let (last, point) = (points[kept[kept.len() - 1]], points[at]);
            let moved = (point.0 - last.0).0.abs() as f64 / width;
            let climbed = (point.1 - last.1).0.abs() as f64 / height;
            if moved >= least || climbed >= least || at + 1 == points.len() {
                kept.push(at);
            }
        }
        if kept.len() <= DRAWN {
            return kept;
        }
        least *= 2.0;
    }
}

#[cfg(test)]
mod tests {
    use super::{DRAWN, drawn};
    use crate::trace::Nanos;

    #[test]
    fn a_long_curve_keeps_its_ends_and_its_peak() {
        let behind = |at: i64| if at == 70_000 { 9_000_000 } else { at % 7 };
        let points: Vec<_> = (0..100_000).map(|at| (Nanos(at), Nanos(behind(at)))).collect();
        let kept = drawn(&points);
        assert!(kept.len() <= DRAWN && kept.contains(&0) && kept.contains(&99_999));
        assert!(kept.contains(&70_000));
    }
}
