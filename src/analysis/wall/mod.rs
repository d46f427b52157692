//! [`Analysis`] → [`Wall`]: wall = busy + idle + before + alone, to the nanosecond, and an owner for busy and
//! idle.
//!
//! A moment of the window is *busy* where an accounted event ran; it belongs to the row of the event
//! that covered it first. All other moments are *idle* and belong to an [`IdleRow`]: `sweep.rs` has
//! the rule.
//!
//! **Several devices and streams.** The wall is of the process: a moment is busy when any device of
//! it runs anything, on any stream. A gap is a moment in which all of them wait, and belongs to the
//! event, of whichever device, that ends it. Where two devices run at the same time the moment counts
//! once, for the event that came first.
//!
//! **Selections.** A device that ran work of steps or phases which were not selected was not idle. That
//! time, and the gaps before such work, is neither busy nor idle but *before*, like that of work launched
//! before the window.
//!
//! **Unequal step counts.** Steps without a counterpart are left out of busy and idle; their time is *alone*.
//!
//! **Clock skew.** A GPU event that starts before its launch leaves the whole gap to the host and
//! nothing to the latency; the note `GPU_BEFORE_LAUNCH` counts them.
//!
//! **Traces without GPU events** account the time of the host: busy is the time in ops (`host.rs`).

mod cursor;
mod host;
mod rows;
mod sweep;
mod window;

pub use rows::IdleRow;
pub use sweep::{IdleKind, Part};
pub use window::{WallBasis, Window};

use super::steps::StepPairs;
use super::{Analysis, Row};
use crate::program::{Measure, StepId};
use crate::side::{PerSide, Side};
use crate::trace::{Nanos, Notes};
use crate::tree::CallId;
use rows::{Collected, Collector};
use sweep::{Occupied, Sweep};

/// The account of the wall time of both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wall {
    basis: WallBasis,
    windows: PerSide<Window>,
    pairs: Option<StepPairs>,
    busy: Vec<PerSide<Nanos>>,
    busy_alone: Vec<PerSide<Nanos>>,
    busy_before: Vec<PerSide<Nanos>>,
    idle: Vec<IdleRow>,
    totals: PerSide<WallTotals>,
    notes: Notes,
}

/// What the wall time of one side comes to. Busy and idle are of the steps that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WallTotals {
    /// Length of the window; busy + idle + before + alone.
    pub wall: Nanos,
    /// Time in which work of the compared steps ran.
    pub busy: Nanos,
    /// Time in which nothing ran before work of the compared steps.
    pub idle: Nanos,
    /// Time of work that was launched before the window or was not selected, and the gaps before it.
    pub before: Nanos,
    /// Time of steps that have no counterpart, where the other trace has fewer steps.
    pub alone: Nanos,
    /// Number of steps that are compared; 1 where the window is looked at as a whole.
    pub steps: u64,
}

impl WallTotals {
    /// Wall time of the compared steps: busy + idle.
    pub fn own(&self) -> Nanos {
        self.busy + self.idle
    }

    /// Own wall time of a step in ms.
    pub fn step_ms(&self) -> f64 {
        self.per_step_ms(self.own())
    }

    /// A sum over the window as a mean of its steps, in ms.
    pub fn per_step_ms(&self, sum: Nanos) -> f64 {
        sum.as_millis() / self.steps.max(1) as f64
    }

    /// Share of the own wall time in which the device was idle; `None` for an empty window.
    pub fn idle_share(&self) -> Option<f64> {
        (self.own() > Nanos::ZERO).then(|| self.idle.0 as f64 / self.own().0 as f64)
    }
}

impl Wall {
    pub(super) fn of(analysis: &Analysis) -> Wall {
        let basis = window::basis(analysis);
        let windows = window::windows(analysis, basis);
        let pairs = match basis {
            WallBasis::Steps => StepPairs::of(analysis),
            WallBasis::Events => None,
        };
        let part = |side: Side, call: CallId| match &pairs {
            Some(pairs) if pairs.leaves_out(analysis, side, call) => Part::Alone,
            Some(_) | None => Part::Window,
        };
        let mut collector = Collector::new(analysis);
        let mut skewed = 0;
        for side in Side::BOTH {
            collector.turn_to(side);
            match analysis.measure() {
                Measure::GpuTime => {
                    let tree = analysis.tree(side);
                    let within = |call| part(side, tree.running_launch(call).unwrap_or(call));
                    let events = occupied(analysis, side, windows[side], basis, within);
                    skewed += Sweep::new(tree, windows[side], &mut collector).run(&events);
                }
                Measure::HostSelfTime => {
                    let part = |call| part(side, call);
                    host::sweep(analysis.tree(side), windows[side], part, &mut collector);
                }
            }
        }
        let mut notes = Notes::default();
        notes.add(
            "GPU_BEFORE_LAUNCH",
            skewed,
            "the clocks of host and GPU disagree: host time may be too long, and latency too short",
            || format!("{skewed} GPU events that end a gap start before their launch does"),
        );
        let Collected { busy: [busy, busy_alone, busy_before], unselected, idle } =
            collector.finish();
        let totals = PerSide::from_fn(|side| {
            let sum = |times: &[PerSide<Nanos>]| times.iter().map(|time| time[side]).sum::<Nanos>();
            let idle = |part: Part| -> Nanos {
                idle.iter().filter(|row| row.part == part).map(|row| row.time[side]).sum()
            };
            WallTotals {
                wall: windows[side].wall(),
                busy: sum(&busy),
                idle: idle(Part::Window),
                before: sum(&busy_before) + unselected[side] + idle(Part::Before),
                alone: sum(&busy_alone) + idle(Part::Alone),
                steps: pairs.as_ref().map_or(windows[side].steps, StepPairs::len),
            }
        });
        Wall { basis, windows, pairs, busy, busy_alone, busy_before, idle, totals, notes }
    }

    /// What the windows are made of.
    pub fn basis(&self) -> WallBasis {
        self.basis
    }

    /// How many steps of each side have a partner, where one side has more steps and some of them
    /// have none; `None` where all are compared.
    pub fn paired_steps(&self) -> Option<u64> {
        self.pairs.as_ref().map(StepPairs::len)
    }

    /// Which steps of both sides are compared, where not all are.
    pub(super) fn step_pairs(&self) -> Option<&StepPairs> {
        self.pairs.as_ref()
    }

    /// Whether a step has no partner, where one side has more steps.
    pub(super) fn is_step_alone(&self, side: Side, step: StepId) -> bool {
        self.pairs.as_ref().is_some_and(|pairs| pairs.is_alone(side, step))
    }

    /// The window of each side.
    pub fn windows(&self) -> PerSide<Window> {
        self.windows
    }

    /// Busy time of each row of the account, by its position: the moments that its events covered
    /// first, of work launched in the compared steps.
    pub fn busy(&self) -> &[PerSide<Nanos>] {
        &self.busy
    }

    /// Like [`Wall::busy`], of steps that have no counterpart.
    pub fn busy_alone(&self) -> &[PerSide<Nanos>] {
        &self.busy_alone
    }

    /// Like [`Wall::busy`], of work launched before the window.
    pub fn busy_before(&self) -> &[PerSide<Nanos>] {
        &self.busy_before
    }

    /// The idle time, by owner and kind, in the order of the merged tree.
    pub fn idle(&self) -> &[IdleRow] {
        &self.idle
    }

    /// What was odd about the clocks.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// The sums of a side.
    pub fn totals(&self, side: Side) -> WallTotals {
        self.totals[side]
    }

    /// Idle time of one kind before work of the compared steps.
    pub fn idle_of_kind(&self, side: Side, kind: IdleKind) -> Nanos {
        let rows = self.idle.iter().filter(|row| row.kind == kind && row.part == Part::Window);
        rows.map(|row| row.time[side]).sum()
    }

    /// Whether busy, idle and what is left out add up to the wall of both sides, exactly.
    pub fn is_exact(&self) -> bool {
        Side::BOTH.iter().all(|&side| {
            let totals = self.totals(side);
            totals.own() + totals.before + totals.alone == totals.wall
        })
    }
}

impl Analysis {
    /// Whether all work of a row is in steps that have no partner, where one trace has more steps.
    pub(crate) fn is_of_other_steps(&self, row: &Row) -> bool {
        let mut with_work = Side::BOTH.into_iter().filter(|&side| !row.events[side].is_empty());
        self.wall().pairs.is_some() && with_work.all(|side| self.is_row_alone(row, side))
    }

    /// Whether the call of a row on this side is in such a step.
    pub(super) fn is_row_alone(&self, row: &Row, side: Side) -> bool {
        let pairs = self.wall().pairs.as_ref().zip(row.calls[side]);
        pairs.is_some_and(|(pairs, call)| pairs.leaves_out(self, side, call))
    }
}

/// The accounted events of a side, and what ran of those that were not selected, by start; `within` tells the
/// part of those that were launched in the window.
fn occupied(
    analysis: &Analysis,
    side: Side,
    window: Window,
    basis: WallBasis,
    within: impl Fn(CallId) -> Part,
) -> Vec<Occupied> {
    let tree = analysis.tree(side);
    let span = |&call: &CallId| {
        let event = tree.event(call).expect("accounted calls are events");
        (tree.trace().start(event), tree.trace().end(event), call)
    };
    let mut spans: Vec<(Nanos, Nanos, CallId)> =
        analysis.accounted_calls(side).iter().map(span).collect();
    spans.sort_unstable();
    let calls: Vec<CallId> = spans.iter().map(|&(_, _, call)| call).collect();
    let before = window::launched_before(analysis, side, window, basis, &calls);
    let mut events: Vec<Occupied> = spans
        .into_iter()
        .zip(before)
        .map(|((start, end, call), before)| {
            let part = if before { Part::Before } else { within(call) };
            Occupied { call: Some(call), start, end, part }
        })
        .collect();
    let unselected = tree.trace().unselected().iter();
    events.extend(unselected.map(|&(start, end)| Occupied {
        call: None,
        start,
        end,
        part: Part::Before,
    }));
    // The sort is stable, and both parts are sorted.
    events.sort_by_key(|event| (event.start, event.end));
    events
}
