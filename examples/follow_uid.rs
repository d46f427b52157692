//! Finds an event's counterpart in the other trace, and prints both call stacks.
//!
//! ```text
//! cargo run --example follow_uid [-- BASELINE CANDIDATE UID]
//! ```
//! A UID is the position of an event in the baseline's `traceEvents`, counted from 0. The columns `uid1` in
//! `diff_stats.csv` and `gpu_op_uid` in `diff_stats_kernels.csv` contain UIDs. Without arguments, the example follows
//! the longest matched kernel in the ResNet pair in `examples/traces`.

use std::error::Error;
use std::io::Write;
use tracetree::diff::TraceDiff;
use tracetree::trace::{Category, Uid};
use tracetree::tree::{CallId, CallTree};
use tracetree::{Comparison, ComparisonOptions, Side};

const BASELINE: &str = "examples/traces/resnet.rocm.json.gz";
const CANDIDATE: &str = "examples/traces/resnet.cuda.json.gz";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let baseline = arguments.next().unwrap_or_else(|| BASELINE.to_owned());
    let candidate = arguments.next().unwrap_or_else(|| CANDIDATE.to_owned());
    let wanted = arguments.next().map(|text| text.parse().map(Uid)).transpose()?;

    let options = ComparisonOptions::default();
    let comparison = Comparison::open(baseline.as_str(), candidate.as_str(), &options)?;
    let (diff, trees) = (comparison.diff(), comparison.diff().trees());
    let call = match wanted {
        Some(uid) => call_at(trees.baseline, uid)
            .ok_or("the event is neither a host call nor a GPU event")?,
        None => longest_kernel(diff).ok_or("no baseline kernel has a counterpart")?,
    };

    let mut out = std::io::stdout().lock();
    stack(trees.baseline, call, &mut out)?;
    writeln!(out, "\n{}:", diff.relation(Side::Baseline, call).label())?;
    match diff.counterpart(Side::Baseline, call) {
        Some(counterpart) => stack(trees.candidate, counterpart, &mut out)?,
        None => {
            let common = diff.lowest_common(Side::Baseline, call);
            let name = common.map_or("nothing", |above| trees.baseline.name(above));
            writeln!(out, "no counterpart; the lowest common node above it is {name}")?;
        }
    }
    Ok(())
}

fn call_at(tree: &CallTree, uid: Uid) -> Option<CallId> {
    tree.call_of(tree.trace().event_at(uid)?)
}

/// The longest baseline kernel that has a counterpart.
fn longest_kernel(diff: &TraceDiff) -> Option<CallId> {
    let tree = diff.tree(Side::Baseline);
    let category = |call: CallId| tree.event(call).map(|event| tree.trace().category(event));
    tree.calls()
        .filter(|&call| category(call) == Some(Category::Kernel))
        .filter(|&call| diff.counterpart(Side::Baseline, call).is_some())
        .max_by_key(|&call| (tree.duration(call), std::cmp::Reverse(call)))
}

/// Prints a call and all its ancestors, outermost first.
fn stack(tree: &CallTree, call: CallId, out: &mut impl Write) -> std::io::Result<()> {
    let mut stack: Vec<CallId> = tree.ancestors(call).collect();
    stack.reverse();
    stack.push(call);
    writeln!(out, "{}", tree.trace().source())?;
    for (depth, &above) in stack.iter().enumerate() {
        let uid = tree.event(above).map(|event| tree.trace().uid(event).0);
        let place =
            uid.map_or_else(String::new, |uid| format!("  [{uid}] {} us", tree.duration(above)));
        writeln!(out, "{:depth$}{}{place}", "", tree.name(above))?;
    }
    Ok(())
}
