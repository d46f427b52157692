//! The reasons why a trace cannot be replayed, or why a replay is not trusted.

use crate::signed::signed;
use std::fmt;

/// Why effects cannot be computed by replay.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[doc(hidden)]
pub enum Reason {
    /// Some GPU events have no stream.
    Streams,
    /// One process runs work on several devices.
    Devices,
    /// Several threads launch work at the same time, or have their own steps.
    Threads,
    /// Some GPU events start before their launch.
    Clocks,
    /// The launch of most GPU work is not in the trace, so it is unknown how this work depends on the host.
    Launches,
    /// The recording is truncated or damaged.
    Damaged,
    /// The traces do not record the same work.
    NotComparable,
    /// The replay of the whole recording, or of one of its steps, differs from the recording by the
    /// given share.
    NotReproduced(f64),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Streams => f.write_str("some GPU events have no stream"),
            Reason::Devices => f.write_str("the process runs work on several devices"),
            Reason::Threads => {
                f.write_str("several threads launch work or have steps at the same time")
            }
            Reason::Clocks => {
                f.write_str("GPU work starts before its launch: the host and GPU clocks differ")
            }
            Reason::Launches => f.write_str("most of the GPU work has no launch in the trace"),
            Reason::Damaged => f.write_str("the recording is incomplete"),
            Reason::NotComparable => f.write_str("the traces do not record the same work"),
            Reason::NotReproduced(share) => {
                let percent = signed(100.0 * share, 1);
                write!(f, "the replay differs from the recording by {percent}%")
            }
        }
    }
}
