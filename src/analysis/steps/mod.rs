//! Computes the times of each step and phase on both sides: GPU time, wall, busy and idle time.

mod batches;
mod overlap;
mod pairs;
mod phases;
mod timeline;

use super::account::{Ledger, span};
use crate::diff::TraceDiff;
use crate::program::{Communication, Measure, Phase, Program, StepId, Steps};
use crate::side::{PerSide, Side};
use crate::trace::{Category, Nanos, Notes};
use crate::tree::{CallId, CallKind, CallTree};
pub use batches::{BatchClassRow, StepEvidence, StepPairRow, batch_class_rows, step_pair_rows};
pub use overlap::{Overlap, OverlapRow, overlap_rows};
pub use pairs::{StepPairs, WallBasis};
pub(super) use pairs::{chosen_step_pairs, step_pairs};
pub use phases::{PhaseRow, phase_rows};
use timeline::{Activity, Occupied};

/// Times and counts of the measured events in one group (a step or a phase) on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Number of measured events in the group.
    pub events: u64,
    /// Number of calls that launched the events.
    pub launches: u64,
    /// Total time of the group's events. The times of all groups add up to the totals.
    pub time: Nanos,
    /// Time during which an event of the group ran, excluding time during which an event that had started
    /// earlier was still running. The busy times of all groups add up to the length of the union of all events.
    pub busy: Nanos,
    /// Time of the gaps that end with an event of this group. The time after the last event is also idle time of
    /// that event's group.
    pub idle: Nanos,
    /// Part of `time` that is spent in copies and memsets.
    pub copies: Nanos,
    /// Part of `time` that is spent in communication kernels.
    pub communication: Nanos,
    /// Time during which communication kernels ran and no other kernel did.
    pub exposed_communication: Nanos,
    /// Tokens of the batches, if annotations record them.
    pub tokens: Option<u64>,
    /// Number of steps by which `time` is divided to get the time per step: 1 for a step, all steps of the side
    /// for a phase.
    pub steps: u64,
}

impl Figures {
    /// Busy + idle time. The wall times of all groups add up to the time from the first step or
    /// event to the last.
    pub fn wall(&self) -> Nanos {
        self.busy + self.idle
    }

    /// Time per token in µs, if the tokens are known.
    pub fn time_per_token_us(&self) -> Option<f64> {
        self.tokens.filter(|&tokens| tokens > 0).map(|tokens| self.time.as_micros() / tokens as f64)
    }

    /// Time per step in µs; `None` if `steps` is 0.
    pub fn time_per_step_us(&self) -> Option<f64> {
        (self.steps > 0).then(|| self.time.as_micros() / self.steps as f64)
    }
}

/// The kinds of rows in the steps table, in table order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepPlace {
    /// A step, identified by its position in the baseline, or in the candidate if the baseline lacks the step.
    Step(StepId),
    /// Work launched outside of steps.
    Outside,
    /// GPU events whose launch is not in the trace.
    NotCaptured,
}

/// A row of the steps table: a step on both sides, or work outside of steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRow {
    /// Whether the row is a step or work outside of steps.
    pub place: StepPlace,
    /// The step on each side; `None` on a side that does not have the step.
    pub steps: PerSide<Option<StepName>>,
    /// Times and counts for the step on each side.
    pub figures: PerSide<Figures>,
}

/// Name and phase of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepName {
    /// Position of the step among the steps of its trace.
    pub id: StepId,
    /// The name of the step's annotation, or a name such as `repeat 0`.
    pub name: String,
    /// The phase of the step, if all of its batches are in the same phase.
    pub phase: Option<Phase>,
}

/// Times and counts for each of `count` groups of measured calls. The function `group` maps a measured
/// call to its group.
fn measured_figures(
    diff: &TraceDiff,
    ledger: &Ledger,
    side: Side,
    steps: &Steps,
    count: usize,
    group: impl Fn(CallId) -> usize,
) -> Vec<Figures> {
    let calls = ledger.calls(side).iter().copied();
    let program = diff.program(side);
    group_figures((program, ledger.measure()), steps, calls, count, group)
}

fn is_captured(tree: &CallTree, call: CallId) -> bool {
    tree.kind(call) != CallKind::Gpu || tree.launch(call).is_some()
}

/// The steps of both sides, followed by the work outside of steps. On each side, the times of all rows add
/// up to the total time. If the alignment matched individual steps, matched steps share a row. Otherwise,
/// steps at the same position share a row.
pub(in crate::analysis) fn step_rows(
    diff: &TraceDiff,
    ledger: &Ledger,
    compared: &StepPairs,
) -> Vec<StepRow> {
    let steps = PerSide::from_fn(|side| diff.steps(side));
    let figures = PerSide::from_fn(|side| step_figures(diff, ledger, side, steps[side]));
    let in_steps = compared.places().into_iter().filter_map(|ids| {
        let place = StepPlace::Step(ids.baseline.or(ids.candidate)?);
        let of_step = |side: Side| ids[side].map(|id| figures[side][id.index()]);
        Some(StepRow {
            place,
            steps: PerSide::from_fn(|side| {
                ids[side].map(|id| step_name(diff, side, steps[side], id))
            }),
            figures: PerSide::from_fn(|side| of_step(side).unwrap_or_default()),
        })
    });
    let outside = [StepPlace::Outside, StepPlace::NotCaptured].map(|place| StepRow {
        place,
        steps: PerSide::default(),
        figures: PerSide::from_fn(|side| {
            figures[side][steps[side].len() + usize::from(place == StepPlace::NotCaptured)]
        }),
    });
    let outside = outside
        .into_iter()
        .filter(|row| Side::BOTH.iter().any(|&side| has_any(&row.figures[side])));
    in_steps.chain(outside).collect()
}

/// Times and counts of each step, then of the work outside of steps, then of the events whose launch was
/// not recorded.
fn step_figures(diff: &TraceDiff, ledger: &Ledger, side: Side, steps: &Steps) -> Vec<Figures> {
    let (tree, count) = (diff.tree(side), steps.len());
    let group = |call: CallId| match steps.step(call) {
        Some(step) => step.index(),
        None if is_captured(tree, call) => count,
        None => count + 1,
    };
    let mut figures = measured_figures(diff, ledger, side, steps, count + 2, group);
    for (figures, span) in figures.iter_mut().zip(steps.spans()) {
        (figures.tokens, figures.steps) = (span.tokens, 1);
    }
    figures
}

fn step_name(diff: &TraceDiff, side: Side, steps: &Steps, id: StepId) -> StepName {
    StepName { id, name: steps.name(diff.tree(side), id), phase: steps.span(id).phase }
}

/// Divides the measured `calls` of one tree into `count` groups, and returns the times and counts of each
/// group. The function `group` maps a call to its group.
pub fn group_figures(
    (program, measure): (&Program, Measure),
    steps: &Steps,
    calls: impl Iterator<Item = CallId>,
    count: usize,
    group: impl Fn(CallId) -> usize,
) -> Vec<Figures> {
    let (tree, communication) = (program.tree(), program.communication());
    let mut figures = vec![Figures::default(); count];
    let mut occupied = Vec::new();
    let mut launches: Vec<(usize, CallId)> = Vec::new();
    for call in calls {
        let at = group(call);
        let activity = activity(tree, communication, call);
        figures[at].add(activity, measure.time(tree, call));
        let launch = launch_of(tree, measure, call).map(|launch| (at, launch));
        // Consecutive events started by one graph launch count as a single launch.
        if launch != launches.last().copied() {
            launches.extend(launch);
        }
        let (start, end) = span(tree, call);
        occupied.push(Occupied { start, end, group: at, activity });
    }
    launches.sort_unstable();
    launches.dedup();
    for (at, _) in launches {
        figures[at].launches += 1;
    }
    let (begin, end) = whole(&occupied, steps);
    if measure == Measure::GpuTime {
        occupied.extend(unselected(tree, begin, end, count));
    }
    let shares = timeline::divide(begin, end, occupied, count + 1);
    for (figures, share) in figures.iter_mut().zip(shares) {
        figures.busy = share.busy;
        figures.idle = share.idle;
        figures.exposed_communication = share.exposed;
    }
    figures
}

/// Work that the device ran between `begin` and `end` but that is not part of the selection, assigned to
/// `group`.
fn unselected(
    tree: &CallTree,
    begin: Nanos,
    end: Nanos,
    group: usize,
) -> impl Iterator<Item = Occupied> {
    let spans = tree.trace().unselected().iter();
    let spans = spans.map(move |&(start, until)| (start.max(begin), until.min(end)));
    spans.filter(|(start, until)| start < until).map(move |(start, end)| Occupied {
        start,
        end,
        group,
        activity: Activity::Compute,
    })
}

fn launch_of(tree: &CallTree, measure: Measure, call: CallId) -> Option<CallId> {
    match measure {
        Measure::GpuTime => tree.running_launch(call),
        Measure::HostSelfTime => None,
    }
}

impl Figures {
    fn add(&mut self, activity: Activity, time: Nanos) {
        self.events += 1;
        self.time += time;
        match activity {
            Activity::Compute => {}
            Activity::Copy => self.copies += time,
            Activity::Communication => self.communication += time,
        }
    }
}

fn has_any(figures: &Figures) -> bool {
    figures.events > 0
}

/// The time span from the start of the first step or event to the end of the last.
fn whole(occupied: &[Occupied], steps: &Steps) -> (Nanos, Nanos) {
    let spans = || {
        let events = occupied.iter().map(|event| (event.start, event.end));
        events.chain(steps.spans().iter().map(|step| (step.start, step.end)))
    };
    let begin = spans().map(|span| span.0).min().unwrap_or(Nanos::ZERO);
    (begin, spans().map(|span| span.1).max().unwrap_or(begin))
}

fn activity(tree: &CallTree, communication: &Communication, call: CallId) -> Activity {
    let event = tree.event(call).expect("every attributed call has an event");
    match tree.trace().category(event) {
        Category::Memcpy | Category::Memset => Activity::Copy,
        Category::Kernel if communication.is(tree, call) => Activity::Communication,
        Category::Kernel
        | Category::CpuOp
        | Category::PythonFunction
        | Category::Runtime
        | Category::UserAnnotation
        | Category::GpuUserAnnotation => Activity::Compute,
    }
}

/// Adds a note if no steps were recorded and repeated calls are used as steps.
pub(in crate::analysis) fn note_repeats(diff: &TraceDiff, notes: &mut Notes) {
    for side in Side::BOTH {
        let (steps, tree) = (diff.steps(side), diff.tree(side));
        let Some(call) = steps.repeated(tree) else { continue };
        let message = format!(
            "{} has no steps: the {} calls of `{call}` are used as steps",
            side.label(),
            steps.len()
        );
        let count = steps.len() as u64;
        notes.add(
            "REPEATS_AS_STEPS",
            count,
            "pass --no-repeats to disable step detection by repetition",
            || message,
        );
    }
}
