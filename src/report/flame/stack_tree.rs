//! Sums attributed time by host stack. If several nodes of the merged tree have the same stack, their times are added
//! up.
//!
//! ```text
//! merged tree   step  step            stack tree   step 2+5
//!               └─ mm 2  └─ mm 5                   └─ mm 2+5
//! ```

use crate::analysis::Analysis;
use crate::report::nodes::{own_time, times_below};
use crate::report::text::{node_name, one_line};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use indextree::{Arena, NodeEdge, NodeId};
use std::collections::BTreeMap;

/// Below this depth, nested calls are drawn as siblings. Without this limit, the total length of all stacks could grow
/// with the square of the depth. Flattening the stacks in this way does not change any times.
const DEEPEST: usize = 256;

/// A stack, represented by its innermost call.
struct Frame {
    name: String,
    /// Time attributed to the innermost call itself, without the calls below it.
    own: PerSide<Nanos>,
}

/// The stacks of a comparison, as a tree. Each node represents the stack from the root down to that node.
pub(super) struct StackTree {
    frames: Arena<Frame>,
    roots: Vec<NodeId>,
}

impl StackTree {
    pub(super) fn new(analysis: &Analysis) -> StackTree {
        let (times, merged) = (times_below(analysis), analysis.diff().merged());
        let mut tree = StackTree { frames: Arena::new(), roots: Vec::new() };
        let mut known: BTreeMap<(Option<NodeId>, String), NodeId> = BTreeMap::new();
        // The frames for the ancestors of the current node.
        let mut above: Vec<Option<NodeId>> = Vec::new();
        for (id, node) in merged.nodes() {
            above.truncate(merged.depth(id));
            let parent = above[..above.len().min(DEEPEST)].last().copied().flatten();
            if Side::BOTH.iter().all(|&side| times[side][id.index()] == Nanos::ZERO) {
                above.push(parent);
                continue;
            }
            // In the folded format, each stack is one line, and names must not contain `;`.
            let name = one_line(&node_name(analysis, node)).replace(';', ",");
            let frame =
                *known.entry((parent, name.clone())).or_insert_with(|| tree.add(parent, name));
            let own = &mut tree.frames[frame].get_mut().own;
            *own = PerSide::from_fn(|side| own[side] + own_time(analysis, side, node));
            above.push(Some(frame));
        }
        tree
    }

    fn add(&mut self, parent: Option<NodeId>, name: String) -> NodeId {
        let frame = self.frames.new_node(Frame { name, own: PerSide::default() });
        match parent {
            Some(parent) => parent.append(frame, &mut self.frames),
            None => self.roots.push(frame),
        }
        frame
    }

    /// Writes one line for each stack whose innermost call has time of its own, in the order of the merged tree. Each
    /// line contains the stack's calls separated by `;`, then the baseline time and the candidate time in ns.
    pub(super) fn folded_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        // The stack of the current node as a string, and the length of the string up to each ancestor.
        let (mut stack, mut ends) = (String::new(), Vec::new());
        for edge in self.roots.iter().flat_map(|root| root.traverse(&self.frames)) {
            let frame = match edge {
                NodeEdge::Start(node) => self.frames[node].get(),
                NodeEdge::End(_) => {
                    stack.truncate(ends.pop().unwrap_or_default());
                    continue;
                }
            };
            ends.push(stack.len());
            if !stack.is_empty() {
                stack.push(';');
            }
            stack.push_str(&frame.name);
            if frame.own != PerSide::default() {
                let PerSide { baseline, candidate } = frame.own;
                lines.push(format!("{stack} {} {}", baseline.0, candidate.0));
            }
        }
        lines
    }
}
