//! `merged_tree_output.txt`: both trees in one drawing, a line for each node.
//!
//! ```text
//! aten::_convolution
//! ├── combined: aten::miopen_convolution | aten::cudnn_convolution
//! │   ├── >> trace1: hipExtModuleLaunchKernel
//! │   └── << trace2: cudaMemsetAsync
//! └── aten::add_
//! ```

use super::figures::one_line;
use crate::analysis::Analysis;
use crate::diff::{MergedNode, MergedTree, Relation, TraceDiff};
use crate::side::Side;
use std::io::{self, Write};

/// Deeper nodes are indented no further: lines would grow with the depth, and the file with its
/// square. The deepest stacks of real traces, with Python frames, have some 100 calls.
const DEEPEST: usize = 128;

/// What the first of such lines says; a line more would move the lines from their ids.
const NO_FURTHER: &str = "   (what is deeper stands in this column as well)";

pub(in crate::report) fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let diff = analysis.diff();
    let last = last_siblings(diff.merged());
    // What stands before the name of a node: a piece for each node above it.
    let mut prefix = String::new();
    // For each depth, how much of the prefix leads to it.
    let mut lengths: Vec<usize> = Vec::new();
    let mut line = String::new();
    let mut is_said = false;
    for (id, node) in diff.merged().nodes() {
        let depth = diff.merged().depth(id);
        let is_last = last[id.index()];
        line.clear();
        lengths.truncate(depth);
        prefix.truncate(lengths.last().copied().unwrap_or(0));
        if depth > 0 {
            line.push_str(&prefix);
            line.push_str(if is_last { "└── " } else { "├── " });
            if depth < DEEPEST {
                prefix.push_str(if is_last { "    " } else { "│   " });
            }
        }
        lengths.push(prefix.len());
        push_label(diff, node, &mut line);
        push_region(diff, node, &mut line);
        if begins_captured(diff, node) {
            line.push_str(" (captured)");
        }
        if depth > DEEPEST && !is_said {
            line.push_str(NO_FURTHER);
            is_said = true;
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

fn push_label(diff: &TraceDiff, node: MergedNode, line: &mut String) {
    let name = |side: Side, call| one_line(diff.tree(side).name(call));
    let mut push = |parts: &[&str]| line.extend(parts.iter().copied());
    match node {
        MergedNode::Both(a, b) => match diff.relation(Side::Baseline, a) {
            Relation::Renamed => {
                push(&["combined: ", &name(Side::Baseline, a), " | ", &name(Side::Candidate, b)]);
            }
            Relation::Same | Relation::Moved if diff.is_aliased(a, b) => {
                push(&["aliased: ", &name(Side::Baseline, a), " | ", &name(Side::Candidate, b)]);
            }
            Relation::Same
            | Relation::Moved
            | Relation::Replaced
            | Relation::OnlyBaseline
            | Relation::OnlyCandidate => {
                push(&[&name(Side::Baseline, a)]);
            }
        },
        MergedNode::Only(Side::Baseline, call) => {
            push(&[">> trace1: ", &name(Side::Baseline, call)]);
        }
        MergedNode::Only(Side::Candidate, call) => {
            push(&["<< trace2: ", &name(Side::Candidate, call)]);
        }
    }
}

/// ` (replaces 214 calls)` at a region, and ` (replaced by 1817)`, which is its id, at each of them.
fn push_region(diff: &TraceDiff, node: MergedNode, line: &mut String) {
    let MergedNode::Only(side, call) = node else { return };
    let Some(at) = diff.region_of(side, call) else { return };
    let region = &diff.regions()[at];
    if region.side != side && region.replaced.binary_search(&call).is_ok() {
        line.push_str(&format!(" (replaced by {})", diff.region_node(region).index()));
    } else if region.side == side && region.call == call {
        let count = region.replaced.len();
        let calls = if count == 1 { "call" } else { "calls" };
        line.push_str(&format!(" (replaces {count} {calls})"));
    }
}

/// Whether the node is the first captured call on the way down: all below it was captured, too.
fn begins_captured(diff: &TraceDiff, node: MergedNode) -> bool {
    Side::BOTH.iter().any(|&side| {
        let tree = diff.tree(side);
        node.call(side).is_some_and(|call| {
            tree.is_captured(call)
                && tree.parent(call).is_some_and(|above| !tree.is_captured(above))
        })
    })
}

/// For each node, whether no sibling follows it.
fn last_siblings(tree: &MergedTree) -> Vec<bool> {
    let mut last = vec![false; tree.len()];
    // For each depth, whether a sibling has been seen behind; from the end of preorder.
    let mut behind: Vec<bool> = Vec::new();
    for id in tree.ids().rev() {
        let depth = tree.depth(id);
        behind.resize(behind.len().max(depth + 2), false);
        last[id.index()] = !behind[depth];
        behind[depth] = true;
        behind[depth + 1] = false;
    }
    last
}
