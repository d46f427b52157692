//! Shows on the first screen where the candidate's step falls behind: the curve, and the parts of the program in which
//! most time is lost or won back.

use super::page_tree::PageTree;
use crate::analysis::Analysis;
use crate::analysis::lag::{Lag, LagPart, LagPoint};
use crate::diff::MergedId;
use crate::report::lag;
use crate::report::lists::change;
use crate::report::text::{Unit, one_line};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// What the profiler writes before the name of a module.
const MODULE: &str = "nn.Module: ";

/// The curve of one step, and its largest parts.
pub(super) struct FallsBehind {
    /// The compared steps.
    pub(super) steps: String,
    pub(super) unit: &'static str,
    /// The content of the SVG picture.
    pub(super) drawing: String,
    /// The curve in words, for readers without the picture.
    pub(super) words: String,
    pub(super) parts: Vec<PartLine>,
}

/// A part of the program.
pub(super) struct PartLine {
    /// How much the candidate falls behind in this part, with its sign.
    pub(super) lost: String,
    pub(super) style: &'static str,
    pub(super) title: String,
    /// The layer or the op in which most is lost; `None` if the page omits it.
    pub(super) node: Option<usize>,
}

impl FallsBehind {
    pub(super) fn of(analysis: &Analysis, tree: &PageTree<'_>) -> Option<FallsBehind> {
        let lag = lag::shown(analysis)?;
        let unit = Unit::fitting(lag.length);
        let parts = lag::listed(lag).into_iter().map(|part| PartLine {
            lost: unit.show_signed(part.lost),
            style: change(part.lost),
            title: one_line(&part.title).into_owned(),
            node: tree.target(largest_call(analysis, lag, part)),
        });
        Some(FallsBehind {
            steps: lag::title(analysis, lag),
            unit: unit.label(),
            drawing: lag::drawing(lag),
            words: format!(
                "At the end of the step, {} is {}; the list below has the largest parts.",
                analysis.names().candidate,
                lag::in_words(lag, lag.total()),
            ),
            parts: parts.collect(),
        })
    }
}

/// The call of a part that loses most or, if the part wins time back, wins most: its layer, or else the op whose GPU
/// time differs most in the part's largest section. The part's worst event alone may run as long on both sides, because
/// the time is lost after it: in a wait, or in work that has no counterpart.
fn largest_call(analysis: &Analysis, lag: &Lag, part: &LagPart) -> Option<MergedId> {
    let number = lag.parts.iter().position(|known| known == part)?;
    let ends = lag.points.iter().skip(1).map(|point| point.at).chain([lag.length]);
    let sections = lag.points.iter().zip(ends).filter(|(point, _)| point.part == number);
    let size = |lost: Nanos| if part.lost < Nanos::ZERO { -lost.0 } else { lost.0 };
    let lost =
        |point: &LagPoint, end: PerSide<Nanos>| end.candidate - end.baseline - point.behind();
    let (point, end) = sections.max_by_key(|&(point, end)| size(lost(point, end)))?;
    let (around, is_named) = around(analysis, point.node, &part.name);
    if is_named {
        return Some(around);
    }
    let mut differences: FxHashMap<MergedId, Nanos> = FxHashMap::default();
    for side in Side::BOTH {
        let tree = analysis.tree(side);
        let is_inside = |call: CallId| {
            lag.steps.is_none_or(|step| analysis.diff().steps(side).step(call) == Some(step[side]))
        };
        for call in tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu) {
            let Some(event) = tree.event(call).filter(|_| is_inside(call)) else { continue };
            let start = tree.trace().start(event) - lag.start[side];
            if start >= point.at[side] && start < end[side] {
                let id = analysis.diff().merged().of(side, call);
                let difference = differences.entry(self::around(analysis, id, "").0).or_default();
                let time = tree.trace().duration(event);
                *difference = match side {
                    Side::Baseline => *difference - time,
                    Side::Candidate => *difference + time,
                };
            }
        }
    }
    let most = differences.into_iter().max_by_key(|&(id, lost)| (size(lost), Reverse(id)));
    let explains =
        |&(_, difference): &(MergedId, Nanos)| 2 * size(difference) > size(lost(point, end));
    Some(most.filter(explains).map_or(around, |(id, _)| id))
}

/// The call around an event that a part is named after, and `true`; if there is none, such as in the backward pass, the
/// outermost op that has no frame between itself and the event.
fn around(analysis: &Analysis, event: MergedId, part: &str) -> (MergedId, bool) {
    let diff = analysis.diff();
    let merged = diff.merged();
    let (mut outermost, mut is_in_ops) = (event, true);
    let mut at = Some(event);
    while let Some(id) = at {
        let calls =
            Side::BOTH.into_iter().filter_map(|side| Some((side, merged.node(id).call(side)?)));
        for (side, call) in calls {
            let name = analysis.tree(side).name(call);
            if !part.is_empty() && name.strip_prefix(MODULE).unwrap_or(name) == part {
                return (id, true);
            }
            match analysis.tree(side).kind(call) {
                CallKind::Op if is_in_ops => outermost = id,
                CallKind::Op | CallKind::Gpu | CallKind::Runtime => {}
                CallKind::Frame | CallKind::Thread | CallKind::Unlinked => is_in_ops = false,
            }
        }
        at = merged.parent(id);
    }
    (outermost, false)
}
