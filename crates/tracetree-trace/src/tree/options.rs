//! Defines the user options for building a call tree.

/// Whether Python frames become calls of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Frames {
    /// If the trace contains frames, they become calls.
    #[default]
    Kept,
    /// Frames are never calls. Without frames, the parent of an op is an op or a thread, and module
    /// calls are unknown. Like annotations, frame events are kept in the trace but are not part of
    /// the tree.
    LeftOut,
}

/// Options that control how a tree is built from a trace.
///
/// ```
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).expect("a folder");
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
    /// Whether Python frames become calls.
    pub frames: Frames,
}

impl TreeOptions {
    /// Sets whether Python frames become calls.
    #[must_use]
    pub fn frames(mut self, frames: Frames) -> Self {
        self.frames = frames;
        self
    }
}
