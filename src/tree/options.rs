//! What a user may choose about a call tree.

/// Whether Python frames are calls of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Frames {
    /// Wherever the trace has them.
    #[default]
    Kept,
    /// Never: ops nest in ops and threads alone, and no module is known. The events stay in the
    /// trace; like annotations they are no part of the tree.
    LeftOut,
}

/// How a trace becomes a tree.
///
/// ```
/// use tracetree::tree::{CallKind, Frames, TreeOptions};
/// use tracetree::{CallTree, Trace};
///
/// let trace = Trace::open("examples/traces/resnet.rocm.json.gz")?;
/// let options = TreeOptions::default().frames(Frames::LeftOut);
/// let tree = CallTree::with_options(trace, options);
/// assert!(tree.calls().all(|call| tree.kind(call) != CallKind::Frame));
/// # Ok::<(), tracetree::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TreeOptions {
    /// Whether Python frames are calls.
    pub frames: Frames,
}

impl TreeOptions {
    /// With or without Python frames.
    #[must_use]
    pub fn frames(mut self, frames: Frames) -> Self {
        self.frames = frames;
        self
    }
}
