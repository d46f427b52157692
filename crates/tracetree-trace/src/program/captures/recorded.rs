//! The traces that were recorded while graphs were captured.

use crate::trace::Notes;
use crate::tree::Capture;
use std::sync::Arc;

/// Traces that were recorded while graphs were captured.
///
/// ```no_run
/// use tracetree::program::Captures;
/// use tracetree::tree::TreeOptions;
/// use tracetree::{CallTree, Trace};
///
/// let captures = Captures::of([Trace::open("capture_traces/bs_32.json.gz")?]);
/// let tree = CallTree::build(Trace::open("decode.json.gz")?);
/// let tree = captures.add_to(&tree, TreeOptions::default());
/// for replay in tree.replays() {
///     println!("{} of {} kernels below their ops", replay.placed, replay.kernels);
/// }
/// # Ok::<(), tracetree::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Captures {
    pub(super) captures: Vec<Arc<Capture>>,
    /// For each capture file, the batch size at which it was recorded, if a source outside the
    /// trace states this size.
    pub(super) hints: Vec<Option<u64>>,
    /// Whether graph launches are left unchanged. If so, program parts that the replayed kernels
    /// name are not added either.
    pub(super) leaves_graphs: bool,
    pub(super) notes: Notes,
}

/// Id of a captured graph: the index of the capture trace, and the index of the graph in that
/// trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct GraphId {
    pub(super) capture: u32,
    pub(super) graph: u32,
}
