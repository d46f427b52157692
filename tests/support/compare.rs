//! Two traces → their analysis, lent to a closure: it borrows from trees that borrow from traces.

use tracetree::analysis::{Analysis, AnalysisOptions};
use tracetree::diff::TraceDiff;
use tracetree::trace::{ReadOptions, Trace};
use tracetree::tree::CallTree;
use tracetree::{PerSide, Result};

/// Compares two traces given as JSON text.
///
/// # Panics
/// If one of them is no trace.
pub fn compare_json<T>(
    baseline: &str,
    candidate: &str,
    options: AnalysisOptions,
    look: impl FnOnce(&Analysis<'_>) -> T,
) -> T {
    let read =
        |name, text: &str| Trace::from_reader(name, text.as_bytes(), &ReadOptions::default());
    let traces = PerSide::new(read("baseline", baseline), read("candidate", candidate));
    compare(&traces.map(|trace: Result<Trace>| trace.expect("a trace")), options, look)
}

/// Compares two traces.
pub fn compare<T>(
    traces: &PerSide<Trace>,
    options: AnalysisOptions,
    look: impl FnOnce(&Analysis<'_>) -> T,
) -> T {
    let trees = traces.as_ref().map(CallTree::build);
    let diff = TraceDiff::align(trees.as_ref());
    look(&Analysis::with_options(&diff, options))
}

/// Pairs of real traces with GPU or host work, below the folder of real traces.
pub const REAL_PAIRS: [[&str; 2]; 12] = [
    ["mi300_h100/bert.mi300.json.gz", "mi300_h100/bert.h100.json.gz"],
    ["mi300_h100/vit.mi300.json.gz", "mi300_h100/vit.h100.json.gz"],
    ["mi300_h100/timesformer.mi300.json.gz", "mi300_h100/timesformer.h100.json.gz"],
    ["training/eager.a100.json.gz", "training/compiled_graphs.v100.json.gz"],
    ["training/resnet50_ddp.a100.json.gz", "training/resnet_act_checkpoint.mi300.json.gz"],
    [
        "inference/vllm_decode_graph.mi300.json.gz",
        "inference/vllm_prefill_decode_piecewise.mi300.json.gz",
    ],
    ["inference/vllm_eager.b200.json.gz", "inference/sglang_decode.mi300.json.gz"],
    ["inference/torch_compile_triton.mi300.json.gz", "odd/gpu_only.mi210.json.gz"],
    ["odd/minitoy.mi250.json.gz", "odd/u64_comms_id.json.gz"],
    ["old/resnet50_2021.num_workers_0.json.gz", "old/resnet50_2021.num_workers_4.json.gz"],
    ["cpu/cnn.pt.trace.json.gz", "cpu/cnn_conv5x5.pt.trace.json.gz"],
    ["cpu/tfm.pt.trace.json.gz", "cpu/tfm_unfused_qkv.pt.trace.json.gz"],
];

/// Says that a test did not look at a trace.
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
pub fn skip(what: &str) {
    eprintln!("skipped {what}: TRACETREE_TRACES is not set");
}

/// Reads a pair of real traces; `None`, visibly, where `TRACETREE_TRACES` is not set.
///
/// # Panics
/// If a trace cannot be read.
pub fn real_pair(pair: [&str; 2]) -> Option<PerSide<Trace>> {
    let Some(folder) = super::files::real_traces() else {
        skip(pair[0]);
        return None;
    };
    let [baseline, candidate] =
        pair.map(|path| Trace::read(folder.join(path)).unwrap_or_else(|error| panic!("{error}")));
    Some(PerSide::new(baseline, candidate))
}
