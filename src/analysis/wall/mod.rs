//! [`Analysis`] → [`Wall`]: wall = busy + idle, to the nanosecond, and an owner for both.
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
//! **Clock skew.** A GPU event that starts before its launch leaves the whole gap to the host and
//! nothing to the latency; the note `GPU_BEFORE_LAUNCH` counts them.
//!
//! **Traces without GPU events** account the time of the host: busy is the time in ops (`host.rs`).

mod cursor;
mod host;
mod rows;
mod step_wall;
mod sweep;
mod window;

pub use rows::IdleRow;
pub use step_wall::StepWall;
pub use sweep::{IdleKind, Part};
pub use window::{WallBasis, Window};

use super::steps::StepPairs;
use super::{Analysis, Row};
use crate::program::{Measure, StepId};
use crate::side::{PerSide, Side};
use crate::trace::{Nanos, Notes};
use crate::tree::CallId;
use rows::Collector;
use sweep::{Occupied, Sweep};
use window::Recorded;

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

/// What the wall time of one side comes to. All are sums over the whole window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WallTotals {
    /// Length of the window; busy + idle + before.
    pub wall: Nanos,
    /// Time in which work of the window ran.
    pub busy: Nanos,
    /// Time in which nothing ran before work of the window.
    pub idle: Nanos,
    /// Time that work which was launched before the window took, and the gaps before it.
    pub before: Nanos,
    /// Part of busy + idle in steps that have no partner, where the other trace has fewer steps.
    pub alone: Nanos,
    /// Number of steps; 1 where the window is looked at as a whole.
    pub steps: u64,
}

impl WallTotals {
    /// Wall time of the window's own work: busy + idle.
    pub fn own(&self) -> Nanos {
        self.busy + self.idle
    }

    /// The part of it in steps that are compared call by call: all, unless some have no partner.
    pub fn compared(&self) -> Nanos {
        self.own() - self.alone
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
        let ([mut busy, busy_alone, busy_before], idle) = collector.finish();
        for (all, alone) in busy.iter_mut().zip(&busy_alone) {
            *all = PerSide::from_fn(|side| all[side] + alone[side]);
        }
        let totals = PerSide::from_fn(|side| {
            let sum = |times: &[PerSide<Nanos>]| times.iter().map(|time| time[side]).sum::<Nanos>();
            let idle = |is_in: fn(Part) -> bool| -> Nanos {
                idle.iter().filter(|row| is_in(row.part)).map(|row| row.time[side]).sum()
            };
            WallTotals {
                wall: windows[side].wall(),
                busy: sum(&busy),
                idle: idle(Part::is_of_window),
                before: sum(&busy_before) + idle(|part| part == Part::Before),
                alone: sum(&busy_alone) + idle(|part| part == Part::Alone),
                steps: windows[side].steps,
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
    /// first, of work launched in the window.
    pub fn busy(&self) -> &[PerSide<Nanos>] {
        &self.busy
    }

    /// The part of [`Wall::busy`] in steps that have no partner.
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

    /// Idle time of one kind before work of the window.
    pub fn idle_of_kind(&self, side: Side, kind: IdleKind) -> Nanos {
        let rows = self.idle.iter().filter(|row| row.kind == kind && row.part.is_of_window());
        rows.map(|row| row.time[side]).sum()
    }

    /// Whether busy and idle add up to the wall of both sides, exactly.
    pub fn is_exact(&self) -> bool {
        Side::BOTH.iter().all(|&side| {
            let totals = self.totals(side);
            totals.own() + totals.before == totals.wall
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

/// The accounted events of a side by start; `within` tells the part of those that were launched in the
/// window.
fn occupied(
    analysis: &Analysis,
    side: Side,
    window: Window,
    basis: WallBasis,
    within: impl Fn(CallId) -> Part,
) -> Vec<Occupied> {
    let of = Recorded::of(analysis, side);
    let spans = of.spans();
    let calls: Vec<CallId> = spans.iter().map(|&(_, _, call)| call).collect();
    let before = window::launched_before(of, window, basis, &calls);
    spans
        .into_iter()
        .zip(before)
        .map(|((start, end, call), before)| {
            let part = if before { Part::Before } else { within(call) };
            Occupied { call, start, end, part }
        })
        .collect()
}
