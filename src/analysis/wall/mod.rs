//! Splits the wall time of each side into *busy*, *idle*, *before* and *alone* time, and attributes the busy
//! time and the idle time. The four times add up exactly to the wall time.
//!
//! A moment of the window is *busy* if a measured event was running. If several events were running, the
//! moment is attributed to the row of the event that started first. All other moments are *idle* and are
//! attributed to an [`IdleRow`] by the rule in `sweep.rs`.
//!
//! **Several devices and streams.** Wall time is measured for the whole process: a moment is busy if any device runs
//! anything on any stream. A gap is a time span during which all devices are idle. A gap is attributed to the event
//! that ends the gap, regardless of the device. Time during which two devices run counts only for the event that
//! started first.
//!
//! **Selections.** A device is not idle while it runs work from steps or phases that were not selected. The time of
//! unselected work and of the gaps before it counts as *before*, like the time of work that was launched before the
//! window. It is neither busy nor idle time.
//!
//! **Unequal step counts.** Steps without a counterpart are excluded from busy and idle time; their time
//! is *alone*.
//!
//! **Clock skew.** If a GPU event starts before its launch, the whole gap before the event counts as host
//! time, and none of it as launch latency. The note `GPU_BEFORE_LAUNCH` counts events that start before their
//! launch.
//!
//! **Traces without GPU events.** For such traces, host time is measured instead of GPU time, and busy time is the
//! time spent in ops (`host.rs`).

mod boundaries;
mod cursor;
mod host;
mod part;
mod rows;
mod step_wall;
mod sweep;
mod window;

pub use part::{IdleKind, Part};
pub(crate) use rows::node_name;
pub use rows::{IdleRow, idle_owner_name};
pub use step_wall::StepWall;
pub use window::Window;

use super::account::{Ledger, Row};
use super::steps::StepPairs;
use crate::diff::TraceDiff;
use crate::program::{Measure, counted};
use crate::side::{PerSide, Side};
use crate::trace::{Nanos, Notes};
use crate::tree::CallId;
use boundaries::Boundaries;
use rows::{Collected, Collector};
use sweep::Sweep;
use window::{Recorded, everything_that_ran};

/// The attribution of the wall time of both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wall {
    windows: PerSide<Window>,
    busy: Vec<PerSide<Nanos>>,
    busy_alone: Vec<PerSide<Nanos>>,
    idle: Vec<IdleRow>,
    totals: PerSide<WallTotals>,
    notes: Notes,
}

/// Wall-time totals for one side. Busy and idle time cover only the compared steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WallTotals {
    /// Length of the window, which is the sum of busy, idle, before and alone.
    pub wall: Nanos,
    /// Time during which work from the compared steps was running.
    pub busy: Nanos,
    /// Time of the gaps that end with an event of the compared steps.
    pub idle: Nanos,
    /// Time of work that was launched before the window, and of work that was not selected. The gaps before such work
    /// are included.
    pub before: Nanos,
    /// Time of the steps that are not compared because they have no counterpart.
    pub alone: Nanos,
    /// Number of compared steps; 1 if the windows are compared as a whole.
    pub steps: u64,
}

impl WallTotals {
    /// Wall time of the compared steps: busy + idle.
    #[doc(hidden)]
    pub fn own(&self) -> Nanos {
        self.busy + self.idle
    }

    /// Mean wall time (busy + idle) of a compared step, in ms.
    #[doc(hidden)]
    pub fn step_ms(&self) -> f64 {
        self.per_step_ms(self.own())
    }

    /// Converts a sum over the window to a mean per step, in ms.
    pub(crate) fn per_step_ms(&self, sum: Nanos) -> f64 {
        sum.as_millis() / self.steps.max(1) as f64
    }

    /// Idle time as a share of busy + idle time, from 0 to 1; `None` if both are zero.
    pub(crate) fn idle_share(&self) -> Option<f64> {
        (self.own() > Nanos::ZERO).then(|| self.idle.0 as f64 / self.own().0 as f64)
    }
}

impl Wall {
    pub(super) fn of(diff: &TraceDiff, ledger: &Ledger, compared: &StepPairs) -> Wall {
        let basis = compared.basis();
        let recorded = |side: Side| Recorded::of(diff, ledger, side);
        let windows = PerSide::from_fn(|side| window::window(recorded(side), basis));
        let part = |side: Side, call: CallId| match compared.leaves_out(diff, side, call) {
            true => Part::Alone,
            false => Part::Window,
        };
        let mut collector = Collector::new(diff, ledger);
        let mut skewed = 0;
        for side in Side::BOTH {
            collector.turn_to(side);
            let (tree, window) = (diff.tree(side), windows[side]);
            let boundaries = Boundaries::of(diff, side, compared);
            match ledger.measure() {
                Measure::GpuTime => {
                    let mut events = everything_that_ran(recorded(side), window, basis);
                    for event in &mut events {
                        if let (Some(call), Part::Window) = (event.call, event.part) {
                            event.part = part(side, tree.running_launch(call).unwrap_or(call));
                        }
                    }
                    skewed += Sweep::new(tree, window, boundaries, &mut collector).run(&events);
                }
                Measure::HostSelfTime => {
                    let part = |call| part(side, call);
                    host::sweep(tree, window, &boundaries, part, &mut collector);
                }
            }
        }
        let mut notes = Notes::default();
        notes.add(
            "GPU_BEFORE_LAUNCH",
            skewed,
            "the host and GPU clocks disagree: host gaps may be too long, and launch latency too short",
            || format!("{} at the end of an idle gap started before the launching call", counted(skewed, "GPU event")),
        );
        let Collected { busy: [busy, busy_alone], busy_before, idle } = collector.finish();
        let totals = PerSide::from_fn(|side| {
            let sum = |times: &[PerSide<Nanos>]| times.iter().map(|time| time[side]).sum::<Nanos>();
            let idle = |part: Part| -> Nanos {
                idle.iter().filter(|row| row.part == part).map(|row| row.time[side]).sum()
            };
            WallTotals {
                wall: windows[side].wall(),
                busy: sum(&busy),
                idle: idle(Part::Window),
                before: busy_before[side] + idle(Part::Before),
                alone: sum(&busy_alone) + idle(Part::Alone),
                steps: compared.count().unwrap_or(windows[side].steps),
            }
        });
        Wall { windows, busy, busy_alone, idle, totals, notes }
    }

    /// The window of each side.
    pub fn windows(&self) -> PerSide<Window> {
        self.windows
    }

    /// Busy time of each row in [`Ledger::rows`], by position. If several events run at the same moment,
    /// the moment counts only for the row of the event that started first. Only work launched in the compared
    /// steps counts.
    #[doc(hidden)]
    pub fn busy(&self) -> &[PerSide<Nanos>] {
        &self.busy
    }

    /// Busy time of each row, by position, in all steps: also in those without a counterpart.
    #[cfg(feature = "html")]
    pub(crate) fn busy_in_window(&self) -> impl Iterator<Item = PerSide<Nanos>> {
        let rows = self.busy.iter().zip(&self.busy_alone);
        rows.map(|(busy, alone)| PerSide::from_fn(|side| busy[side] + alone[side]))
    }

    /// The idle time, by owner and kind, in the order of the merged tree.
    pub fn idle(&self) -> &[IdleRow] {
        &self.idle
    }

    /// Notes about inconsistent clocks.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// The wall-time totals of a side.
    pub fn totals(&self, side: Side) -> WallTotals {
        self.totals[side]
    }

    /// Total idle time of one kind in the compared steps.
    #[doc(hidden)]
    pub fn idle_of_kind(&self, side: Side, kind: IdleKind) -> Nanos {
        let rows = self.idle.iter().filter(|row| row.kind == kind && row.part == Part::Window);
        rows.map(|row| row.time[side]).sum()
    }

    /// Whether busy, idle, before and alone add up exactly to the wall time on both sides.
    pub fn is_exact(&self) -> bool {
        Side::BOTH.iter().all(|&side| {
            let totals = self.totals(side);
            totals.own() + totals.before + totals.alone == totals.wall
        })
    }
}

/// Whether all work of a row was launched in steps without a counterpart.
pub(crate) fn is_of_other_steps(diff: &TraceDiff, compared: &StepPairs, row: &Row) -> bool {
    let mut with_work = Side::BOTH.into_iter().filter(|&side| !row.events[side].is_empty());
    compared.is_partial() && with_work.all(|side| is_row_alone(diff, compared, row, side))
}

/// Whether a row's call on the given side is in a step without a counterpart.
pub(super) fn is_row_alone(diff: &TraceDiff, compared: &StepPairs, row: &Row, side: Side) -> bool {
    row.calls[side].is_some_and(|call| compared.leaves_out(diff, side, call))
}
