//! The trace files that tests compare: files in this repository and, if available, real traces.

use super::files::real_traces;
use super::phenomena::{self, Phenomenon};
use super::root;
use std::path::{Path, PathBuf};
use tracetree::PerSide;

/// A pair of traces, given by the names of the two files.
type Names = (&'static str, &'static str);

/// Pairs in `examples/traces` with a known relationship: a different platform, an added op, and a second run.
const EXAMPLES: [Names; 3] = [
    ("resnet.rocm.json.gz", "resnet.cuda.json.gz"),
    ("cnn.pt.trace.json.gz", "cnn_extra_op.pt.trace.json.gz"),
    ("cnn.pt.trace.json.gz", "cnn_rerun.pt.trace.json.gz"),
];

/// Pairs of traces of one model on two platforms.
const PLATFORMS: [Names; 3] = [
    ("mi300_h100/timesformer.mi300.json.gz", "mi300_h100/timesformer.h100.json.gz"),
    ("mi300_h100/vit.mi300.json.gz", "mi300_h100/vit.h100.json.gz"),
    ("mi300_h100/bert.mi300.json.gz", "mi300_h100/bert.h100.json.gz"),
];

/// Pairs of traces of one program before and after a change.
const CHANGES: [Names; 12] = [
    ("cpu/cnn.pt.trace.json.gz", "cpu/cnn_rerun.pt.trace.json.gz"),
    ("cpu/cnn.pt.trace.json.gz", "cpu/cnn_extra_op.pt.trace.json.gz"),
    ("cpu/cnn.pt.trace.json.gz", "cpu/cnn_extra_layer.pt.trace.json.gz"),
    ("cpu/cnn.pt.trace.json.gz", "cpu/cnn_conv5x5.pt.trace.json.gz"),
    ("cpu/cnn.pt.trace.json.gz", "cpu/cnn_mem.pt.trace.json.gz"),
    ("cpu/cnn_nostack.pt.trace.json.gz", "cpu/cnn_extra_op_nostack.pt.trace.json.gz"),
    ("cpu/tfm.pt.trace.json.gz", "cpu/tfm_rerun.pt.trace.json.gz"),
    ("cpu/tfm.pt.trace.json.gz", "cpu/tfm_unfused_qkv.pt.trace.json.gz"),
    ("cpu/tfm.pt.trace.json.gz", "cpu/tfm_nostack.pt.trace.json.gz"),
    ("old/resnet50_2021.num_workers_0.json.gz", "old/resnet50_2021.num_workers_4.json.gz"),
    (
        "old/resnet50_2021_array.num_workers_0.json.gz",
        "old/resnet50_2021_array.num_workers_4.json.gz",
    ),
    ("training/eager.a100.json.gz", "training/compiled_graphs.v100.json.gz"),
];

/// Traces that tests compare only with themselves.
const SINGLES: [&str; 9] = [
    "training/resnet_act_checkpoint.mi300.json.gz",
    "training/resnet50_ddp.a100.json.gz",
    "inference/vllm_decode_graph.mi300.json.gz",
    "inference/vllm_prefill_decode_piecewise.mi300.json.gz",
    "inference/sglang_decode.mi300.json.gz",
    "inference/vllm_eager.b200.json.gz",
    "inference/torch_compile_triton.mi300.json.gz",
    "odd/gpu_only.mi210.json.gz",
    "odd/minitoy.mi250.json.gz",
];

/// Pairs of traces of different programs, or of one program in different phases. The two traces in each pair have
/// little in common.
const UNLIKE: [Names; 6] = [
    ("training/resnet50_ddp.a100.json.gz", "training/resnet_act_checkpoint.mi300.json.gz"),
    (
        "inference/vllm_decode_graph.mi300.json.gz",
        "inference/vllm_prefill_decode_piecewise.mi300.json.gz",
    ),
    ("inference/vllm_eager.b200.json.gz", "inference/sglang_decode.mi300.json.gz"),
    ("inference/torch_compile_triton.mi300.json.gz", "odd/gpu_only.mi210.json.gz"),
    ("odd/minitoy.mi250.json.gz", "odd/u64_comms_id.json.gz"),
    ("odd/ascend_trace_view.json.gz", "odd/minitoy.mi250.json.gz"),
];

/// A file in `examples/traces`.
pub fn example(file: &str) -> PathBuf {
    root().join("examples/traces").join(file)
}

/// A trace that was recorded on an H100 for this repository.
pub fn h100(name: &str) -> PathBuf {
    example(&format!("h100/{name}.pt.trace.json.gz"))
}

/// The pairs in `examples/traces`, and the pairs in `tests/fixtures` that show a phenomenon.
pub fn example_pairs() -> Vec<PerSide<PathBuf>> {
    let mut all = pairs(&example(""), &EXAMPLES);
    all.extend(phenomena::ALL.iter().map(Phenomenon::files));
    all
}

/// Pairs of two different real traces, and for other real traces, the pair of the trace with itself; none if the folder
/// of real traces is not available.
pub fn real_pairs() -> Vec<PerSide<PathBuf>> {
    let Some(folder) = real_traces() else { return Vec::new() };
    let mut all = pairs(&folder, &PLATFORMS);
    all.extend(pairs(&folder, &CHANGES));
    all.extend(SINGLES.map(|name| PerSide::new(folder.join(name), folder.join(name))));
    all
}

/// Pairs of two different real traces, some of which come from unrelated programs; none if the folder of real traces is
/// not available.
pub fn real_and_unlike_pairs() -> Vec<PerSide<PathBuf>> {
    let Some(folder) = real_traces() else { return Vec::new() };
    [&PLATFORMS[..], &CHANGES, &UNLIKE]
        .into_iter()
        .flat_map(|names| pairs(&folder, names))
        .collect()
}

/// The real traces of one model on MI300X and H100, if the folder of real traces is available.
pub fn platform_pair(model: &str) -> Option<PerSide<PathBuf>> {
    let folder = real_traces()?;
    let path = |device: &str| folder.join(format!("mi300_h100/{model}.{device}.json.gz"));
    Some(PerSide::new(path("mi300"), path("h100")))
}

/// The real trace with the given name, if the folder of real traces is available.
pub fn real(name: &str) -> Option<PathBuf> {
    real_traces().map(|folder| folder.join(name))
}

fn pairs(folder: &Path, names: &[Names]) -> Vec<PerSide<PathBuf>> {
    names
        .iter()
        .map(|&(baseline, candidate)| PerSide::new(folder.join(baseline), folder.join(candidate)))
        .collect()
}
