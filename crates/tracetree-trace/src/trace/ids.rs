//! Defines ids within a trace: events, threads, argument records.

/// Position of an event in `traceEvents`, counting from 0 and including metadata events. TraceLens
/// calls this position the UID of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Uid(pub u32);

/// Id of a kept event in one trace. Ids are consecutive numbers from 0, in file order. Ids from
/// different traces cannot be compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(pub(crate) u32);

impl EventId {
    /// Position of the event among the kept events of its trace.
    #[doc(hidden)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Id of a (pid, tid) pair in one trace. Ids are consecutive numbers from 0, in order of first
/// appearance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub(crate) u32);

impl ThreadId {
    /// Position in [`Trace::threads`](crate::Trace::threads).
    #[doc(hidden)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Id of a distinct argument record in one trace. Ids are consecutive numbers from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub struct ArgumentsId(pub(crate) u32);

impl ArgumentsId {
    /// Position of the record among the argument records of its trace.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
