//! Tests for matching the calls in two traces. Each test covers one phenomenon, and most phenomena have a folder in
//! `tests/fixtures`.

use crate::support::compared::{compare_files, compare_texts};
use crate::support::find::{call, calls, relation};
use crate::support::phenomena::Phenomenon;
use crate::support::trace_builder::{HostThread, TraceBuilder};
use tracetree::diff::{MergedNode, Relation, TraceDiff};
use tracetree::trace::Uid;
use tracetree::{PerSide, Side};

fn look<T>(phenomenon: &str, look: impl FnOnce(&TraceDiff) -> T) -> T {
    compare_files(Phenomenon::of(phenomenon).files(), |analysis| look(analysis.diff()))
}

/// For each point of difference, three names: those of the baseline call and the candidate call (empty if a side has no
/// call), and that of the lowest common node.
fn points(diff: &TraceDiff) -> Vec<[String; 3]> {
    let name = |node: MergedNode, side: Side| {
        node.call(side).map_or_else(String::new, |call| diff.tree(side).name(call).to_owned())
    };
    let merged = diff.merged();
    diff.differences()
        .iter()
        .map(|point| {
            let node = merged.node(point.node);
            let common = point.lowest_common.map(|id| name(merged.node(id), Side::Baseline));
            [name(node, Side::Baseline), name(node, Side::Candidate), common.unwrap_or_default()]
        })
        .collect()
}

#[test]
fn an_op_of_another_back_end_is_renamed_and_not_a_common_node() {
    look("rename", |diff| {
        let (flash, efficient) = (
            "aten::_scaled_dot_product_flash_attention",
            "aten::_scaled_dot_product_efficient_attention",
        );
        let common = "aten::scaled_dot_product_attention";
        assert_eq!(relation(diff, Side::Baseline, flash), (Relation::Renamed, Some(efficient)));
        assert_eq!(points(diff), [[flash, efficient, common]]);
        let inner = call(diff.tree(Side::Baseline), flash);
        let lowest = diff.lowest_common_op(Side::Baseline, inner).expect("a common op");
        assert_eq!(diff.tree(Side::Baseline).name(lowest), common);
    });
}

#[test]
fn a_bias_add_inside_an_op_matches_one_next_to_it() {
    look("bias_add", |diff| {
        assert_eq!(
            relation(diff, Side::Baseline, "aten::add_"),
            (Relation::Same, Some("aten::add_"))
        );
        let parts = ["aten::miopen_convolution", "aten::cudnn_convolution", "aten::_convolution"];
        assert!(points(diff).contains(&parts.map(str::to_owned)));
    });
}

#[test]
fn calls_below_a_new_wrapper_stay_matched() {
    for (phenomenon, wrappers) in [
        ("wrapper", vec!["torch/amp/autocast_mode.py(44): decorate_autocast"]),
        (
            "wrappers_in_wrappers",
            vec![
                "torch/_dynamo/eval_frame.py(736): compile_wrapper",
                "Torch-Compiled Region: 0/0",
                "<eval_with_key>.3(4): forward",
            ],
        ),
    ] {
        look(phenomenon, |diff| {
            for name in wrappers {
                assert_eq!(relation(diff, Side::Candidate, name), (Relation::OnlyCandidate, None));
            }
            for name in ["aten::linear", "aten::addmm", "gemm_bf16_128x64"] {
                assert_eq!(relation(diff, Side::Candidate, name), (Relation::Same, Some(name)));
            }
        });
    }
}

#[test]
fn a_matched_call_is_below_the_wrapper_in_the_merged_tree() {
    look("wrapper", |diff| {
        let merged = diff.merged();
        let linear = call(diff.tree(Side::Baseline), "aten::linear");
        let above = merged.parent(merged.of(Side::Baseline, linear)).expect("a node above");
        assert!(matches!(merged.node(above), MergedNode::Only(Side::Candidate, _)));
    });
}

#[test]
fn wrappers_on_both_sides_do_not_prevent_matches() {
    look("wrappers_on_both_sides", |diff| {
        for name in ["aten::linear", "aten::native_layer_norm", "layer_norm_kernel"] {
            assert_eq!(relation(diff, Side::Baseline, name), (Relation::Same, Some(name)));
        }
        let frames = ["torch/utils/checkpoint.py(459): checkpoint"];
        assert_eq!(relation(diff, Side::Baseline, frames[0]).0, Relation::OnlyBaseline);
    });
}

#[test]
fn one_of_two_swapped_neighbours_is_moved() {
    look("moved_neighbours", |diff| {
        let found = ["aten::cos", "aten::sin"].map(|name| relation(diff, Side::Baseline, name));
        let moved = found.iter().filter(|(relation, _)| *relation == Relation::Moved).count();
        assert_eq!(moved, 1, "one keeps its order and the other has moved: {found:?}");
        assert!(found.iter().all(|(_, counterpart)| counterpart.is_some()));
        assert_eq!(points(diff), <[[&str; 3]; 0]>::default());
    });
}

#[test]
fn an_inserted_op_is_the_only_point_of_difference() {
    look("inserted_op", |diff| assert_eq!(points(diff), [["", "aten::clamp", "MyBlock"]]));
}

#[test]
fn a_dropped_op_is_the_only_point_of_difference() {
    look("dropped_op", |diff| assert_eq!(points(diff), [["aten::mul", "", "MyBlock"]]));
}

#[test]
fn a_memset_on_one_side_is_an_unmatched_launch() {
    look("memset_on_one_side", |diff| {
        assert_eq!(points(diff), [["", "cudaMemsetAsync", "aten::addmm"]]);
        assert_eq!(
            relation(diff, Side::Candidate, "cuLaunchKernelEx"),
            (Relation::Same, Some("hipExtModuleLaunchKernel"))
        );
    });
}

#[test]
fn the_kernels_of_two_graph_launches_are_aligned_as_a_sequence() {
    look("graph_launch", |diff| {
        let api = relation(diff, Side::Baseline, "hipGraphLaunch");
        assert_eq!(api, (Relation::Same, Some("cudaGraphLaunch")));
        for name in ["gemm_layer_0", "gemm_layer_1", "gemm_layer_2", "softmax_kernel"] {
            assert_eq!(relation(diff, Side::Baseline, name), (Relation::Same, Some(name)));
        }
        assert_eq!(points(diff), [["", "top_k_kernel", "hipGraphLaunch"]]);
    });
}

#[test]
fn unlinked_gpu_events_are_matched_only_by_name() {
    look("unlinked_gpu_events", |diff| {
        let gemms = calls(diff.tree(Side::Baseline), "gemm_kernel");
        let paired =
            gemms.iter().filter(|&&c| diff.counterpart(Side::Baseline, c).is_some()).count();
        assert_eq!((gemms.len(), paired), (2, 1));
        assert_eq!(relation(diff, Side::Baseline, "reduce_kernel"), (Relation::OnlyBaseline, None));
    });
}

#[test]
fn threads_are_matched_by_the_calls_they_run() {
    look("threads_exchanged", |diff| {
        let loader = call(diff.tree(Side::Baseline), "thread 5617 (worker 0)");
        let counterpart = diff.counterpart(Side::Baseline, loader).expect("a counterpart");
        assert_eq!(diff.tree(Side::Candidate).name(counterpart), "thread 5714 (worker 1)");
        assert_eq!(points(diff), <[[&str; 3]; 0]>::default());
    });
}

#[test]
fn a_new_layer_is_a_difference_on_the_forward_and_on_the_backward_thread() {
    look("backward_thread", |diff| {
        let node = "autograd::engine::evaluate_function: AddmmBackward0";
        assert_eq!(
            points(diff),
            [["", "aten::linear", "train.py(8): forward"], ["", node, "thread 5714 (autograd)"]]
        );
    });
}

#[test]
fn instance_numbers_do_not_decide_how_modules_are_matched() {
    look("module_numbers", |diff| {
        let pairs = [("Linear_0", "Linear_1"), ("Linear_1", "Linear_2"), ("Linear_2", "Linear_3")];
        for (old, new) in pairs.map(|(a, b)| (format!("nn.Module: {a}"), format!("nn.Module: {b}")))
        {
            assert_eq!(relation(diff, Side::Baseline, &old), (Relation::Same, Some(new.as_str())));
        }
        assert_eq!(points(diff), [["", "nn.Module: Linear_0", "nn.Module: Net_0"]]);
    });
}

#[test]
fn a_uid_maps_to_its_counterpart_and_back() {
    look("module_numbers", |diff| {
        let uid = |side: Side, name: &str| {
            let tree = diff.tree(side);
            tree.trace().uid(tree.event(call(tree, name)).expect("an event"))
        };
        let old = uid(Side::Baseline, "nn.Module: Linear_0");
        let new = uid(Side::Candidate, "nn.Module: Linear_1");
        assert_eq!(diff.corresponding_uid(Side::Baseline, old), Some(new));
        assert_eq!(diff.corresponding_uid(Side::Candidate, new), Some(old));
        let alone = uid(Side::Candidate, "nn.Module: Linear_0");
        assert_eq!(diff.corresponding_uid(Side::Candidate, alone), None);
        assert_eq!(diff.corresponding_uid(Side::Baseline, Uid(1_000_000)), None);
    });
}

#[test]
fn traces_with_nothing_in_common_stay_unmatched() {
    let compute = TraceBuilder::cuda().thread("main", |t| {
        t.op("aten::matmul", |t| t.op("aten::mm", |t| t.kernel("gemm_kernel", 5.0)));
    });
    let copy = TraceBuilder::cuda().thread("main", |t| {
        t.frame("data.py(3): load", |t| t.memcpy("Memcpy HtoD (Pinned -> Device)", 64, 2.0));
    });
    compare_texts(&PerSide::new(compute.json(), copy.json()), |analysis| {
        for side in Side::BOTH {
            let tree = analysis.diff().tree(side);
            for call in tree.calls().filter(|&call| tree.event(call).is_some()) {
                assert_eq!(analysis.diff().relation(side, call), Relation::only(side));
            }
        }
        assert_eq!(
            analysis.account().totals.map(|totals| totals.one_sided.0),
            PerSide::new(5_000, 2_000)
        );
    });
}

#[test]
fn repeated_equal_siblings_are_matched_in_order() {
    let layers = |count: usize| {
        let body = |t: &mut HostThread<'_>| {
            for _ in 0..count {
                t.op("aten::exp", |t| t.kernel("exp_kernel", 5.0));
            }
        };
        TraceBuilder::cuda().thread("main", body).json()
    };
    compare_texts(&PerSide::new(layers(40), layers(39)), |analysis| {
        let diff = analysis.diff();
        let counterparts: Vec<_> = calls(diff.tree(Side::Baseline), "aten::exp")
            .into_iter()
            .filter_map(|call| diff.counterpart(Side::Baseline, call))
            .collect();
        assert_eq!(counterparts.len(), 39);
        assert!(counterparts.is_sorted());
    });
}
