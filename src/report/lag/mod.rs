//! Shows where the candidate's step falls behind: as a curve, as a line of block characters, and as a list of the parts
//! of the program in which most time is lost or won back.

mod svg;

#[cfg(feature = "html")]
pub(super) use svg::drawing;
pub(super) use svg::write_svg;

use super::text::{Unit, both, one_line};
use crate::analysis::Analysis;
use crate::analysis::lag::{Lag, LagPart};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// Maximum number of parts that are listed.
const LISTED: usize = 10;
/// Below this number of points, there is nothing to draw.
const FEWEST: usize = 2;
/// The levels of a line of block characters, lowest first.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Where the candidate's step falls behind, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct LagText {
    /// The steps and how far the candidate is behind at their end.
    pub title: String,
    /// The curve from the start to the end of the baseline's step, as block characters.
    pub blocks: String,
    /// The parts in which most is lost or won back: a time with its sign and unit, and what runs.
    pub parts: Vec<(String, String)>,
}

/// Describes where the candidate's step falls behind, with a line of `width` block characters; `None` if too few calls
/// are matched.
pub fn lag_text(analysis: &Analysis, width: usize) -> Option<LagText> {
    let lag = shown(analysis)?;
    let unit = Unit::fitting(lag.length);
    let signed = |time: Nanos| format!("{} {}", unit.show_signed(time), unit.label());
    let parts = listed(lag).into_iter().map(|part| {
        let title = one_line(&part.title).into_owned();
        (signed(part.lost), title)
    });
    Some(LagText {
        title: format!("{}: {}", title(analysis, lag), at_the_end(analysis, lag)),
        blocks: blocks(lag, width),
        parts: parts.collect(),
    })
}

/// How far the candidate is behind at the end of the step, and the mean of all steps if it differs.
pub(super) fn at_the_end(analysis: &Analysis, lag: &Lag) -> String {
    let words = |time: Nanos| in_words(lag, time);
    let own = words(lag.total());
    let mean = words(analysis.changes().difference());
    match lag.steps {
        Some(_) if analysis.changes().steps().baseline > 1 && mean != own => {
            format!("{own} at the end (all steps: {mean} on average)")
        }
        _ => format!("{own} at the end"),
    }
}

/// A time by which the candidate is behind or ahead, such as `3.77 ms behind`.
pub(super) fn in_words(lag: &Lag, time: Nanos) -> String {
    let unit = Unit::fitting(lag.length);
    let (time, word) = if time < Nanos::ZERO { (-time, "ahead") } else { (time, "behind") };
    format!("{} {} {word}", unit.show(time), unit.label())
}

/// The lag, if there are enough anchors and any time differs.
pub(super) fn shown(analysis: &Analysis) -> Option<&Lag> {
    let lag = analysis.lag();
    let differs = lag.parts.iter().any(|part| part.lost != Nanos::ZERO);
    (lag.points.len() >= FEWEST && differs).then_some(lag)
}

/// The parts in which most time is lost or won back.
pub(super) fn listed(lag: &Lag) -> Vec<&LagPart> {
    let parts = lag.largest().into_iter().filter(|part| part.lost != Nanos::ZERO);
    parts.take(LISTED).collect()
}

/// The compared steps, such as `ProfilerStep#2`; both names if they differ.
pub(super) fn title(analysis: &Analysis, lag: &Lag) -> String {
    let Some(steps) = lag.steps else { return "the whole recordings".to_owned() };
    let name = |side: Side| analysis.diff().steps(side).name(analysis.tree(side), steps[side]);
    both(PerSide::from_fn(|side| one_line(&name(side)).into_owned()))
}

/// The lag at equal distances in the baseline's step: the height of the curve above its lowest point.
fn blocks(lag: &Lag, width: usize) -> String {
    let points = points(lag);
    let heights = |(_, behind): &(Nanos, Nanos)| behind.0;
    let least = points.iter().map(heights).min().unwrap_or_default();
    let range = (points.iter().map(heights).max().unwrap_or_default() - least).max(1);
    let at = |column: usize| {
        let time =
            i128::from(lag.length.baseline.0) * (2 * column as i128 + 1) / (2 * width as i128);
        let behind = points.partition_point(|(at, _)| i128::from(at.0) <= time);
        let (_, behind) = points[behind.saturating_sub(1)];
        let level =
            i128::from(behind.0 - least) * (BLOCKS.len() as i128 - 1) * 2 / i128::from(range);
        BLOCKS[(level as usize).div_ceil(2)]
    };
    (0..width).map(at).collect()
}

/// Maximum number of points of a drawn curve.
const DRAWN: usize = 1_200;
/// A point is dropped if it differs from the last kept point by less than this share of the width and of the height.
const FINEST: f64 = 1.0 / 1_000.0;

/// The time in the baseline's step and how far the candidate is behind, from the start of the step to its end.
fn points(lag: &Lag) -> Vec<(Nanos, Nanos)> {
    let anchors = lag.points.iter().map(|point| (point.at.baseline, point.behind()));
    let end = (lag.length.baseline, lag.total());
    std::iter::once((Nanos::ZERO, Nanos::ZERO)).chain(anchors).chain([end]).collect()
}

/// The indices of the points to draw; the first and the last point are always drawn.
fn drawn(points: &[(Nanos, Nanos)]) -> Vec<usize> {
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
