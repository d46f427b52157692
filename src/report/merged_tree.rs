//! `merged_tree_output.txt`: both trees in one drawing, a line for each node.
//!
//! ```text
//! aten::_convolution
//! ├── combined: aten::miopen_convolution | aten::cudnn_convolution
//! │   ├── >> trace1: hipExtModuleLaunchKernel
//! │   └── << trace2: cudaMemsetAsync
//! └── aten::add_
//! ```

use crate::analysis::Analysis;
use crate::diff::{MergedNode, MergedTree, Relation, TraceDiff};
use crate::side::Side;
use std::borrow::Cow;
use std::io::{self, Write};

pub(super) fn write(analysis: &Analysis<'_>, out: &mut dyn Write) -> io::Result<()> {
    let diff = analysis.diff();
    let last = last_siblings(diff.merged());
    // For each node above the current one: the piece of the drawing that leads past it.
    let mut prefix: Vec<&str> = Vec::new();
    for (id, node) in diff.merged().nodes() {
        let depth = diff.merged().depth(id);
        prefix.truncate(depth);
        for piece in prefix.iter().skip(1) {
            out.write_all(piece.as_bytes())?;
        }
        if depth > 0 {
            out.write_all(if last[id.index()] { "└── " } else { "├── " }.as_bytes())?;
        }
        write_label(diff, node, out)?;
        out.write_all(b"\n")?;
        prefix.push(if last[id.index()] { "    " } else { "│   " });
    }
    Ok(())
}

fn write_label(diff: &TraceDiff<'_>, node: MergedNode, out: &mut dyn Write) -> io::Result<()> {
    let name = |side: Side, call| one_line(diff.tree(side).name(call));
    match node {
        MergedNode::Both(a, b) => match diff.relation(Side::Baseline, a) {
            Relation::Renamed => {
                let (a, b) = (name(Side::Baseline, a), name(Side::Candidate, b));
                write!(out, "combined: {a} | {b}")
            }
            Relation::Same | Relation::Moved if diff.is_aliased(a, b) => {
                let (a, b) = (name(Side::Baseline, a), name(Side::Candidate, b));
                write!(out, "aliased: {a} | {b}")
            }
            Relation::Same | Relation::Moved | Relation::OnlyBaseline | Relation::OnlyCandidate => {
                out.write_all(name(Side::Baseline, a).as_bytes())
            }
        },
        MergedNode::Only(Side::Baseline, call) => {
            write!(out, ">> trace1: {}", name(Side::Baseline, call))
        }
        MergedNode::Only(Side::Candidate, call) => {
            write!(out, "<< trace2: {}", name(Side::Candidate, call))
        }
    }
}

/// Control characters in a name would break the drawing, or the terminal that shows it.
fn one_line(name: &str) -> Cow<'_, str> {
    match name.contains(char::is_control) {
        true => Cow::Owned(
            name.chars()
                .flat_map(|c| {
                    let shown: Vec<char> =
                        if c.is_control() { c.escape_default().collect() } else { vec![c] };
                    shown
                })
                .collect(),
        ),
        false => Cow::Borrowed(name),
    }
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
