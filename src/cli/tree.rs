//! `tracetree tree TRACE`: the call tree of one trace as text, or its links as a graph.

use super::Outcome;
use super::output::Console;
use clap::Args;
use std::io::{self, Write};
use std::path::PathBuf;
use tracetree::Result;
use tracetree::trace::Trace;
use tracetree::tree::{CallId, CallKind, CallTree};

#[derive(Args)]
pub(super) struct TreeArgs {
    /// The trace.
    trace: PathBuf,
    /// Levels to show.
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// Show only calls with GPU work below.
    #[arg(long)]
    gpu: bool,
    /// Print the links (launches, forward to backward, flows) as a Graphviz graph instead.
    #[arg(long)]
    dot: bool,
}

pub(super) fn run(args: &TreeArgs, console: &mut Console) -> Result<Outcome> {
    let trace = Trace::read_with(&args.trace, console.reading())?;
    let tree = CallTree::build(&trace);
    console.print(|out| match args.dot {
        true => out.write_all(tree.links().to_dot().as_bytes()),
        false => print_tree(&tree, args, out),
    })?;
    Ok(Outcome::Done)
}

fn print_tree(tree: &CallTree<'_>, args: &TreeArgs, out: &mut dyn Write) -> io::Result<()> {
    let deepest = args.depth.unwrap_or(usize::MAX);
    let mut stack: Vec<(CallId, usize)> = tree.roots().map(|root| (root, 0)).collect();
    stack.reverse();
    while let Some((call, depth)) = stack.pop() {
        if depth >= deepest || (args.gpu && !tree.is_gpu_path(call)) {
            continue;
        }
        print_call(tree, call, depth, out)?;
        let below: Vec<CallId> = tree.children(call).collect();
        stack.extend(below.into_iter().rev().map(|child| (child, depth + 1)));
    }
    Ok(())
}

fn print_call(
    tree: &CallTree<'_>,
    call: CallId,
    depth: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let name: String = tree.name(call).chars().filter(|c| !c.is_control()).collect();
    write!(out, "{:indent$}{name}", "", indent = 2 * depth)?;
    if let Some(event) = tree.event(call) {
        write!(out, "  [{}] {} us", tree.trace().uid(event).0, tree.duration(call))?;
    }
    let gpu_events = tree.gpu_events(call);
    if gpu_events > 0 && tree.kind(call) != CallKind::Gpu {
        write!(out, ", {gpu_events} GPU events")?;
    }
    writeln!(out)
}
