//! Writes `merged_tree_output.txt`, which draws both trees as one, with one line per node.
//!
//! ```text
//! aten::_convolution
//! ├── combined: aten::miopen_convolution | aten::cudnn_convolution
//! │   ├── >> trace1: hipExtModuleLaunchKernel
//! │   └── << trace2: cudaMemsetAsync
//! └── aten::add_
//! ```

use super::folds;
use crate::analysis::Analysis;
use crate::diff::{MergedNode, MergedTree, Relation, TraceDiff};
use crate::escape::one_line;
use crate::side::{PerSide, Side};
use crate::trace::ByName;
use crate::tree::CallId;
use std::borrow::Cow;
use std::io::{self, Write};

/// Size of the output buffer in bytes.
const BUFFER: usize = 1 << 16;

/// Depth below which nodes are not indented further. Without this limit, line length would grow with the depth, and
/// file size with the square of the depth. The deepest recorded stacks, with Python frames, have about 100 calls.
const DEEPEST: usize = 128;

/// A remark that is appended to the first line whose indentation is limited. A separate line for the remark would
/// shift all later lines relative to their ids.
const NO_FURTHER: &str = "   (deeper calls are not indented further)";

/// Writes the tree. A tree with more than `most` nodes is shortened: each run of siblings with identical
/// subtrees, or of identical steps, is drawn once, and each line ends with the id of its node.
pub(in crate::report) fn write(
    analysis: &Analysis,
    most: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let diff = analysis.diff();
    let tree = diff.merged();
    let folds = (tree.len() > most).then(|| folds::folds(diff));
    // The runs that contain the current node, outermost first: for each run, the end of its first repeat and the end of
    // the whole run.
    let mut skips: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    let mut next = move |runs: [Option<folds::Run>; 2]| {
        skips.extend(runs.iter().flatten().map(|run| (run.first_end, run.end)));
        at += 1;
        while let Some((_, end)) = skips.pop_if(|&mut (from, _)| from == at) {
            at = end;
        }
        at
    };
    let last = last_siblings(tree);
    let mut names = Names::new(diff);
    // The tree-drawing characters before the name of a node; each ancestor contributes one section.
    let mut prefix = String::new();
    // For each depth, the length of the prefix up to that depth.
    let mut lengths: Vec<usize> = Vec::new();
    let mut lines = String::with_capacity(BUFFER + BUFFER / 4);
    let mut is_said = false;
    let mut id = tree.id(0);
    while let Some(this) = id {
        let node = tree.node(this);
        let runs = folds.as_ref().map_or([None; 2], |folds| folds.at(this.index()));
        id = tree.id(next(runs));
        let depth = tree.depth(this);
        let is_last = last[folds.as_ref().map_or(this.index(), |folds| folds.last(this.index()))];
        lengths.truncate(depth);
        prefix.truncate(lengths.last().copied().unwrap_or(0));
        if depth > 0 {
            lines.push_str(&prefix);
            lines.push_str(if is_last { "└── " } else { "├── " });
            if depth < DEEPEST {
                prefix.push_str(if is_last { "    " } else { "│   " });
            }
        }
        lengths.push(prefix.len());
        push_label(&mut names, node, &mut lines);
        push_region(diff, node, &mut lines);
        if begins_captured(diff, node) {
            lines.push_str(" (captured)");
        }
        let [step, equal] = runs;
        if let Some(run) = equal {
            lines.push_str(&format!(" × {}", run.count));
        }
        if let Some(run) = step {
            lines.push_str(&format!(" (step of {} calls × {})", run.siblings, run.count));
        }
        if folds.is_some() {
            lines.push_str(&format!(" [{}]", this.index()));
        }
        if depth > DEEPEST && !is_said {
            lines.push_str(NO_FURTHER);
            is_said = true;
        }
        lines.push('\n');
        if lines.len() >= BUFFER {
            out.write_all(lines.as_bytes())?;
            lines.clear();
        }
    }
    out.write_all(lines.as_bytes())
}

/// The names of calls, each on a single line.
struct Names<'d> {
    diff: &'d TraceDiff,
    /// For each name, whether it can be used unescaped. The results are cached, because there are few distinct names.
    is_plain: PerSide<ByName<bool>>,
}

impl<'d> Names<'d> {
    fn new(diff: &'d TraceDiff) -> Names<'d> {
        Names { diff, is_plain: PerSide::from_fn(|side| ByName::new(diff.tree(side).trace())) }
    }

    fn of(&mut self, side: Side, call: CallId) -> Cow<'d, str> {
        let tree = self.diff.tree(side);
        let Some(event) = tree.event(call) else { return one_line(tree.name(call)) };
        let name = tree.trace().name(event);
        let is_plain = || matches!(one_line(name), Cow::Borrowed(_));
        if self.is_plain[side].get(tree.trace().name_id(event), is_plain) {
            Cow::Borrowed(name)
        } else {
            one_line(name)
        }
    }
}

fn push_label(names: &mut Names<'_>, node: MergedNode, line: &mut String) {
    let diff = names.diff;
    let mut two = |what: &str, a, b| {
        let (a, b) = (names.of(Side::Baseline, a), names.of(Side::Candidate, b));
        line.extend([what, ": ", &a, " | ", &b]);
    };
    match node {
        MergedNode::Both(a, b) => match diff.relation(Side::Baseline, a) {
            Relation::Renamed => two("combined", a, b),
            Relation::Same | Relation::Moved if diff.is_aliased(a, b) => two("aliased", a, b),
            Relation::Same
            | Relation::Moved
            | Relation::Replaced
            | Relation::OnlyBaseline
            | Relation::OnlyCandidate => line.push_str(&names.of(Side::Baseline, a)),
        },
        MergedNode::Only(Side::Baseline, call) => {
            line.extend([">> trace1: ", &names.of(Side::Baseline, call)]);
        }
        MergedNode::Only(Side::Candidate, call) => {
            line.extend(["<< trace2: ", &names.of(Side::Candidate, call)]);
        }
    }
}

/// Appends ` (replaces 214 calls)` to a region. To each replaced call, appends
/// ` (replaced by 1817)`, where the number is the region's id.
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

/// Whether the node is a captured call whose parent is not captured. All calls below a captured
/// call were captured too.
fn begins_captured(diff: &TraceDiff, node: MergedNode) -> bool {
    Side::BOTH.iter().any(|&side| {
        let tree = diff.tree(side);
        node.call(side).is_some_and(|call| {
            tree.is_captured(call)
                && tree.parent(call).is_some_and(|above| !tree.is_captured(above))
        })
    })
}

/// For each node, whether the node is the last of its siblings.
fn last_siblings(tree: &MergedTree) -> Vec<bool> {
    let mut last = vec![false; tree.len()];
    // For each depth, whether a later sibling has already been visited. Nodes are visited in reverse preorder.
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
