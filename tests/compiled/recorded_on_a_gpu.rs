//! Tests with traces that were recorded on an H100 (`examples/traces/h100`). The tests recompute the expected results
//! from the JSON.

use crate::support::compared::compare_files;
use crate::support::files::unpacked;
use crate::support::traces::h100;
use serde_json::Value;
use std::collections::BTreeMap;
use tracetree::analysis::fusion::{FusionEvidence, FusionRow, KernelChange};
use tracetree::diff::Relation;
use tracetree::program::CaptureSource;
use tracetree::report::largest_differences;
use tracetree::tree::{CallId, CallKind};
use tracetree::{Analysis, Comparison, ComparisonOptions, PerSide, Side};

fn compare(base: &str, new: &str, check: impl FnOnce(&Analysis)) {
    let paths = PerSide::new(h100(base), h100(new));
    compare_files(paths.as_ref(), |analysis| {
        assert!(analysis.account().is_exact());
        check(analysis);
    });
}

/// Number of GPU events in the JSON, by name.
fn gpu_events(name: &str) -> BTreeMap<String, usize> {
    let bytes = unpacked(&h100(name)).expect("a trace");
    let document: Value = serde_json::from_slice(&bytes).expect("a JSON document");
    let events = document["traceEvents"].as_array().expect("events");
    let is_gpu = |event: &&Value| {
        ["kernel", "gpu_memcpy", "gpu_memset"].contains(&event["cat"].as_str().unwrap_or_default())
    };
    let mut counts = BTreeMap::new();
    for event in events.iter().filter(is_gpu) {
        *counts.entry(event["name"].as_str().expect("a name").to_owned()).or_default() += 1;
    }
    counts
}

/// Number of ops on the GPU path that are neither matched nor replaced by a compiled region, by name.
fn alone(analysis: &Analysis, side: Side) -> BTreeMap<&str, usize> {
    let tree = analysis.tree(side);
    let is_op = |call: &CallId| tree.kind(*call) == CallKind::Op && tree.is_gpu_path(*call);
    let diff = analysis.diff();
    let is_alone = |call: &CallId| {
        diff.counterpart(side, *call).is_none() && diff.region_of(side, *call).is_none()
    };
    let mut names = BTreeMap::new();
    for call in tree.calls().filter(is_op).filter(is_alone) {
        *names.entry(tree.name(call)).or_default() += 1;
    }
    names
}

/// For each pair of old name and new name, the number of matched ops that were renamed in this way.
fn renamed(analysis: &Analysis) -> BTreeMap<(&str, &str), usize> {
    let [a, b] = [Side::Baseline, Side::Candidate].map(|side| analysis.tree(side));
    let mut names = BTreeMap::new();
    for call in a.calls().filter(|&call| a.kind(call) == CallKind::Op && a.is_gpu_path(call)) {
        let counterpart = analysis.diff().counterpart(Side::Baseline, call);
        if analysis.diff().relation(Side::Baseline, call) == Relation::Renamed {
            let counterpart = counterpart.expect("a counterpart");
            *names.entry((a.name(call), b.name(counterpart))).or_default() += 1;
        }
    }
    names
}

#[test]
fn a_second_run_of_the_same_program_matches_every_call() {
    for again in ["resnet_eager_again", "resnet_eager_third"] {
        assert_eq!(gpu_events("resnet_eager"), gpu_events(again));
        compare("resnet_eager", again, |analysis| {
            for side in Side::BOTH {
                let (tree, diff) = (analysis.tree(side), analysis.diff());
                let unlike = |call: &CallId| diff.relation(side, *call) != Relation::Same;
                assert_eq!(tree.calls().filter(unlike).count(), 0, "{again}");
            }
        });
    }
}

/// In each pair, the two sides run different kernels but make the same calls, so every op is matched.
#[test]
fn memory_format_precision_and_benchmark_change_kernels_below_the_same_ops() {
    for changed in ["resnet_channels_last", "resnet_tf32_off", "resnet_benchmark"] {
        assert_ne!(gpu_events("resnet_eager"), gpu_events(changed));
        compare("resnet_eager", changed, |analysis| {
            for side in Side::BOTH {
                assert_eq!(alone(analysis, side), BTreeMap::new(), "{changed}");
            }
            assert_eq!(renamed(analysis), BTreeMap::new(), "{changed}");
            let name = &largest_differences(analysis)[0].name;
            assert!(name.contains("convolution") || name.contains("batch_norm"), "{name}");
        });
    }
}

/// Each attention op of one backend is matched, as a renamed op, with the corresponding op of the other backend. This
/// applies to the forward pass and to the backward pass.
#[test]
fn ops_of_two_attention_backends_are_renames() {
    for (backend, name) in [("efficient", "Efficient"), ("cudnn", "Cudnn")] {
        compare("tfm_flash", &format!("tfm_{backend}"), |analysis| {
            let renamed = renamed(analysis);
            let steps_and_layers = 2 * 3;
            let forward = (
                "aten::_scaled_dot_product_flash_attention".to_owned(),
                format!("aten::_scaled_dot_product_{backend}_attention"),
            );
            let backward = (
                "ScaledDotProductFlashAttentionBackward0".to_owned(),
                format!("ScaledDotProduct{name}AttentionBackward0"),
            );
            for (one, two) in [forward, backward] {
                let count = renamed.get(&(one.as_str(), two.as_str()));
                assert_eq!(count, Some(&steps_and_layers), "{backend}: {renamed:?}");
            }
            for side in Side::BOTH {
                let mut alone = alone(analysis, side);
                // The memory-efficient backward pass clears the tensors in which it accumulates
                // gradients.
                alone.retain(|name, _| !["aten::zero_", "aten::fill_"].contains(name));
                assert_eq!(alone, BTreeMap::new(), "{backend}");
            }
        });
    }
}

/// The kernels in a trace, in execution order, each with its launching op and its enclosing module.
fn work(analysis: &Analysis, side: Side) -> Vec<[String; 3]> {
    let tree = analysis.tree(side);
    let start = |call: CallId| tree.trace().start(tree.event(call).expect("an event"));
    let mut kernels: Vec<CallId> =
        tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu).collect();
    kernels.sort_by_key(|&call| start(call));
    let name = |call: Option<CallId>| call.map_or("", |call| tree.name(call)).to_owned();
    let work = kernels.into_iter().map(|call| {
        let op = tree.ancestors(call).find(|&above| tree.kind(above) == CallKind::Op);
        // For a memset in a graph, CUPTI does not report the kind of memory, so the event is named `Memset (Unknown)`.
        let kernel = tree.name(call).split(" (").next().unwrap_or_default();
        [kernel.to_owned(), name(op), name(tree.module(call))]
    });
    work.collect()
}

/// Compares an eager run with graph replays and the capture of the graphs.
fn with_capture(base: &str, new: &str, check: impl FnOnce(&Analysis)) {
    let capture = CaptureSource::Files(vec![h100(&format!("{new}.capture"))]);
    let options = ComparisonOptions::default().captures(CaptureSource::Nowhere, capture);
    let comparison = Comparison::open(h100(base), h100(new), &options).expect("a comparison");
    check(comparison.analysis());
}

/// On CUDA, captures contain no kernel names, so the eager run is the reference. Each replayed kernel must be below
/// the op that launches the same kernel in the eager run.
#[test]
fn kernels_of_a_replay_are_below_the_ops_of_the_eager_run() {
    for (eager, replay) in [
        ("decode_eager", "decode_graph"),
        ("decode_compiled", "decode_reduce_overhead"),
        ("decode_eager_streams", "decode_graph_streams"),
    ] {
        with_capture(eager, replay, |analysis| {
            let [mut one, mut two] = Side::BOTH.map(|side| work(analysis, side));
            // A compiled region copies its inputs to the addresses that its graph reads.
            if eager == "decode_compiled" {
                two.retain(|[_, op, _]| !op.contains("copy_") && !op.is_empty());
            }
            // The order of kernels that run concurrently on two streams is undefined.
            if eager == "decode_eager_streams" {
                one.sort();
                two.sort();
            }
            assert!(one.len() > 150);
            for (one, two) in one.iter().zip(&two) {
                assert_eq!(one, two, "{replay}");
            }
            assert_eq!(one.len(), two.len(), "{replay}");
        });
    }
}

/// How many times the given ops were fused into one kernel, added up over all compiled regions.
fn fused(analysis: &Analysis, ops: &[&str]) -> usize {
    let is_claimed = |row: &&FusionRow| {
        matches!(row.change, KernelChange::FusedIn(Side::Candidate, FusionEvidence::Names))
            && row.kernel_count.candidate == 1
            && ops.iter().all(|op| row.ops.baseline.iter().any(|known| known == op))
            && row.path.contains("Torch-Compiled Region")
    };
    analysis.fusions().iter().filter(is_claimed).map(|row| row.agreeing).sum()
}

/// The correct fusions are known for these models: each layer has its own fused kernels, and no kernel belongs to two
/// layers.
#[test]
fn each_layer_of_a_region_has_its_own_fused_kernels() {
    compare("decode_eager", "decode_compiled", |analysis| {
        // The trace has four forward passes: two steps, each with two batch sizes. The model has two norms in each of
        // four blocks and one norm after the blocks; no sum precedes the first norm.
        let (passes, norms) = (4, 9);
        assert_eq!(
            fused(analysis, &["aten::add", "aten::native_layer_norm"]),
            passes * (norms - 1)
        );
        assert_eq!(fused(analysis, &["aten::gather", "aten::native_layer_norm"]), passes);
        let open = analysis.fusions().iter().filter(|row| row.change == KernelChange::Count);
        assert_eq!(open.count(), 0);
    });
    compare("tfm_flash", "tfm_compiled", |analysis| {
        let (steps, norms) = (2, 7);
        assert_eq!(fused(analysis, &["aten::add", "aten::native_layer_norm"]), steps * (norms - 1));
        assert_eq!(fused(analysis, &["aten::gather", "aten::native_layer_norm"]), steps);
    });
    compare("resnet_eager", "resnet_compiled", |analysis| {
        let (steps, blocks) = (2, 4);
        assert_eq!(fused(analysis, &["aten::add", "aten::clamp_min"]), steps * blocks);
        // No single kernel does the work of several layers.
        for row in analysis.fusions() {
            let norms = row.ops.baseline.iter().filter(|op| op.contains("batch_norm")).count();
            assert!(norms <= 2, "{row:#?}");
        }
    });
}

/// Each compiled region is matched with calls in the eager model, in both the forward and the backward pass.
#[test]
fn time_of_both_sides_of_a_region_is_in_one_row() {
    for (eager, compiled, regions) in [
        ("resnet_eager", "resnet_compiled", 4),
        ("resnet_eager", "resnet_reduce_overhead", 4),
        ("tfm_flash", "tfm_compiled", 4),
        ("decode_eager", "decode_compiled", 4),
        ("decode_eager", "decode_reduce_overhead", 4),
    ] {
        compare(eager, compiled, |analysis| {
            assert_eq!(analysis.diff().regions().len(), regions, "{compiled}");
            for row in analysis.rows() {
                let name = row.name(analysis.diff());
                if name.contains("(replaced calls)") {
                    let times = (row.time.baseline.0, row.time.candidate.0);
                    assert!(times.0 > 0 && times.1 > 0, "{compiled}: {name}");
                }
            }
            // The only unmatched calls are copies of gradients whose memory layout differs.
            for side in Side::BOTH {
                let mut alone = alone(analysis, side);
                alone.retain(|name, _| !name.contains("AccumulateGrad") && *name != "aten::copy_");
                assert_eq!(alone, BTreeMap::new(), "{compiled} {side:?}");
            }
        });
    }
}

/// The model has one graph per batch size, and each graph contains all layers. The eager run and the two graphs must
/// not be reported as different models.
#[test]
fn graphs_of_two_batch_sizes_are_one_model() {
    compare("decode_eager", "decode_graph", |analysis| {
        let found = analysis.comparability();
        assert!(found.both.get("DIFFERENT_MODEL").is_none(), "{:?}", found.both);
        assert!(found.sides.candidate.get("GRAPH_REPLAY").is_some());
    });
}

/// A call that is matched late, as a moved call, may contain calls that were matched earlier. Every call
/// must still be in the merged tree exactly once.
#[test]
fn a_captured_replay_and_a_compiled_run_are_merged_into_one_tree() {
    with_capture("decode_compiled", "decode_reduce_overhead", |analysis| {
        let merged = analysis.diff().merged();
        for side in Side::BOTH {
            let calls = analysis.tree(side).calls();
            assert!(calls.len() > 1000);
            for call in calls {
                assert_eq!(merged.node(merged.of(side, call)).call(side), Some(call));
            }
        }
    });
}
