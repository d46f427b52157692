//! Attributes each moment of the window on one side, by sweeping over the events in the order of their start
//! times.
//!
//! ```text
//! host    ├─ a ───────────┤├─ launch ─┤
//! GPU     ├─ k ──┤                ├─ k ──┤         │ window
//!         └─busy─┘└ host: a┘└lat.─┘└busy─┘└─ tail ─┘
//! ```
//! A gap is attributed to the event that ends the gap. Until the launch of this event, the gap is host time
//! and is attributed to the calls that run on the host in the meantime. The part of the gap after the launch
//! is launch latency. If the event was launched before the gap began, the whole gap is queueing delay.

use super::boundaries::Boundaries;
use super::cursor::StackCursor;
use super::part::{Idle, IdleKind, Part};
use super::rows::Collector;
use super::window::{Occupied, Window};
use crate::program::is_synchronisation;
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind, CallTree};

pub(super) struct Sweep<'t, 'l> {
    tree: &'t CallTree,
    window: Window,
    boundaries: Boundaries,
    cursors: Cursors<'t>,
    ledger: &'l mut Collector<'t>,
    gaps: u32,
    skewed: u64,
}

impl<'t, 'l> Sweep<'t, 'l> {
    pub(super) fn new(
        tree: &'t CallTree,
        window: Window,
        boundaries: Boundaries,
        ledger: &'l mut Collector<'t>,
    ) -> Self {
        Sweep { tree, window, boundaries, cursors: Cursors::new(tree), ledger, gaps: 0, skewed: 0 }
    }

    /// Reports every moment of the window to `ledger`; `events` must be sorted by start. Returns the number of
    /// events that end a gap but start before their launch.
    pub(super) fn run(mut self, events: &[Occupied]) -> u64 {
        let mut reached = self.window.start;
        let mut last: Option<&Occupied> = None;
        let end_of_window = self.window.end;
        for event in events.iter().take_while(|event| event.start < end_of_window) {
            let (start, end) = self.window.clip(event.start, event.end);
            if start > reached {
                self.gap(reached, start, event, last);
                reached = start;
            }
            if end > reached {
                self.ledger.busy(event.call, event.part, end - reached);
                (reached, last) = (end, Some(event));
            }
            last = last.or(Some(event));
        }
        if self.window.end > reached {
            let part = last.map(|last| last.part).filter(|part| part.is_of_window());
            self.tail(reached, self.window.end, part.unwrap_or(Part::Window), last);
        }
        self.skewed
    }

    fn gap(&mut self, from: Nanos, until: Nanos, event: &Occupied, last: Option<&Occupied>) {
        let launch = event.call.and_then(|call| self.tree.running_launch(call));
        let cut = launch.and_then(|launch| {
            self.boundaries.cut(from, self.start_of(launch).min(until), event.part)
        });
        match cut {
            Some((at, part)) => {
                self.tail(from, at, part, last);
                self.rest_of_gap(at, until, event, last);
            }
            None => self.rest_of_gap(from, until, event, last),
        }
    }

    fn rest_of_gap(
        &mut self,
        from: Nanos,
        until: Nanos,
        event: &Occupied,
        last: Option<&Occupied>,
    ) {
        if from == until {
            return;
        }
        self.gaps += 1;
        let before = last.and_then(|last| last.call);
        let piece = Idle {
            kind: IdleKind::Unknown,
            part: event.part,
            owner: None,
            gap: self.gaps,
            time: until - from,
            before,
        };
        let Some(launch) = event.call.and_then(|call| self.tree.running_launch(call)) else {
            return self.ledger.idle(piece);
        };
        let launched = self.start_of(launch);
        if launched < from {
            return self.ledger.idle(Idle { kind: IdleKind::Queue, owner: Some(launch), ..piece });
        }
        self.skewed += u64::from(launched > event.start);
        // An event may seem to start before its launch, because the host and GPU clocks may differ. An event
        // that starts before its launch has no launch latency.
        let launched = launched.min(until);
        self.host(from, launched, launch, piece);
        if until > launched {
            let time = until - launched;
            let kind = IdleKind::Latency;
            self.ledger.idle(Idle { kind, owner: Some(launch), time, ..piece });
        }
    }

    /// Attributes the host time before a launch to the calls on the thread of the launch.
    fn host(&mut self, from: Nanos, until: Nanos, launch: CallId, piece: Idle) {
        let (tree, ledger) = (self.tree, &mut *self.ledger);
        let Some(cursor) = self.cursors.of_call(tree, launch) else {
            return ledger.idle(Idle { time: until - from, ..piece });
        };
        cursor.spend(from, until, |call, time| {
            let waits = tree.kind(call) == CallKind::Runtime && is_synchronisation(tree.name(call));
            let kind = if waits { IdleKind::Sync } else { IdleKind::Host };
            ledger.idle(Idle { kind, owner: Some(call), time, ..piece });
        });
    }

    /// Attributes the idle time after the last event to the calls on the thread that launched the event. The
    /// idle time ends at a boundary between steps or at the end of the window.
    fn tail(&mut self, from: Nanos, until: Nanos, part: Part, last: Option<&Occupied>) {
        self.gaps += 1;
        let piece = Idle {
            kind: IdleKind::Tail,
            part,
            owner: None,
            gap: self.gaps,
            time: until - from,
            before: last.and_then(|last| last.call),
        };
        let launch = last.and_then(|last| self.tree.running_launch(last.call?));
        let cursor = launch.and_then(|launch| self.cursors.of_call(self.tree, launch));
        let ledger = &mut *self.ledger;
        match cursor {
            Some(cursor) => cursor.spend(from, until, |call, time| {
                ledger.idle(Idle { owner: Some(call), time, ..piece });
            }),
            None => ledger.idle(piece),
        }
    }

    fn start_of(&self, call: CallId) -> Nanos {
        let event = self.tree.event(call).expect("every launch has an event");
        self.tree.trace().start(event)
    }
}

/// A cursor for each thread, created on first use.
pub(super) struct Cursors<'t> {
    roots: Vec<Option<CallId>>,
    cursors: Vec<Option<StackCursor<'t>>>,
}

impl<'t> Cursors<'t> {
    pub(super) fn new(tree: &'t CallTree) -> Self {
        let threads = tree.trace().threads().len();
        let mut roots = vec![None; threads];
        for root in tree.roots() {
            if let Some(thread) = tree.thread(root) {
                roots[thread.index()] = Some(root);
            }
        }
        Cursors { roots, cursors: std::iter::repeat_with(|| None).take(threads).collect() }
    }

    pub(super) fn of_call(
        &mut self,
        tree: &'t CallTree,
        call: CallId,
    ) -> Option<&mut StackCursor<'t>> {
        let thread = tree.trace().thread_of(tree.event(call)?).index();
        let root = self.roots[thread]?;
        Some(self.cursors[thread].get_or_insert_with(|| StackCursor::new(tree, root)))
    }
}
