//! Finds where a step of the candidate loses time against the baseline.
//!
//! ```text
//! baseline    a   b   c              a, b and c are matched calls: the anchors.
//! candidate   a    b      c          When c starts, the candidate is behind by 4: 1 was lost in a, 3 in b.
//! ```
//! The lag at an anchor is the time from the start of the candidate's step to the start of the call, minus the same
//! time of the baseline. What the lag grows by until the next anchor is lost in the part of the program that the anchor
//! belongs to, so the times of all parts add up to the difference between the two steps. If other work without a
//! counterpart runs between two anchors, the time from the end of the first anchor is lost in this work.
//!
//! On the GPU, a step lasts from the end of the work of earlier steps to the end of its own work, as in the step time.
//! The host may run several steps ahead of it.

use super::account::Ledger;
use super::in_order::longest_in_order;
use super::layers::LayerPairs;
use super::steps::StepRow;
use super::wall::Wall;
use crate::diff::{MergedId, Region, Relation, TraceDiff};
use crate::program::{Measure, Phase, StepId};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind, CallTree};
use rustc_hash::FxHashMap;

/// Where one step of the candidate falls behind its counterpart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lag {
    /// The compared steps: of all pairs of steps, the pair whose difference is nearest to the mean. `None` if a side has
    /// no steps; the recordings are then compared as a whole.
    pub steps: Option<PerSide<StepId>>,
    /// Start of the step on each side, on that side's clock: on the GPU, the end of the work of earlier steps.
    pub start: PerSide<Nanos>,
    /// Duration of the step on each side, from its start to the end of its work.
    pub length: PerSide<Nanos>,
    /// The anchors in the order in which they start on both sides, and the points at which other work begins.
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
    /// The layer or op that runs, such as `BasicBlock_0`; empty for the time before and after matched work.
    pub name: String,
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
    let steps = typical_step(rows);
    let spans = PerSide::from_fn(|side| match (steps, ledger.measure()) {
        (Some(steps), Measure::GpuTime) => gpu_span(diff, side, steps[side]),
        (Some(steps), Measure::HostSelfTime) => {
            let span = diff.steps(side).span(steps[side]);
            (span.start, span.end)
        }
        (None, _) => {
            let (window, totals) = (wall.windows()[side], wall.totals(side));
            (window.end - totals.own(), window.end)
        }
    });
    let step = Step { diff, steps, start: spans.map(|span| span.0) };
    let mut anchors = match ledger.measure() {
        Measure::GpuTime => step.gpu_events(),
        Measure::HostSelfTime => step.outermost_ops(),
    };
    anchors.extend(step.regions());
    let length = spans.map(|(start, end)| end - start);
    anchors.retain(|anchor| {
        Side::BOTH.iter().all(|&side| (Nanos::ZERO..=length[side]).contains(&anchor.at[side]))
    });
    anchors.sort_by_key(|anchor| (anchor.at.baseline, anchor.at.candidate));
    // Calls on different streams may start in another order on the other side; such calls show nothing about the step.
    let anchors: Vec<(usize, Anchor)> = anchors.into_iter().enumerate().collect();
    let anchors = longest_in_order(&anchors, |&(at, anchor)| (anchor.at.candidate, at));
    let anchors: Vec<Anchor> = anchors.into_iter().map(|(_, anchor)| anchor).collect();
    let others = match ledger.measure() {
        Measure::GpuTime => step.without_counterpart(),
        Measure::HostSelfTime => PerSide::default(),
    };
    let mut divided = Divided::new(diff, layers);
    divided.add_all(&anchors, &others, length);
    let Divided { parts, points, .. } = divided;
    Lag { steps, start: spans.map(|span| span.0), length, points, parts }
}

/// The steps that both sides have and whose difference is nearest to the mean difference; the earlier of two that are as
/// near.
fn typical_step(rows: &[StepRow]) -> Option<PerSide<StepId>> {
    let steps = rows.iter().filter_map(|row| {
        let ids = row.steps.as_ref().map(|step| step.as_ref().map(|step| step.id));
        let difference = row.figures.as_ref().map(|figures| figures.wall()).difference();
        Some((PerSide::new(ids.baseline?, ids.candidate?), i128::from(difference.0)))
    });
    let steps: Vec<(PerSide<StepId>, i128)> = steps.collect();
    let (sum, count) = (steps.iter().map(|step| step.1).sum::<i128>(), steps.len() as i128);
    steps
        .into_iter()
        .min_by_key(|(_, difference)| (difference * count - sum).abs())
        .map(|step| step.0)
}

/// From the end of the GPU work that was launched before a step to the end of the step's own work. The first step starts
/// no earlier than on the host, and the last step ends no earlier.
fn gpu_span(diff: &TraceDiff, side: Side, step: StepId) -> (Nanos, Nanos) {
    let (tree, steps) = (diff.tree(side), diff.steps(side));
    let events: Vec<(Option<StepId>, Nanos, Nanos)> = tree
        .calls()
        .filter(|&call| tree.kind(call) == CallKind::Gpu && !tree.is_captured(call))
        .filter_map(|call| {
            let event = tree.event(call)?;
            Some((steps.step(call), tree.trace().start(event), tree.trace().end(event)))
        })
        .collect();
    // When the work before a step ends; `None` if there is none.
    let end_before = |at: StepId| {
        let own = events.iter().filter(|(of, ..)| of.is_some_and(|of| of >= at));
        let first = own.map(|(_, start, _)| *start).min()?;
        let before =
            events.iter().filter(|(of, start, _)| of.is_none_or(|of| of < at) && *start < first);
        before.map(|(.., end)| (*end).min(first)).max()
    };
    let span = steps.span(step);
    let own = events.iter().filter(|(of, ..)| *of == Some(step)).map(|(.., end)| *end).max();
    let is_first = step.index() == 0;
    let start =
        end_before(step).map_or(span.start, |end| if is_first { end.max(span.start) } else { end });
    let next = (step.index() + 1 < steps.len()).then(|| StepId(step.0 + 1));
    let end = next.and_then(end_before).or(own).unwrap_or(span.end);
    (start, if next.is_none() { end.max(span.end) } else { end }.max(start))
}

/// A matched call that starts in the step on both sides.
#[derive(Debug, Clone, Copy)]
struct Anchor {
    at: PerSide<Nanos>,
    /// When the call, or the last GPU event of a region, ends.
    end: PerSide<Nanos>,
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

    /// The end of a call that is in the step.
    fn end(&self, side: Side, call: CallId, at: Nanos) -> Nanos {
        let tree = self.tree(side);
        tree.event(call).map_or(at, |event| at + tree.trace().duration(event))
    }

    fn anchor(&self, call: CallId) -> Option<Anchor> {
        let counterpart = self.diff.counterpart(Side::Baseline, call)?;
        let has_moved = self.diff.relation(Side::Baseline, call) == Relation::Moved;
        let at = PerSide::new(
            self.since(Side::Baseline, call).filter(|_| !has_moved)?,
            self.since(Side::Candidate, counterpart)?,
        );
        let end = PerSide::new(
            self.end(Side::Baseline, call, at.baseline),
            self.end(Side::Candidate, counterpart, at.candidate),
        );
        Some(Anchor { at, end, call: (Side::Baseline, call) })
    }

    /// The GPU events of the step without a counterpart in the other step, in the order in which they start.
    fn without_counterpart(&self) -> PerSide<Vec<Other>> {
        PerSide::from_fn(|side| {
            let tree = self.tree(side);
            let is_alone = |call: CallId| match self.diff.counterpart(side, call) {
                None => true,
                Some(counterpart) => self.since(side.other(), counterpart).is_none(),
            };
            // What runs in a region is part of its anchor.
            let is_in_region = |call: CallId| self.diff.region_of(side, call).is_some();
            let is_other = |call: &CallId| {
                tree.kind(*call) == CallKind::Gpu && is_alone(*call) && !is_in_region(*call)
            };
            let mut others: Vec<Other> = tree
                .calls()
                .filter(is_other)
                .filter_map(|call| {
                    let at = self.since(side, call)?;
                    Some(Other { at, time: self.end(side, call, at) - at, call })
                })
                .collect();
            others.sort_by_key(|other| (other.at, other.call));
            others
        })
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

    /// A region is one anchor: its GPU events, and the GPU events that it replaced.
    fn regions(&self) -> Vec<Anchor> {
        let span = |side: Side, calls: &[CallId]| {
            let tree = self.tree(side);
            let below = calls.iter().flat_map(|&call| (call.0..tree.end(call).0).map(CallId));
            let events = below.filter(|&call| tree.kind(call) == CallKind::Gpu);
            let spans = events.filter_map(|call| {
                let at = self.since(side, call)?;
                Some((at, self.end(side, call, at)))
            });
            spans.reduce(|one, two| (one.0.min(two.0), one.1.max(two.1)))
        };
        let anchor = |region: &Region| {
            let own = span(region.side, &[region.call])?;
            let other = span(region.side.other(), &region.replaced)?;
            let spans = PerSide::seen_from(region.side, own, other);
            let (at, end) = (spans.map(|span| span.0), spans.map(|span| span.1));
            Some(Anchor { at, end, call: (region.side, region.call) })
        };
        self.diff.regions().iter().filter_map(anchor).collect()
    }
}

/// A GPU event without a counterpart.
#[derive(Debug, Clone, Copy)]
struct Other {
    at: Nanos,
    time: Nanos,
    call: CallId,
}

/// Assigns the sections between the anchors to the parts of the program.
struct Divided<'a> {
    diff: &'a TraceDiff,
    layers: &'a LayerPairs,
    parts: Vec<LagPart>,
    /// The most that is lost in a section of each part.
    worst: Vec<Nanos>,
    known: FxHashMap<(Phase, &'a str), usize>,
    points: Vec<LagPoint>,
}

impl<'a> Divided<'a> {
    fn new(diff: &'a TraceDiff, layers: &'a LayerPairs) -> Divided<'a> {
        let (parts, worst, points) = (Vec::new(), Vec::new(), Vec::new());
        Divided { diff, layers, parts, worst, known: FxHashMap::default(), points }
    }

    /// Adds all sections of a step.
    fn add_all(
        &mut self,
        anchors: &[Anchor],
        others: &PerSide<Vec<Other>>,
        length: PerSide<Nanos>,
    ) {
        let before = anchors.first().map_or(length, |anchor| anchor.at).difference();
        self.part("before the first matched work".to_owned(), "", before);
        for (at, anchor) in anchors.iter().enumerate() {
            let next = anchors.get(at + 1).map(|next| next.at);
            let until = next.unwrap_or(length);
            let other = largest_between(others, anchor.at, until);
            let end = PerSide::from_fn(|side| anchor.end[side].min(until[side]));
            let is_divided = other.is_some() || next.is_none();
            self.call(anchor.call, anchor.at, if is_divided { end } else { until });
            match (other, next) {
                (Some(call), _) => self.call(call, end, until),
                (None, None) => {
                    let lost = until.difference() - end.difference();
                    let part = self.part("after the last matched work".to_owned(), "", lost);
                    let node = self.diff.merged().of(anchor.call.0, anchor.call.1);
                    self.points.push(LagPoint { at: end, node, part });
                }
                (None, Some(_)) => {}
            }
        }
    }

    fn part(&mut self, title: String, name: &str, lost: Nanos) -> usize {
        self.parts.push(LagPart { title, name: name.to_owned(), lost, worst: None });
        self.worst.push(Nanos::ZERO);
        self.parts.len() - 1
    }

    /// Adds a section in which a call runs.
    fn call(&mut self, call: (Side, CallId), at: PerSide<Nanos>, until: PerSide<Nanos>) {
        let what = what_runs(self.diff, self.layers, call);
        let part = match self.known.get(&what) {
            Some(&part) => part,
            None => {
                let part = self.part(title(what), what.1, Nanos::ZERO);
                self.known.insert(what, part);
                part
            }
        };
        let lost = until.difference() - at.difference();
        let node = self.diff.merged().of(call.0, call.1);
        let of_part = &mut self.parts[part];
        of_part.lost += lost;
        if of_part.worst.is_none() || lost.0.abs() > self.worst[part].0.abs() {
            (of_part.worst, self.worst[part]) = (Some(node), lost);
        }
        self.points.push(LagPoint { at, node, part });
    }
}

/// The longest GPU event without a counterpart that starts between two points.
fn largest_between(
    others: &PerSide<Vec<Other>>,
    from: PerSide<Nanos>,
    until: PerSide<Nanos>,
) -> Option<(Side, CallId)> {
    let of_side = |side: Side| {
        let all = &others[side];
        let first = all.partition_point(|other| other.at < from[side]);
        let end = all.partition_point(|other| other.at < until[side]);
        all[first..end.max(first)].iter().map(move |other| (other.time, side, other.call))
    };
    let all = Side::BOTH.into_iter().flat_map(of_side);
    all.max_by_key(|&(time, side, call)| (time, std::cmp::Reverse((side, call))))
        .map(|(_, side, call)| (side, call))
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
        let tree = diff.tree(side);
        let own = || tree.ancestors(call).find(|&above| tree.kind(above) == CallKind::Op);
        let op = diff.lowest_common_op(side, call).or_else(own);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_belongs_to_the_longest_work_without_a_counterpart_that_starts_in_it() {
        let other = |at: i64, time: i64, call: u32| Other {
            at: Nanos(at),
            time: Nanos(time),
            call: CallId(call),
        };
        let others = PerSide::new(
            vec![other(5, 9, 1)],
            vec![other(2, 1, 2), other(4, 3, 3), other(8, 5, 4)],
        );
        let between = |from: i64, until: i64| {
            let [from, until] = [from, until].map(|time| PerSide::new(Nanos(time), Nanos(time)));
            largest_between(&others, from, until).map(|(side, CallId(call))| (side, call))
        };
        assert_eq!(between(0, 5), Some((Side::Candidate, 3)));
        assert_eq!(between(0, 6), Some((Side::Baseline, 1)));
        assert_eq!(between(6, 9), Some((Side::Candidate, 4)));
        assert_eq!(between(9, 20), None);
    }
}
