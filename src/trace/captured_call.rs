//! Describes captured calls: where each comes from, and its position below its graph launch.

use super::ids::Uid;

/// How a captured call became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CapturedAs {
    /// The call was recorded while the graph was captured.
    Call,
    /// The call is a part of the program: kernels of the replay carry its name, because they were
    /// captured in it.
    Part,
}

/// Where a captured call comes from, and its position below its graph launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedCall {
    /// Whether the call itself was recorded or is only named by kernels of the replay.
    pub known: CapturedAs,
    /// The graph launch above the call, as a position in the trace's own `traceEvents`.
    pub launch: Uid,
    /// Position in the capture's `traceEvents`. For a program part, position below the launch.
    pub uid: Uid,
    /// Index of the capture in [`Trace::capture_sources`](super::Trace::capture_sources).
    pub(crate) source: u32,
    /// Position of the call below the launch, in preorder.
    pub(crate) position: u32,
    /// Number of captured ancestors of the call.
    pub(crate) depth: u32,
}
