//! Finds where a step of the candidate loses time against the baseline.
//!
//! ```text
//! baseline    a   b   c              a, b and c are matched calls: the anchors.
//! candidate   a    b      c          When c starts, the candidate is behind by 4: 1 was lost in a, 3 in b.
//! ```
//! The lag at an anchor is the time from the start of the candidate's step to the start of the call, minus the same
//! time of the baseline. What the lag grows by until the next anchor is lost in the part of the program that the anchor
//! belongs to, so the times of all parts add up to the difference between the two steps.

use super::account::Ledger;
use super::in_order::longest_in_order;
use super::layers::LayerPairs;
use super::steps::StepRow;
use super::wall::Wall;
use crate::diff::{MergedId, Relation, TraceDiff};
use crate::program::{Measure, Phase, StepId};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind, CallTree};
use rustc_hash::FxHashMap;

/// Where one step of the candidate falls behind its counterpart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lag {
    /// The compared steps: of all pairs of steps, the pair whose difference is the median. `None` if a side has no
    /// steps; the recordings are then compared as a whole.
    pub steps: Option<PerSide<StepId>>,
    /// Start of the step on each side, on that side's clock.
    pub start: PerSide<Nanos>,
    /// Duration of the step on each side.
    pub length: PerSide<Nanos>,
    /// The anchors in the order in which they start, on both sides.
    pub points: Vec<LagPoint>,
    /// The parts of the program, in the order in which they first run.
    pub parts: Vec<LagPart>,
}

/// A matched call, and how far the candidate is behind when it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LagPoint {
    /// Time from the start of the step to the start of the call.
    pub at: PerSide<Nanos>,
    /// The call in the merged tree.
    pub node: MergedId,
    /// Position in [`Lag::parts`].
    pub part: usize,
}

/// A part of the program: a layer or an op, in one phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LagPart {
    /// What runs, such as `backward · BasicBlock_0`.
    pub title: String,
    /// How much the candidate falls behind in this part; negative if it catches up.
    pub lost: Nanos,
    /// The anchor at which the candidate falls behind most, or catches up most if it does so in the whole part; `None`
    /// for the time before the first anchor.
    pub worst: Option<MergedId>,
}

impl LagPoint {
    /// How far the candidate is behind; negative if it is ahead.
    pub fn behind(&self) -> Nanos {
        self.at.candidate - self.at.baseline
    }
}

impl Lag {
    /// How much longer the candidate's step is.
    pub fn total(&self) -> Nanos {
        self.length.candidate - self.length.baseline
    }

    /// The parts in which most time is lost or won back, the largest first.
    pub fn largest(&self) -> Vec<&LagPart> {
        let mut parts: Vec<&LagPart> = self.parts.iter().collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.lost.0.abs()));
        parts
    }
}

/// Computes the lag at each anchor: the matched GPU events or, if host time is measured, the outermost matched ops.
pub(in crate::analysis) fn lag(
    diff: &TraceDiff,
    ledger: &Ledger,
    rows: &[StepRow],
    layers: &LayerPairs,
    wall: &Wall,
) -> Lag {
    let steps = median_step(rows);
    let span = |side: Side| match steps {
        Some(steps) => {
            let span = diff.steps(side).span(steps[side]);
            (span.start, span.end)
        }
        None => (wall.windows()[side].start, wall.windows()[side].end),
    };
    let spans = PerSide::from_fn(span);
    let step = Step { diff, steps, start: spans.map(|span| span.0) };
    let mut anchors = match ledger.measure() {
        Measure::GpuTime => step.gpu_events(),
        Measure::HostSelfTime => step.outermost_ops(),
    };
    anchors.extend(step.regions());
    anchors.sort_by_key(|anchor| (anchor.at.baseline, anchor.at.candidate));
    // Calls on different streams may start in another order on the other side; such calls show nothing about the step.
    let anchors: Vec<(usize, Anchor)> = anchors.into_iter().enumerate().collect();
    let anchors = longest_in_order(&anchors, |&(at, anchor)| (anchor.at.candidate, at));
    let anchors: Vec<Anchor> = anchors.into_iter().map(|(_, anchor)| anchor).collect();
    divided(diff, layers, steps, spans, &anchors)
}

/// The steps that both sides have and whose difference is the median; the earlier of two that are as close.
fn median_step(rows: &[StepRow]) -> Option<PerSide<StepId>> {
    let steps = rows.iter().filter_map(|row| {
        let ids = row.steps.as_ref().map(|step| step.as_ref().map(|step| step.id));
        let difference = row.figures.as_ref().map(|figures| figures.wall()).difference();
        Some((PerSide::new(ids.baseline?, ids.candidate?), difference))
    });
    let steps: Vec<(PerSide<StepId>, Nanos)> = steps.collect();
    let mut differences: Vec<i64> = steps.iter().map(|(_, difference)| difference.0).collect();
    differences.sort_unstable();
    let median = *differences.get(differences.len() / 2)?;
    steps.into_iter().min_by_key(|(_, difference)| (difference.0 - median).abs()).map(|step| step.0)
}

/// A matched call that starts in the step on both sides.
#[derive(Debug, Clone, Copy)]
struct Anchor {
    at: PerSide<Nanos>,
    /// The call that shows which part of the program the anchor belongs to.
    call: (Side, CallId),
}

/// The step in which anchors are searched.
struct Step<'a> {
    diff: &'a TraceDiff,
    steps: Option<PerSide<StepId>>,
    start: PerSide<Nanos>,
}

impl Step<'_> {
    fn tree(&self, side: Side) -> &CallTree {
        self.diff.tree(side)
    }

    /// The time from the start of the step to the start of a call; `None` if the call is not in the step, or did not
    /// run.
    fn since(&self, side: Side, call: CallId) -> Option<Nanos> {
        let tree = self.tree(side);
        let is_inside =
            self.steps.is_none_or(|steps| self.diff.steps(side).step(call) == Some(steps[side]));
        let event = tree.event(call).filter(|_| is_inside && !tree.is_captured(call))?;
        Some(tree.trace().start(event) - self.start[side])
    }

    fn anchor(&self, call: CallId) -> Option<Anchor> {
        let partner = self.diff.partner(Side::Baseline, call)?;
        let has_moved = self.diff.relation(Side::Baseline, call) == Relation::Moved;
        let at = PerSide::new(
            self.since(Side::Baseline, call).filter(|_| !has_moved)?,
            self.since(Side::Candidate, partner)?,
        );
        Some(Anchor { at, call: (Side::Baseline, call) })
    }

    fn gpu_events(&self) -> Vec<Anchor> {
        let tree = self.tree(Side::Baseline);
        let events = tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu);
        events.filter_map(|call| self.anchor(call)).collect()
    }

    fn outermost_ops(&self) -> Vec<Anchor> {
        let tree = self.tree(Side::Baseline);
        let is_op = |call: CallId| tree.kind(call) == CallKind::Op;
        let is_outermost = |&call: &CallId| is_op(call) && !tree.parent(call).is_some_and(is_op);
        tree.calls().filter(is_outermost).filter_map(|call| self.anchor(call)).collect()
    }

    /// A region is one anchor: its first GPU event, and the first GPU event that it replaced.
    fn regions(&self) -> Vec<Anchor> {
        let first = |side: Side, call: CallId| {
            let tree = self.tree(side);
            let below = (call.0..tree.end(call).0).map(CallId);
            let events = below.filter(|&call| tree.kind(call) == CallKind::Gpu);
            events.filter_map(|call| self.since(side, call)).min()
        };
        let anchor = |region: &crate::diff::Region| {
            let own = first(region.side, region.call)?;
            let other = region.side.other();
            let replaced = region.replaced.iter().filter_map(|&call| first(other, call)).min()?;
            let mut at = PerSide::new(own, own);
            at[other] = replaced;
            Some(Anchor { at, call: (region.side, region.call) })
        };
        self.diff.regions().iter().filter_map(anchor).collect()
    }
}

/// Divides the step at the anchors, and assigns each section to the part of the program of its anchor.
fn divided(
    diff: &TraceDiff,
    layers: &LayerPairs,
    steps: Option<PerSide<StepId>>,
    spans: PerSide<(Nanos, Nanos)>,
    anchors: &[Anchor],
) -> Lag {
    let length = spans.map(|(start, end)| end - start);
    let mut parts = vec![LagPart {
        title: "before the first matched work".to_owned(),
        lost: anchors.first().map_or(length, |anchor| anchor.at).difference(),
        worst: None,
    }];
    let mut known: FxHashMap<(Phase, &str), usize> = FxHashMap::default();
    let mut worst: Vec<Nanos> = vec![Nanos::ZERO];
    let mut points = Vec::with_capacity(anchors.len());
    for (at, anchor) in anchors.iter().enumerate() {
        let what = what_runs(diff, layers, anchor.call);
        let part = *known.entry(what).or_insert_with(|| {
            parts.push(LagPart { title: title(what), lost: Nanos::ZERO, worst: None });
            worst.push(Nanos::ZERO);
            parts.len() - 1
        });
        let next = anchors.get(at + 1).map_or(length, |next| next.at);
        let lost = next.difference() - anchor.at.difference();
        let node = diff.merged().of(anchor.call.0, anchor.call.1);
        parts[part].lost += lost;
        if parts[part].worst.is_none() || lost.0.abs() > worst[part].0.abs() {
            (parts[part].worst, worst[part]) = (Some(node), lost);
        }
        points.push(LagPoint { at: anchor.at, node, part });
    }
    Lag { steps, start: spans.map(|span| span.0), length, points, parts }
}

/// What runs at an anchor: the phase, and the layer or, outside of layers, the op.
fn what_runs<'a>(
    diff: &'a TraceDiff,
    layers: &'a LayerPairs,
    (side, call): (Side, CallId),
) -> (Phase, &'a str) {
    let place = layers.places()[layers.place_of(side, call)];
    let layer = layers.instance(place, side);
    let what = if layer.is_empty() {
        let op = diff.lowest_common_op(side, call);
        diff.plain_name(side, op.unwrap_or(call))
    } else {
        layer
    };
    (diff.phases(side).phase(call), what)
}

fn title((phase, what): (Phase, &str)) -> String {
    if phase == Phase::Unknown {
        return what.to_owned();
    }
    let label = phase.label();
    format!("{} · {what}", label.strip_prefix("train.").unwrap_or(label))
}
