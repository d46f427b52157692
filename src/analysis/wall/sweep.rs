//! The events of one side in order of start → who has each moment of the window.
//!
//! ```text
//! host    ├─ a ───────────┤├─ launch ─┤
//! GPU     ├─ k ──┤                ├─ k ──┤         │ window
//!         └─busy─┘└ host: a┘└lat.─┘└busy─┘└─ tail ─┘
//! ```
//! A gap belongs to the event that ends it: up to its launch to the host, call by call, and from
//! then on to the latency of the launch. Where the launch lies before the gap, the device waited
//! although work was queued.

use super::cursor::StackCursor;
use super::window::Window;
use crate::program::is_synchronisation;
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind, CallTree};

/// Why a device was idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdleKind {
    /// The host had not yet launched the event that ended the gap: it was busy in the owner.
    Host,
    /// Like `Host`, while the owner waited for the GPU, which had nothing to do.
    Sync,
    /// From the start of the launch to the start of the event that ended the gap.
    Latency,
    /// The event that ended the gap had been launched before the gap began.
    Queue,
    /// From the last event to the end of the window.
    Tail,
    /// The launch of the event that ended the gap is not in the trace.
    Unknown,
}

impl IdleKind {
    /// All, in the order of tables.
    pub const ALL: [IdleKind; 6] = [
        IdleKind::Host,
        IdleKind::Sync,
        IdleKind::Latency,
        IdleKind::Queue,
        IdleKind::Tail,
        IdleKind::Unknown,
    ];

    /// As tables write it: `host`, `sync`, `latency`, `queue`, `tail`, `unknown`.
    pub fn label(self) -> &'static str {
        match self {
            IdleKind::Host => "host",
            IdleKind::Sync => "sync",
            IdleKind::Latency => "latency",
            IdleKind::Queue => "queue",
            IdleKind::Tail => "tail",
            IdleKind::Unknown => "unknown",
        }
    }
}

/// Whether work was launched in the window or before it, and in which of its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// In the window: what figures for each step are about.
    Window,
    /// In the window, in a step that has no partner, where one trace has more steps: no cause is
    /// about it.
    Alone,
    /// Before the window, or outside of the selected steps and phase: told apart.
    Before,
}

impl Part {
    /// All, in the order of declaration.
    pub const ALL: [Part; 3] = [Part::Window, Part::Alone, Part::Before];

    /// Whether it is in the window.
    pub fn is_of_window(self) -> bool {
        match self {
            Part::Window | Part::Alone => true,
            Part::Before => false,
        }
    }

    /// As tables write it: `window`, `unpaired_step` or `before_window`.
    pub fn label(self) -> &'static str {
        match self {
            Part::Window => "window",
            Part::Alone => "unpaired_step",
            Part::Before => "before_window",
        }
    }
}

/// An accounted event on the timeline.
#[derive(Debug, Clone, Copy)]
pub(super) struct Occupied {
    /// `None` for work that was not selected: no tree has it, but the device was busy.
    pub(super) call: Option<CallId>,
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    pub(super) part: Part,
}

/// A piece of a gap.
#[derive(Debug, Clone, Copy)]
pub(super) struct Idle {
    pub(super) kind: IdleKind,
    pub(super) part: Part,
    /// The innermost call, the root of its thread between calls; `None` where nobody is known.
    pub(super) owner: Option<CallId>,
    /// Number of the gap among those of the side.
    pub(super) gap: u32,
    pub(super) time: Nanos,
    /// The event that ran last before the gap.
    pub(super) before: Option<CallId>,
}

/// Who is told.
pub(super) trait Ledger {
    /// An event was the first to cover so much of the window; `None` for work that was not selected.
    fn busy(&mut self, event: Option<CallId>, part: Part, time: Nanos);
    /// A piece of a gap.
    fn idle(&mut self, piece: Idle);
}

/// Goes over the window of one side.
pub(super) struct Sweep<'t, 'l, L> {
    tree: &'t CallTree,
    window: Window,
    cursors: Cursors<'t>,
    ledger: &'l mut L,
    gaps: u32,
    skewed: u64,
}

impl<'t, 'l, L: Ledger> Sweep<'t, 'l, L> {
    pub(super) fn new(tree: &'t CallTree, window: Window, ledger: &'l mut L) -> Self {
        Sweep { tree, window, cursors: Cursors::new(tree), ledger, gaps: 0, skewed: 0 }
    }

    /// Tells every moment of the window to the ledger; the events are sorted by start. Returns how
    /// many of those that ended a gap start before their launch does.
    pub(super) fn run(mut self, events: &[Occupied]) -> u64 {
        let mut reached = self.window.start;
        let mut last: Option<&Occupied> = None;
        let end_of_window = self.window.end;
        for event in events.iter().take_while(|event| event.start < end_of_window) {
            let (start, end) = self.window.clip(event.start, event.end);
            if start > reached {
                self.gap(reached, start, event, last.and_then(|last| last.call));
                reached = start;
            }
            if end > reached {
                self.ledger.busy(event.call, event.part, end - reached);
                (reached, last) = (end, Some(event));
            }
            last = last.or(Some(event));
        }
        if self.window.end > reached {
            self.tail(reached, last);
        }
        self.skewed
    }

    fn gap(&mut self, from: Nanos, until: Nanos, event: &Occupied, before: Option<CallId>) {
        self.gaps += 1;
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
        // The clock of the GPU may be ahead of the host's, so that an event starts before its launch: then
        // there is no latency to account for.
        let launched = launched.min(until);
        self.host(from, launched, launch, piece);
        if until > launched {
            let time = until - launched;
            let kind = IdleKind::Latency;
            self.ledger.idle(Idle { kind, owner: Some(launch), time, ..piece });
        }
    }

    /// The time in which the thread of a launch was on its way to it.
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

    /// What stands after the last event: of the thread that launched it, call by call.
    fn tail(&mut self, from: Nanos, last: Option<&Occupied>) {
        self.gaps += 1;
        let until = self.window.end;
        let piece = Idle {
            kind: IdleKind::Tail,
            part: last
                .map(|last| last.part)
                .filter(|part| part.is_of_window())
                .unwrap_or(Part::Window),
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
        let event = self.tree.event(call).expect("a launch is an event");
        self.tree.trace().start(event)
    }
}

/// A cursor for each thread that is asked for.
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
