//! Divides the wall time into parts, based on the step in which the work was launched, and gaps into pieces, based on why
//! the device was idle.

use crate::trace::Nanos;
use crate::tree::CallId;

/// A part of the wall time: work launched in a compared step, in a step that is not compared, or before the
/// window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum Part {
    /// The work was launched in a compared step of the window. Times per step include only this part.
    Window,
    /// The work was launched in the window, but in a step without a counterpart. The causes of the time
    /// difference do not include this part.
    Alone,
    /// The work was launched before the window, or outside of the selected steps or phase, so it is reported
    /// separately.
    Before,
}

impl Part {
    /// Whether this part is inside the window.
    pub(crate) fn is_of_window(self) -> bool {
        match self {
            Part::Window | Part::Alone => true,
            Part::Before => false,
        }
    }

    /// The name of the part in tables: `window`, `unpaired_step` or `before_window`.
    pub fn label(self) -> &'static str {
        match self {
            Part::Window => "window",
            Part::Alone => "unpaired_step",
            Part::Before => "before_window",
        }
    }
}

/// Why the device was idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdleKind {
    /// The host had not yet launched the event that ended the gap, because it was busy in the call that owns
    /// the idle time.
    Host,
    /// The call that owns the idle time waited for the GPU, although the GPU was idle because the host had not
    /// launched the next event yet.
    Sync,
    /// Launch latency: the time from the launch of the event that ended the gap to the start of this event.
    Latency,
    /// The event that ended the gap had been launched before the gap began.
    Queue,
    /// Final wait: the time from the last event of the compared steps to the end of these steps.
    Tail,
    /// The cause is unknown, because the launch of the event that ended the gap is not in the trace.
    Unknown,
}

impl IdleKind {
    /// All kinds, in the order of tables.
    pub const ALL: [IdleKind; 6] = [
        IdleKind::Host,
        IdleKind::Sync,
        IdleKind::Latency,
        IdleKind::Queue,
        IdleKind::Tail,
        IdleKind::Unknown,
    ];

    /// The name in tables: `host`, `sync`, `latency`, `queue`, `tail`, `unknown`.
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

/// A piece of a gap, with a single kind and owner.
#[derive(Debug, Clone, Copy)]
pub(super) struct Idle {
    pub(super) kind: IdleKind,
    pub(super) part: Part,
    /// The innermost call or, between calls, the root of the thread; `None` if unknown.
    pub(super) owner: Option<CallId>,
    pub(super) gap: u32,
    pub(super) time: Nanos,
    /// The event that ran last before the gap.
    pub(super) before: Option<CallId>,
}
