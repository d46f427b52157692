//! Tests the results of the gate and of comparisons for a training program with one known change.
//! `examples/traces/record_changes.py` recorded the program on an H100. The gate must report a violation of only one
//! rule: the rule for the known change, at the call site of the change.

use crate::gated::{self, check, record};
use crate::support::traces;
use std::path::PathBuf;
use tracetree::{CallTree, Comparison, ComparisonOptions, Trace};
use tracetree_gate::{Gate, Outcome, State};

fn path(variant: &str) -> PathBuf {
    traces::h100(&format!("train_{variant}"))
}

fn gate(variant: &str) -> Gate {
    let side = |variant: &str| {
        record([CallTree::build(Trace::open(path(variant)).expect("a bundled trace"))])
    };
    check(&side("base"), &side(variant))
}

fn findings(variant: &str) -> Vec<String> {
    gated::findings(&gate(variant))
}

/// Each distinct call site of the only finding, with the description of what changed there.
fn sites(variant: &str) -> Vec<(String, String)> {
    let gate = gate(variant);
    let [finding] = &gate.findings[..] else { panic!("one finding: {:#?}", gate.findings) };
    finding.sites.iter().map(|site| (site.place.words(), site.what.clone())).collect()
}

#[test]
fn the_same_program_again_passes_and_a_slow_loader_is_a_warning() {
    assert_eq!(findings("again"), [""; 0]);
    let gate = gate("loader");
    let [finding] = &gate.findings[..] else { panic!("one finding: {:#?}", gate.findings) };
    assert_eq!((finding.state, &finding.rules[..]), (State::Warned, &["python".to_owned()][..]));
    assert!(finding.what.contains("load: <built-in function sleep>"), "{}", finding.what);
    // Only the time rules check the cost of a sleep, and the time rules need more than one run.
    assert_eq!(gate.outcome, Outcome::Inconclusive);
    assert!(
        gate.reasons.iter().all(|reason| reason.starts_with("step_wall")),
        "{:?}",
        gate.reasons
    );
}

#[test]
fn reading_the_loss_is_one_wait_among_many_reads_of_host_memory() {
    assert_eq!(
        findings("item"),
        [
            "new_sync new_copy: The host reads a value of a tensor in record_changes.py: step: aten::item per step"
        ]
    );
}

#[test]
fn a_block_that_is_gone_is_one_finding() {
    assert_eq!(findings("layer_gone"), ["gone_op: 2 instead of 3 Block calls per step"]);
    let first = &sites("layer_gone")[0];
    assert_eq!(*first, ("Net_0".to_owned(), "removed module Block_2".to_owned()));
}

#[test]
fn a_different_batch_is_one_finding_with_the_kernels_that_follow() {
    let found = findings("batch");
    let [only] = &found[..] else { panic!("one finding: {found:?}") };
    // Twice as many bytes are copied to the device.
    assert!(only.starts_with("new_copy shape_change: Inputs are 2x as large"), "{only}");
    assert!(sites("batch").len() > 20);
}

#[test]
fn optimizer_and_clipping_changes_are_one_finding_each() {
    assert_eq!(findings("fused_adam"), ["new_op gone_op: AdamW runs fused instead of foreach"]);
    assert_eq!(
        findings("foreach_off"),
        ["lost_fusion: AdamW runs one tensor at a time instead of foreach"]
    );
    // The 41 added casts copy nothing, because they are applied to gradient norms that are already on the right device.
    let clip = findings("clip");
    let [only] = &clip[..] else { panic!("one finding: {clip:?}") };
    assert!(
        only.starts_with(
            "new_op: Added in record_changes.py: step: clip_grad_norm_ (41 × aten::to"
        ),
        "{only}"
    );
}

#[test]
fn a_changed_block_is_one_finding_with_a_site_in_each_block() {
    for (variant, shown, module, what) in [
        (
            "dropout",
            "new_op: Added in Attention (record_changes.py: forward): 3 × Dropout per step, with their backward",
            "Net_0.Block_#.Attention_#",
            "added module Dropout_#",
        ),
        (
            "relu",
            "new_op gone_op: 3 × aten::relu instead of 3 × aten::gelu in Mlp (record_changes.py: forward) per step, with their backward",
            "Net_0.Block_#.Mlp_#",
            "added aten::relu",
        ),
    ] {
        assert_eq!(findings(variant), [shown]);
        let sites = sites(variant);
        for block in 0..3 {
            let [module, what] = [module, what].map(|text| text.replace('#', &block.to_string()));
            assert!(sites.contains(&(module, what)), "{variant}: {sites:?}");
        }
    }
}

#[test]
fn a_slow_loader_is_a_line_of_the_bill_with_its_time() {
    let options = ComparisonOptions::default();
    let comparison = Comparison::open(path("base"), path("loader"), &options).expect("compared");
    let first = &comparison.analysis().bill().lines()[0];
    assert!(first.sentence.contains("sleep"), "{}", first.sentence);
    let micros = first.price.as_micros();
    assert!((4_000.0..4_200.0).contains(&micros), "slept 4 ms, shown {micros} us");
}
