//! Tests that each known change is found, named correctly and listed first, whichever side is the baseline. If a pair
//! has two known changes, both must be found.

use crate::pairs::{JAX, KNOWN, compare};
use crate::shown;
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::ChangeKind;

#[test]
fn a_known_change_is_the_most_expensive_one() {
    let mut missed = Vec::new();
    for pair in KNOWN.into_iter().chain(JAX) {
        compare(pair.baseline, pair.candidate, |analysis| {
            let first = analysis.changes().list().first();
            let is_found = first.is_some_and(|first| {
                first.kind == pair.kind && first.sentence.contains(pair.words)
            });
            if !is_found {
                missed.push(format!(
                    "{} → {}: {:#?}",
                    pair.baseline,
                    pair.candidate,
                    shown(analysis)
                ));
            }
        });
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn a_known_change_is_found_from_the_other_side() {
    let mut missed = Vec::new();
    for pair in KNOWN.into_iter().chain(JAX) {
        compare(pair.candidate, pair.baseline, |analysis| {
            let first = analysis.changes().list().first();
            if first.is_none_or(|first| first.kind != pair.kind) {
                missed.push(format!(
                    "{} → {}: {:#?}",
                    pair.candidate,
                    pair.baseline,
                    shown(analysis)
                ));
            }
        });
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Pairs of recordings of the same program. Each recording in a pair has a change, and both changes must be found.
const CROSSED: [(&str, &str, [ChangeKind; 2]); 22] = [
    ("train_relu", "train_item", [ChangeKind::Ops, ChangeKind::HostRead]),
    ("train_clip", "train_fused_adam", [ChangeKind::Ops, ChangeKind::Optimizer]),
    ("train_batch", "train_dropout", [ChangeKind::Shapes, ChangeKind::Ops]),
    ("train_layer_gone", "train_loader", [ChangeKind::Layers, ChangeKind::Python]),
    ("train_foreach_off", "train_batch", [ChangeKind::Optimizer, ChangeKind::Shapes]),
    ("train_item", "train_loader", [ChangeKind::HostRead, ChangeKind::Python]),
    ("train_gelu", "train_layer_gone", [ChangeKind::Ops, ChangeKind::Layers]),
    ("resnet_tf32_off", "resnet_channels_last", [ChangeKind::MathMode, ChangeKind::MemoryFormat]),
    ("resnet_amp", "resnet_channels_last", [ChangeKind::Precision, ChangeKind::MemoryFormat]),
    ("torch215/cnn_gelu_1", "torch215/cnn_item_1", [ChangeKind::Ops, ChangeKind::HostRead]),
    ("torch215/cnn_sleep_1", "torch215/cnn_extra_1", [ChangeKind::Python, ChangeKind::Ops]),
    ("torch215/cnn_bf16_1", "torch215/cnn_sleep_2", [ChangeKind::Precision, ChangeKind::Python]),
    (
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_bf16+clip.pt.trace",
        [ChangeKind::Precision, ChangeKind::Ops],
    ),
    (
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_blocks+item.pt.trace",
        [ChangeKind::Layers, ChangeKind::HostRead],
    ),
    (
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_length+adam.pt.trace",
        [ChangeKind::Shapes, ChangeKind::Optimizer],
    ),
    (
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_plain_attention+hook.pt.trace",
        [ChangeKind::Attention, ChangeKind::Ops],
    ),
    (
        "examples/cpu/cpu_hook.pt.trace",
        "examples/cpu/cpu_layer_norm.pt.trace",
        [ChangeKind::Ops, ChangeKind::Ops],
    ),
    (
        "examples/cpu/cpu_bias.pt.trace",
        "examples/cpu/cpu_dropout.pt.trace",
        [ChangeKind::Arguments, ChangeKind::Arguments],
    ),
    (
        "examples/cpu/unet_silu.pt.trace",
        "examples/cpu/unet_schedule.pt.trace",
        [ChangeKind::Ops, ChangeKind::Python],
    ),
    (
        "examples/cpu/unet_frozen_norm.pt.trace",
        "examples/cpu/unet_bf16.pt.trace",
        [ChangeKind::Arguments, ChangeKind::Precision],
    ),
    (
        "examples/cpu/gpt_top_k.pt.trace",
        "examples/cpu/gpt_plain_attention.pt.trace",
        [ChangeKind::Ops, ChangeKind::Attention],
    ),
    (
        "examples/cpu/cpu_plain_attention.pt.trace",
        "examples/cpu/cpu_bias.pt.trace",
        [ChangeKind::Attention, ChangeKind::Arguments],
    ),
];

#[test]
fn two_changes_at_once_are_both_found() {
    let has_both = |analysis: &Analysis, kinds: [ChangeKind; 2]| {
        let list = analysis.changes().list().iter();
        let mut found: Vec<ChangeKind> = list.map(|change| change.kind).collect();
        kinds.into_iter().all(|kind| {
            let at = found.iter().position(|&one| one == kind);
            at.is_some_and(|at| found.swap_remove(at) == kind)
        })
    };
    let mut missed = Vec::new();
    for (baseline, candidate, kinds) in CROSSED {
        compare(baseline, candidate, |analysis| {
            if !has_both(analysis, kinds) {
                missed.push(format!("{baseline} → {candidate}: {:#?}", shown(analysis)));
            }
        });
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
