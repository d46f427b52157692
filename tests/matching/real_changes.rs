//! Tests with pairs of real traces of one program. The two traces in a pair differ only in one change to the program.
//! Pairs that are not in this repository are compared only if `TRACETREE_TRACES` names their folder.

use crate::support::compared::compare_files;
use crate::support::find::calls;
use crate::support::traces::{self, real};
use std::collections::{BTreeMap, BTreeSet};
use tracetree::analysis::Analysis;
use tracetree::diff::{MergedNode, TraceDiff};
use tracetree::tree::{CallId, CallKind, CallTree};
use tracetree::{PerSide, Side};

fn cpu(baseline: &str, candidate: &str, look: impl FnOnce(&Analysis)) {
    let file = |name: &str| real(&format!("cpu/{name}.pt.trace.json.gz"));
    if let (Some(baseline), Some(candidate)) = (file(baseline), file(candidate)) {
        compare_files(PerSide::new(baseline, candidate), look);
    }
}

/// A pair of traces that was recorded on an H100 for this repository.
fn h100(baseline: &str, candidate: &str, look: impl FnOnce(&Analysis)) {
    compare_files(PerSide::new(baseline, candidate).map(traces::h100), look);
}

#[test]
fn mixed_precision_leaves_the_ops_of_the_forward_pass_matched() {
    h100("resnet_eager", "resnet_amp", |analysis| {
        let (diff, tree) = (analysis.diff(), analysis.tree(Side::Baseline));
        for name in ["aten::conv2d", "aten::convolution", "aten::cudnn_convolution", "aten::linear"]
        {
            for call in calls(tree, name) {
                let counterpart = diff.counterpart(Side::Baseline, call);
                let counterpart =
                    counterpart.map(|counterpart| diff.tree(Side::Candidate).name(counterpart));
                assert_eq!(counterpart, Some(name));
            }
        }
    });
}

#[test]
fn all_calls_of_a_step_have_their_counterparts_in_one_step() {
    h100("train_base", "train_five_steps", |analysis| {
        let diff = analysis.diff();
        let step = |side: Side, call| analysis.diff().program(side).steps().step(call);
        let mut counterparts: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for call in diff.tree(Side::Baseline).calls() {
            if let (Some(mine), Some(counterpart)) =
                (step(Side::Baseline, call), diff.counterpart(Side::Baseline, call))
            {
                counterparts.entry(mine).or_default().insert(step(Side::Candidate, counterpart));
            }
        }
        assert_eq!(counterparts.len(), 2);
        assert!(counterparts.values().all(|steps| steps.len() == 1), "{counterparts:?}");
        assert_eq!(analysis.compared().count(), Some(2));
        assert!(analysis.changes().is_identical());
    });
}

#[test]
fn a_rerun_shows_no_structural_difference() {
    for model in ["cnn", "tfm"] {
        cpu(model, &format!("{model}_rerun"), |analysis| {
            assert_eq!(analysis.diff().differences(), vec![], "{model}");
        });
    }
}

/// Names and counts of the outermost calls that occur only on the given side.
fn outermost_alone(diff: &TraceDiff, side: Side) -> BTreeMap<&str, usize> {
    let mut names = BTreeMap::new();
    for point in diff.differences() {
        if let MergedNode::Only(only, call) = diff.merged().node(point.node)
            && only == side
        {
            *names.entry(diff.tree(side).name(call)).or_default() += 1;
        }
    }
    names
}

/// Names and counts of the ops that occur only on the given side, at any depth.
fn ops_alone(diff: &TraceDiff, side: Side) -> BTreeMap<&str, usize> {
    let tree: &CallTree = diff.tree(side);
    let mut names = BTreeMap::new();
    let ops = tree.calls().filter(|&call| tree.kind(call) == CallKind::Op);
    for op in ops.filter(|&op| diff.counterpart(side, op).is_none()) {
        *names.entry(tree.name(op)).or_default() += 1;
    }
    names
}

/// The ops that `x + sin(x).pow(2) * 0.01` adds in three steps, including nested ops and ops in the backward pass.
const EXTRA_OPS: [(&str, usize); 19] = [
    ("AddBackward0", 3),
    ("MulBackward0", 3),
    ("PowBackward0", 3),
    ("SinBackward0", 3),
    ("aten::_to_copy", 9),
    ("aten::add", 3),
    ("aten::add_", 3),
    ("aten::copy_", 12),
    ("aten::cos", 3),
    ("aten::empty_strided", 9),
    ("aten::mul", 18),
    ("aten::pow", 6),
    ("aten::result_type", 6),
    ("aten::sin", 3),
    ("aten::to", 15),
    ("autograd::engine::evaluate_function: AddBackward0", 3),
    ("autograd::engine::evaluate_function: MulBackward0", 3),
    ("autograd::engine::evaluate_function: PowBackward0", 3),
    ("autograd::engine::evaluate_function: SinBackward0", 3),
];

#[test]
fn an_extra_expression_adds_exactly_its_ops_in_three_steps() {
    for mode in ["", "_nostack"] {
        cpu(&format!("cnn{mode}"), &format!("cnn_extra_op{mode}"), |analysis| {
            let diff = analysis.diff();
            assert_eq!(outermost_alone(diff, Side::Baseline), BTreeMap::new(), "{mode}");
            assert_eq!(ops_alone(diff, Side::Candidate), EXTRA_OPS.into(), "{mode}");
        });
    }
}

#[test]
fn an_extra_layer_leaves_the_old_ones_matched_with_themselves() {
    cpu("cnn", "cnn_extra_layer", |analysis| {
        let diff = analysis.diff();
        let old = diff.tree(Side::Baseline);
        for call in old.calls() {
            assert!(
                diff.counterpart(Side::Baseline, call).is_some(),
                "{} is unmatched",
                old.name(call)
            );
        }
        let dims = |side: Side, call: CallId| {
            let tree = diff.tree(side);
            tree.arguments(call).map(|arguments| tree.trace().text(arguments.dims))
        };
        for call in calls(old, "aten::convolution") {
            let counterpart = diff.counterpart(Side::Baseline, call).expect("a counterpart");
            assert_eq!(dims(Side::Baseline, call), dims(Side::Candidate, counterpart));
        }
    });
}

#[test]
fn unfused_projections_differ_under_the_attention_layers() {
    cpu("tfm", "tfm_unfused_qkv", |analysis| {
        let mut found = points_by_module(analysis.diff());
        // The backward pass has no modules. All points of difference in the backward pass are autograd nodes, or
        // `aten::add_` calls that add the gradients of the three projections.
        let backward = found.remove("").expect("points on the backward thread");
        let expected = |name: &str| name.starts_with("autograd::engine::") || name == "aten::add_";
        assert!(backward.iter().all(|name| expected(name)), "{backward:?}");
        let linear = backward.iter().filter(|name| name.ends_with(": AddmmBackward0")).count();
        assert_eq!(linear, 18, "two more projections in three layers and three steps");
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [0, 1, 2].map(layer));
        for (layer, names) in found {
            let count = |part: &str| names.iter().filter(|name| name.starts_with(part)).count();
            assert_eq!(count("nn.Module: Linear_"), 3, "{layer}: the fused projection is gone");
            assert_eq!(
                count("<built-in function linear>"),
                9,
                "{layer}: three projections instead"
            );
        }
    });
}

fn layer(number: usize) -> &'static str {
    ["nn.Module: Layer_0", "nn.Module: Layer_1", "nn.Module: Layer_2"][number]
}

/// Names of the calls at the points of difference, grouped by enclosing module (`""` for none).
fn points_by_module(diff: &TraceDiff) -> BTreeMap<&str, Vec<&str>> {
    let mut points: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for point in diff.differences() {
        for side in Side::BOTH {
            let Some(call) = diff.merged().node(point.node).call(side) else { continue };
            let tree = diff.tree(side);
            let module = tree.parent(call).and_then(|above| tree.module(above));
            points
                .entry(module.map_or("", |module| tree.name(module)))
                .or_default()
                .push(tree.name(call));
        }
    }
    points
}
