//! Writes `folded.txt` and `flamegraph.svg`: attributed time by host stack, for both sides.
//!
//! Each line in the folded file is a stack with `;` between its calls, followed by the baseline time and the candidate
//! time in ns. `flamegraph.pl`, inferno and speedscope read this format as a differential profile. If several nodes of the
//! merged tree have the same stack, their times are added up.
//!
//! ```text
//! merged tree   step  step            stack tree   step 2+5
//!               └─ mm 2  └─ mm 5                   └─ mm 2+5
//! ```

use crate::analysis::Analysis;
use crate::report::nodes::{own_time, times_below};
use crate::report::text::{node_name, one_line, sentence};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use indextree::{Arena, NodeEdge, NodeId};
use inferno::flamegraph::{self, Options};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Minimum width of a drawn frame, in percent of the image width.
const LEAST_WIDTH: f64 = 0.05;

pub(super) fn write_folded(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    for line in StackTree::new(analysis).folded_lines() {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Writes the differential flame graph. The width of each frame represents the frame's time in the candidate.
pub(super) fn write_svg(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let mut options = Options::default();
    "tracetree: red frames take more time in the candidate, blue frames less"
        .clone_into(&mut options.title);
    options.subtitle = Some(one_line(&sentence(analysis)).into_owned());
    "ns".clone_into(&mut options.count_name);
    options.min_width = LEAST_WIDTH;
    options.deterministic = true;
    let lines = StackTree::new(analysis).folded_lines();
    let drawable = lines.iter().any(|line| !line.ends_with(" 0"));
    if !drawable {
        return out.write_all(NOTHING.as_bytes());
    }
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), out)
        .map_err(io::Error::other)
}

/// The image that is written if the candidate has no attributed time.
const NOTHING: &str = "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" \
    width=\"600\" height=\"60\"><text x=\"10\" y=\"35\" font-family=\"sans-serif\">trace2 has no \
    attributed time</text></svg>\n";

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
struct StackTree {
    frames: Arena<Frame>,
    roots: Vec<NodeId>,
}

impl StackTree {
    fn new(analysis: &Analysis) -> StackTree {
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
    fn folded_lines(&self) -> Vec<String> {
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
