//! A captured call: where it comes from, and its position below its graph launch.

use super::ids::Uid;

/// Where the knowledge of a captured call comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CapturedAs {
    /// It was recorded while the graph was captured.
    Call,
    /// It is a part of the program: kernels of the replay carry its name, because they were
    /// captured in it.
    Part,
}

/// Where a captured call comes from, and its position below its graph launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedCall {
    /// Whether the call itself was recorded or kernels of the replay only name it.
    pub known: CapturedAs,
    /// The graph launch above the call, as a position in the trace's own `traceEvents`.
    pub launch: Uid,
    /// Position in the `traceEvents` of the capture; for a part, its position below the launch.
    pub uid: Uid,
    /// Index of the capture in [`Trace::capture_sources`](super::Trace::capture_sources).
    pub(crate) source: u32,
    /// Position below the launch, in preorder.
    pub(crate) position: u32,
    /// Number of captured calls above this one.
    pub(crate) depth: u32,
}
