//! Describes the origin of each captured call and its position below its graph launch.

use super::ids::Uid;

/// The evidence that a captured call exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum CapturedAs {
    /// The call was recorded while the graph was captured.
    Call,
    /// The call is a program part. The kernels in the replay record the part's name, because they
    /// were captured inside that part.
    Part,
}

/// The origin of a captured call and its position below its graph launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct CapturedCall {
    /// Whether the call was recorded during the capture, or is known only from a name in the
    /// replay's kernels.
    pub known: CapturedAs,
    /// The graph launch above the call, as a position in the trace's own `traceEvents`.
    pub launch: Uid,
    /// Position of the call in the capture's `traceEvents`; for a program part, its position below
    /// the launch.
    pub uid: Uid,
    /// Index of the capture in [`Trace::capture_sources`](super::Trace::capture_sources).
    pub(crate) source: u32,
    /// Position of the call below the launch, in preorder.
    pub(crate) position: u32,
    /// Number of captured ancestors of the call.
    pub(crate) depth: u32,
}
