//! Tests of pairs in which one change makes another hard to see, and of recordings that lack a part.

use crate::pairs::{compare, file};
use crate::parts::{Part, without};
use crate::shown;
use crate::support::compared::compare_texts;
use tracetree::PerSide;
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::ChangeKind;

/// The kinds of all listed changes, except what was recorded, in the order of the list.
pub(crate) fn kinds(analysis: &Analysis) -> Vec<ChangeKind> {
    let kinds = analysis.changes().list().iter().map(|change| change.kind);
    kinds.filter(|&kind| kind != ChangeKind::Recording).collect()
}

/// Compares two recordings in both directions.
pub(crate) fn both_ways(one: &str, two: &str, look: impl Fn(&Analysis)) {
    compare(one, two, &look);
    compare(two, one, &look);
}

/// Compares two recordings of which one lacks a part, in both directions.
pub(crate) fn lacking(one: &str, two: &str, part: Part, look: impl Fn(&Analysis)) {
    let (Some(one), Some(two)) = (file(one), file(two)) else { return };
    for parts in [PerSide::new(part, Part::Nothing), PerSide::new(Part::Nothing, part)] {
        let texts = PerSide::new(without(&one, parts.baseline), without(&two, parts.candidate));
        compare_texts(&texts, &look);
    }
}

pub(crate) fn has(analysis: &Analysis, words: &str) -> bool {
    analysis.changes().list().iter().any(|change| change.sentence.contains(words))
}

#[test]
fn kernels_that_were_not_recorded_are_not_other_kernels() {
    for name in ["train_base", "resnet_eager"] {
        lacking(name, name, Part::Kernels, |analysis| {
            assert_eq!(kinds(analysis), [], "{name}: {:#?}", shown(analysis));
            assert!(has(analysis, "was recorded with GPU events"), "{:#?}", shown(analysis));
        });
    }
}

#[test]
fn whole_microseconds_do_not_move_calls() {
    for name in [
        "examples/cpu/unet_base.pt.trace",
        "examples/cpu/gpt_inference.pt.trace",
        "examples/cpu/dlrm_compiled.pt.trace",
        "decode_compiled",
        "torch215/cnn_item_3",
        "mi300_h100/vit.h100",
    ] {
        lacking(name, name, Part::Nanoseconds, |analysis| {
            let changes = analysis.changes();
            let rest = changes.remainder();
            assert!(changes.is_identical(), "{name}: {rest:?} {:#?}", shown(analysis));
        });
    }
    // A change of the program is still found.
    let (one, two) = ("examples/cpu/unet_base.pt.trace", "examples/cpu/unet_silu.pt.trace");
    lacking(one, two, Part::Nanoseconds, |analysis| {
        assert!(has(analysis, "SiLU"), "{:#?}", shown(analysis));
    });
}

#[test]
fn without_stacks_a_removed_layer_is_one_change() {
    lacking("train_base", "train_layer_gone", Part::Stacks, |analysis| {
        assert_eq!(kinds(analysis), [ChangeKind::Layers], "{:#?}", shown(analysis));
    });
}

#[test]
fn without_stacks_the_optimizer_is_found_by_the_other_side() {
    lacking("torch215/one_cnn_a", "torch215/one_cnn_adamw", Part::Stacks, |analysis| {
        assert_eq!(kinds(analysis), [ChangeKind::Optimizer], "{:#?}", shown(analysis));
    });
}

#[test]
fn a_model_that_is_called_twice_also_computes_two_losses() {
    let cpu = |name: &str| format!("examples/cpu/{name}.pt.trace");
    both_ways(&cpu("unet_base"), &cpu("unet_accumulate"), |analysis| {
        assert_eq!(kinds(analysis), [ChangeKind::Layers], "{:#?}", shown(analysis));
    });
}

#[test]
fn ops_of_another_layer_do_not_have_other_sizes() {
    both_ways("examples/cnn_extra_op.pt.trace", "cpu/cnn_extra_layer.pt.trace", |analysis| {
        let kinds = kinds(analysis);
        assert!(kinds.contains(&ChangeKind::Layers), "{:#?}", shown(analysis));
        assert!(!kinds.contains(&ChangeKind::Shapes), "{:#?}", shown(analysis));
    });
    // Sizes that only one side has differ in addition to the number of layers.
    both_ways("train_layer_gone", "train_batch", |analysis| {
        let kinds = kinds(analysis);
        assert!(kinds.contains(&ChangeKind::Layers), "{:#?}", shown(analysis));
        assert!(kinds.contains(&ChangeKind::Shapes), "{:#?}", shown(analysis));
    });
}

#[test]
fn groups_are_named_although_the_precision_differs() {
    let cpu = |name: &str| format!("examples/cpu/unet_{name}.pt.trace");
    both_ways(&cpu("groups"), &cpu("bf16"), |analysis| {
        assert!(has(analysis, "is called with groups = "), "{:#?}", shown(analysis));
        assert!(has(analysis, "bfloat16"), "{:#?}", shown(analysis));
        assert!(!kinds(analysis).contains(&ChangeKind::Shapes), "{:#?}", shown(analysis));
    });
}

#[test]
fn hooks_and_attention_are_named_although_layers_run_again() {
    let cpu = |name: &str| format!("examples/cpu/cpu_{name}.pt.trace");
    both_ways(&cpu("checkpoint"), &cpu("hook"), |analysis| {
        assert!(has(analysis, "BackwardHookFunction"), "{:#?}", shown(analysis));
        assert!(kinds(analysis).contains(&ChangeKind::Checkpointing), "{:#?}", shown(analysis));
    });
    both_ways(&cpu("checkpoint"), &cpu("plain_attention"), |analysis| {
        assert!(kinds(analysis).contains(&ChangeKind::Attention), "{:#?}", shown(analysis));
        assert!(kinds(analysis).contains(&ChangeKind::Checkpointing), "{:#?}", shown(analysis));
    });
}

#[test]
fn library_ops_in_compiled_code_still_show_settings_types_and_attention() {
    both_ways("resnet_tf32_off", "resnet_compiled", |analysis| {
        assert!(has(analysis, "cudnn.allow_tf32 = "), "{:#?}", shown(analysis));
        assert!(!kinds(analysis).contains(&ChangeKind::Streams), "{:#?}", shown(analysis));
    });
    both_ways("resnet_benchmark", "resnet_compiled", |analysis| {
        assert!(has(analysis, "cudnn.benchmark = "), "{:#?}", shown(analysis));
    });
    both_ways("resnet_amp", "resnet_compiled", |analysis| {
        assert!(has(analysis, "bfloat16"), "{:#?}", shown(analysis));
    });
    both_ways("tfm_math", "tfm_compiled", |analysis| {
        assert!(kinds(analysis).contains(&ChangeKind::Attention), "{:#?}", shown(analysis));
    });
    both_ways("resnet_eager", "resnet_compiled", |analysis| {
        assert_eq!(kinds(analysis), [ChangeKind::Compilation], "{:#?}", shown(analysis));
    });
}
