//! Prints the call tree of a trace, with the times of each call and the GPU work that the call launched.
//!
//! ```text
//! cargo run --example print_tree [-- TRACE [LINES]]
//! ```
//! The example prints the first LINES (default 60) calls on the GPU path. Without arguments, the example uses a trace
//! in `examples/traces`.

use std::error::Error;
use std::io::Write;
use tracetree::program::Steps;
use tracetree::trace::Trace;
use tracetree::tree::{CallId, CallKind, CallTree};

const TRACE: &str = "examples/traces/resnet.rocm.json.gz";
const LINES: usize = 60;
/// Maximum length of a printed name. Kernel names can be thousands of characters long.
const WIDTH: usize = 60;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let trace = Trace::open(arguments.next().unwrap_or_else(|| TRACE.to_owned()))?;
    let lines = arguments.next().map_or(Ok(LINES), |text| text.parse())?;
    let tree = CallTree::build(trace.clone());

    let mut out = std::io::stdout().lock();
    writeln!(out, "{} (calls: {}, steps: {})", trace.source(), tree.len(), Steps::of(&tree).len())?;
    for note in trace.notes().iter().chain(tree.notes()) {
        writeln!(out, "{}: {}", note.code, note.message)?;
    }
    // Call ids are in preorder, so iterating over the ids visits the tree in preorder.
    for call in tree.calls().filter(|&call| tree.is_gpu_path(call)).take(lines) {
        writeln!(
            out,
            "{:indent$}{}",
            "",
            line(&tree, call),
            indent = tree.ancestors(call).count()
        )?;
    }
    Ok(())
}

fn line(tree: &CallTree, call: CallId) -> String {
    let name: String = tree.name(call).chars().take(WIDTH).collect();
    match tree.kind(call) {
        CallKind::Thread | CallKind::Unlinked => {
            format!("{name}  GPU events: {}", tree.gpu_events(call))
        }
        CallKind::Frame | CallKind::Op | CallKind::Runtime => {
            format!("{name}  {} us on the host", tree.duration(call))
        }
        CallKind::Gpu => format!("{name}  {} us on the GPU", tree.duration(call)),
    }
}
