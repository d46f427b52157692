//! What a gate and a comparison say of a training on an H100 with one known change, recorded by
//! `examples/traces/record_changes.py`: the rule of the change at its place, and no other.

use crate::support::gated::{self, check, digest};
use crate::support::traces;
use std::path::PathBuf;
use tracetree::gate::Gate;
use tracetree::{CallTree, Comparison, ComparisonOptions, Trace};

fn path(variant: &str) -> PathBuf {
    traces::h100(&format!("train_{variant}"))
}

fn gate(variant: &str) -> Gate {
    let digest = |variant: &str| {
        digest([CallTree::build(Trace::open(path(variant)).expect("a bundled trace"))])
    };
    check(&digest("base"), &digest(variant))
}

fn findings(variant: &str) -> Vec<String> {
    gated::findings(&gate(variant))
}

/// The same finding in each of the three blocks.
fn in_each_block(told: &str) -> Vec<String> {
    (0..3).map(|block| told.replace('#', &block.to_string())).collect()
}

#[test]
fn the_same_program_again_passes_and_so_does_one_whose_loader_is_slow() {
    for variant in ["again", "loader"] {
        assert_eq!(findings(variant), [""; 0], "{variant}");
    }
}

#[test]
fn reading_the_loss_is_one_wait_among_many_reads_of_host_memory() {
    assert_eq!(
        findings("item"),
        [
            "new_sync at step: aten::item: 0 → 1",
            "new_copy at step: aten::item: 0 → 1",
            "gone_op at step: aten::detach: 1 → 0"
        ]
    );
}

#[test]
fn a_block_that_is_gone_is_one_finding() {
    let found = findings("layer_gone");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("gone_op at Net_0: module Block_2"), "{found:?}");
}

#[test]
fn another_batch_is_told_by_its_shapes_and_not_by_the_kernels_that_follow() {
    let gate = gate("batch");
    let found = gated::findings(&gate);
    assert!(!found.iter().any(|told| told.contains("kernel")), "{found:?}");
    let shapes = found.iter().filter(|told| told.starts_with("shape_change")).count();
    assert!(shapes > 20 && found.len() - shapes == 3, "{found:?}");
    assert!(
        gate.notes.iter().any(|note| note.contains("changes of kernels follow from other shapes"))
    );
}

#[test]
fn optimizers_and_clipping_are_told_at_the_step() {
    assert_eq!(
        findings("fused_adam"),
        [
            "new_op at step: aten::_fused_adamw_: 0 → 1",
            "gone_op at step: aten::_foreach_add_: 2 → 1"
        ]
    );
    assert_eq!(findings("foreach_off"), ["lost_fusion at step: aten::add_: 0 → 80"]);
    // 41 casts of norms that are on their device already copy nothing.
    assert_eq!(findings("clip"), ["new_op at step: aten::to: 2 → 43"]);
}

#[test]
fn a_change_of_a_block_is_told_in_each_block() {
    assert_eq!(
        findings("dropout"),
        in_each_block(
            "new_op at Net_0.Block_#.Attention_#: module Dropout_#: none → aten::dropout"
        )
    );
    assert_eq!(
        findings("relu"),
        [
            in_each_block("new_op at Net_0.Block_#.Mlp_#: aten::relu: 0 → 1"),
            in_each_block("gone_op at Net_0.Block_#.Mlp_#: aten::gelu: 1 → 0")
        ]
        .concat()
    );
    assert_eq!(
        findings("gelu"),
        [
            in_each_block("new_op at Net_0.Block_#.Mlp_#: aten::mul: 0 → 4"),
            in_each_block("gone_op at Net_0.Block_#.Mlp_#: aten::gelu: 1 → 0")
        ]
        .concat()
    );
}

#[test]
fn a_slow_loader_is_the_first_cause_by_name_and_time() {
    let options = ComparisonOptions::default();
    let comparison = Comparison::open(path("base"), path("loader"), &options).expect("compared");
    let first = &comparison.analysis().causes().list()[0];
    assert!(first.place.contains("sleep"), "{}", first.place);
    let micros = first.difference.as_micros();
    assert!((4_000.0..4_200.0).contains(&micros), "slept 4 ms, told {micros} us");
}
