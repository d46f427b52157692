//! Adds notes that report which captures were found and used, and which graph launches have no
//! matching capture.

use super::graphs::Capture;
use crate::program::counted;
use crate::trace::Notes;
use crate::tree::Replay;
use std::sync::Arc;

/// Adds notes about irregularities in one capture trace.
pub(super) fn reading(capture: &Capture, notes: &mut Notes) {
    let source = capture.trace().source();
    let has_none = capture.graphs.is_empty();
    notes.add(
        "CAPTURE_WITHOUT_GRAPH",
        has_none.into(),
        "profile while the graph is captured; see docs/guides/graphs.md",
        || format!("{source}: no graph is captured in this trace (there is no StreamBeginCapture)"),
    );
    let cut = capture.graphs.iter().filter(|graph| !graph.is_whole).count();
    notes.add("CAPTURE_CUT_OFF", cut as u64, "record the capture to its end", || {
        format!(
            "{source}: {cut} of {} captured graphs have no StreamEndCapture",
            capture.graphs.len()
        )
    });
    let empty = capture.graphs.iter().filter(|graph| graph.launches.is_empty()).count();
    notes.add(
        "CAPTURE_WITHOUT_LAUNCHES",
        empty as u64,
        "also record the CUDA/HIP runtime calls",
        || {
            format!(
                "{source}: {empty} of {} captured graphs contain no launch",
                capture.graphs.len()
            )
        },
    );
}

/// Adds a note about replays whose captured calls were omitted. With these calls, the tree would
/// have too many events.
pub(super) fn room(left_out: usize, notes: &mut Notes) {
    notes.add("CAPTURE_TOO_LARGE", left_out as u64, "compare fewer steps", || {
        format!(
            "{left_out} × replay without captured calls, because the tree would otherwise exceed 2^32 events"
        )
    });
}

/// Adds notes about the graph launches: what their kernels are attributed to, and which launches
/// have no matching capture.
pub(super) fn replays(replays: &[Replay], captures: &[Arc<Capture>], notes: &mut Notes) {
    let sum = |of: fn(&Replay) -> usize| replays.iter().map(of).sum::<usize>();
    let launches = counted(replays.len() as u64, "graph launch");
    let named = replays.iter().filter(|replay| replay.named > 0).count();
    notes.add("CAPTURE_ANNOTATED", named as u64, "pass --no-captures to ignore them", || {
        format!(
            "{} of {} kernels of {} are attributed to the program parts named in the kernels",
            sum(|replay| replay.named),
            sum(|replay| replay.kernels),
            launches,
        )
    });
    if captures.is_empty() {
        return;
    }
    let fitting = replays.iter().filter(|replay| replay.graph.is_some());
    notes.add("CAPTURE_READ", fitting.clone().count() as u64, "", || {
        format!(
            "{} of {} kernels of {} are attributed to the ops that launched them, based on {}",
            sum(|replay| replay.placed),
            sum(|replay| replay.kernels),
            launches,
            sources(replays),
        )
    });
    let no_replay = replays.is_empty();
    notes.add("CAPTURE_UNUSED", no_replay.into(), "", || {
        "captures were passed, but the trace launches no graph with GPU work".to_owned()
    });
    let misfits: Vec<&Replay> = replays.iter().filter(|replay| replay.graph.is_none()).collect();
    let hint = "pass the capture trace of this model and batch size (see docs/guides/graphs.md)";
    notes.add("CAPTURE_MISFIT", misfits.len() as u64, hint, || {
        let first = misfits[0];
        let why = match &first.misfit {
            Some((graph, why)) => format!("the nearest is {graph}: {why}"),
            None => "no graph was captured".to_owned(),
        };
        let (count, all, uid) = (misfits.len(), replays.len(), first.launch.0);
        let kernels = first.kernels;
        format!(
            "{count} of {all} graph launches have no matching capture, so their kernels are \
             attributed to the launch; for the launch at uid {uid} (kernels: {kernels}), {why}"
        )
    });
    let missed: usize = fitting.clone().map(|replay| replay.kernels - replay.placed).sum();
    notes.add("CAPTURE_INCOMPLETE", missed as u64, "", || {
        let kernels = counted(missed as u64, "kernel");
        format!(
            "no captured launch matches {kernels} in replayed graphs; such kernels are attributed to \
             the graph launch"
        )
    });
    let by_order = fitting.filter(|replay| replay.equals > 0);
    notes.add("CAPTURE_BY_ORDER", by_order.count() as u64, "", || {
        "several captured graphs match these launches equally well; graphs are chosen in the order \
         of their capture"
            .to_owned()
    });
}

/// The capture files that contain the captured calls.
fn sources(replays: &[Replay]) -> String {
    let mut sources: Vec<&str> =
        replays.iter().filter_map(|r| Some(r.graph.as_ref()?.source.as_str())).collect();
    sources.sort_unstable();
    sources.dedup();
    match sources.as_slice() {
        [one, two, more @ ..] if !more.is_empty() => {
            format!("{one}, {two} and {} more", more.len())
        }
        few => few.join(" and "),
    }
}
