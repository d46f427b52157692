//! Tests of changes that only the numbers of ops, or ops without a counterpart, show.

use crate::parts::Part;
use crate::several::{both_ways, has, kinds, lacking};
use crate::shown;
use crate::support::compared::compare_files;
use crate::support::traces::example;
use tracetree::PerSide;
use tracetree::analysis::changes::{Certainty, ChangeKind};

fn cpu(name: &str) -> String {
    format!("examples/cpu/{name}.pt.trace")
}

#[test]
fn without_stacks_the_ops_of_a_layer_show_how_often_it_is_called() {
    lacking("train_base", "train_layer_gone", Part::Stacks, |analysis| {
        assert_eq!(kinds(analysis), [ChangeKind::Layers], "{:#?}", shown(analysis));
        assert!(has(analysis, "2 instead of 3 Block calls"), "{:#?}", shown(analysis));
    });
    lacking(&cpu("cpu_base"), &cpu("cpu_accumulate"), Part::Stacks, |analysis| {
        assert_eq!(kinds(analysis), [ChangeKind::Layers], "{:#?}", shown(analysis));
        assert!(has(analysis, "2 instead of 1 Net calls"), "{:#?}", shown(analysis));
    });
    lacking("cpu/cnn.pt.trace", "cpu/cnn_extra_layer.pt.trace", Part::Stacks, |analysis| {
        assert!(has(analysis, "4 instead of 3 Block calls"), "{:#?}", shown(analysis));
    });
    // Other ops are not the ops of a layer.
    for two in ["train_clip", "train_gelu", "train_dropout"] {
        lacking("train_base", two, Part::Stacks, |analysis| {
            assert!(!kinds(analysis).contains(&ChangeKind::Layers), "{:#?}", shown(analysis));
        });
    }
    lacking(&cpu("cpu_base"), &cpu("cpu_checkpoint"), Part::Stacks, |analysis| {
        assert_eq!(kinds(analysis), [ChangeKind::Checkpointing], "{:#?}", shown(analysis));
    });
}

#[test]
fn library_ops_in_compiled_code_count_layers_and_show_that_they_run_again() {
    for two in ["cpu_compiled", "cpu_graph_break"] {
        both_ways(&cpu("cpu_blocks+item"), &cpu(two), |analysis| {
            assert!(has(analysis, " Block calls per step"), "{:#?}", shown(analysis));
            assert!(!has(analysis, "AccumulateGrad"), "{:#?}", shown(analysis));
        });
        both_ways(&cpu("cpu_checkpoint"), &cpu(two), |analysis| {
            assert!(has(analysis, "3 × Block again"), "{:#?}", shown(analysis));
        });
        both_ways(&cpu("cpu_base"), &cpu(two), |analysis| {
            assert_eq!(kinds(analysis), [ChangeKind::Compilation], "{:#?}", shown(analysis));
        });
    }
}

#[test]
fn parameters_that_only_one_side_has_are_counted_if_compiled_code_hides_them() {
    both_ways(&cpu("cpu_bias"), &cpu("cpu_compiled"), |analysis| {
        assert!(has(analysis, "15 parameters"), "{:#?}", shown(analysis));
    });
    both_ways(&cpu("cpu_dropout"), &cpu("cpu_compiled"), |analysis| {
        assert_eq!(kinds(analysis), [ChangeKind::Compilation], "{:#?}", shown(analysis));
    });
}

#[test]
fn an_op_that_replaces_another_one_keeps_its_parameters() {
    both_ways(&cpu("lstm_gru"), &cpu("lstm_bidirectional"), |analysis| {
        assert!(has(analysis, "bidirectional = "), "{:#?}", shown(analysis));
        assert!(!kinds(analysis).contains(&ChangeKind::Shapes), "{:#?}", shown(analysis));
    });
    both_ways(&cpu("lstm_base"), &cpu("lstm_gru"), |analysis| {
        assert_eq!(kinds(analysis), [ChangeKind::Ops], "{:#?}", shown(analysis));
    });
}

#[test]
fn a_bias_is_named_although_layers_run_again() {
    both_ways(&cpu("cpu_checkpoint"), &cpu("cpu_bias"), |analysis| {
        assert!(has(analysis, "optional tensor, such as a bias"), "{:#?}", shown(analysis));
        assert!(has(analysis, "3 × Block again"), "{:#?}", shown(analysis));
    });
    both_ways(&cpu("cpu_checkpoint"), &cpu("cpu_base"), |analysis| {
        assert_eq!(kinds(analysis), [ChangeKind::Checkpointing], "{:#?}", shown(analysis));
    });
}

#[test]
fn layers_that_run_again_do_not_hide_how_often_the_model_is_called() {
    both_ways(&cpu("cpu_accumulate"), &cpu("cpu_checkpoint"), |analysis| {
        let mut kinds = kinds(analysis);
        kinds.sort();
        let both = [ChangeKind::Checkpointing, ChangeKind::Layers];
        assert_eq!(kinds, both, "{:#?}", shown(analysis));
    });
    both_ways(&cpu("unet_accumulate"), &cpu("unet_bf16"), |analysis| {
        let mut kinds = kinds(analysis);
        kinds.sort();
        assert_eq!(kinds, [ChangeKind::Precision, ChangeKind::Layers], "{:#?}", shown(analysis));
    });
    // The data loader runs more often with the model, although layers were added, too.
    both_ways(&cpu("cpu_accumulate"), &cpu("cpu_blocks+item"), |analysis| {
        let kinds = kinds(analysis);
        assert!(!kinds.contains(&ChangeKind::InputPipeline), "{:#?}", shown(analysis));
    });
    both_ways(&cpu("cpu_base"), &cpu("cpu_workers"), |analysis| {
        assert_eq!(kinds(analysis), [ChangeKind::InputPipeline], "{:#?}", shown(analysis));
    });
}

#[test]
fn the_mode_of_an_op_in_compiled_code_is_named() {
    both_ways(&cpu("dlrm_mean"), &cpu("dlrm_compiled"), |analysis| {
        assert!(
            has(analysis, "aten::_embedding_bag is called with mode = "),
            "{:#?}",
            shown(analysis)
        );
    });
    both_ways(&cpu("dlrm_base"), &cpu("dlrm_compiled"), |analysis| {
        assert_eq!(kinds(analysis), [ChangeKind::Compilation], "{:#?}", shown(analysis));
    });
}

#[test]
fn a_module_that_a_region_replaced_was_not_removed() {
    both_ways(&cpu("unet_channels_last"), &cpu("unet_compiled"), |analysis| {
        assert!(!has(analysis, "UNet,"), "{:#?}", shown(analysis));
        assert!(kinds(analysis).contains(&ChangeKind::Compilation), "{:#?}", shown(analysis));
    });
}

#[test]
fn without_shapes_autocast_is_named() {
    lacking("resnet_eager", "resnet_amp", Part::Shapes, |analysis| {
        assert!(has(analysis, "torch.autocast"), "{:#?}", shown(analysis));
        assert!(!kinds(analysis).contains(&ChangeKind::Python), "{:#?}", shown(analysis));
    });
    both_ways("resnet_eager", "resnet_amp", |analysis| {
        assert!(!has(analysis, "torch.autocast"), "{:#?}", shown(analysis));
    });
    // Both programs call it, and one calls it twice.
    lacking(&cpu("unet_base"), &cpu("unet_accumulate"), Part::Shapes, |analysis| {
        assert_eq!(kinds(analysis), [ChangeKind::Layers], "{:#?}", shown(analysis));
    });
}

#[test]
fn without_gpu_events_graphs_are_named_and_a_read_is_one_change() {
    for (one, two) in [("resnet_eager", "resnet_reduce_overhead"), ("decode_eager", "decode_graph")]
    {
        lacking(one, two, Part::Kernels, |analysis| {
            assert!(kinds(analysis).contains(&ChangeKind::Graphs), "{:#?}", shown(analysis));
        });
    }
    lacking("train_base", "train_item", Part::Kernels, |analysis| {
        let kinds = kinds(analysis);
        assert!(!kinds.contains(&ChangeKind::Synchronization), "{:#?}", shown(analysis));
    });
    lacking(
        "examples/known/host_base.pt.trace",
        "examples/known/host_sync.pt.trace",
        Part::Kernels,
        |analysis| {
            let kinds = kinds(analysis);
            assert!(kinds.contains(&ChangeKind::Synchronization), "{:#?}", shown(analysis));
        },
    );
}

#[test]
fn other_kernels_are_certain_only_if_settings_were_recorded() {
    let is = |certainty: Certainty| {
        move |analysis: &tracetree::analysis::Analysis| {
            let changes = analysis.changes().list().iter();
            let mut kernels = changes.filter(|change| change.kind == ChangeKind::KernelSelection);
            assert!(kernels.all(|change| change.certainty == certainty), "{:#?}", shown(analysis));
        }
    };
    both_ways("resnet_eager", "resnet_benchmark", is(Certainty::Certain));
    lacking("resnet_eager", "resnet_benchmark", Part::Shapes, is(Certainty::Likely));
}

#[test]
fn the_same_calls_in_another_order_do_not_have_other_sizes() {
    let experts = |name: &str| format!("examples/layers/experts_{name}.pt.trace");
    lacking(&experts("base"), &experts("shuffled"), Part::Kernels, |analysis| {
        assert!(!kinds(analysis).contains(&ChangeKind::Shapes), "{:#?}", shown(analysis));
    });
}

#[test]
fn without_stacks_an_op_inside_added_ops_does_not_have_other_sizes() {
    lacking(&cpu("gpt_base"), &cpu("gpt_top_k"), Part::Stacks, |analysis| {
        assert!(!kinds(analysis).contains(&ChangeKind::Shapes), "{:#?}", shown(analysis));
    });
    lacking(&cpu("cpu_base"), &cpu("cpu_length"), Part::Stacks, |analysis| {
        assert_eq!(kinds(analysis), [ChangeKind::Shapes], "{:#?}", shown(analysis));
    });
}

#[test]
fn ops_that_compiled_code_replaced_were_not_removed() {
    let gpt = |name: &str| format!("examples/layers/gpt_{name}.pt.trace");
    lacking(&gpt("base"), &gpt("half"), Part::Kernels, |analysis| {
        assert_eq!(kinds(analysis), [ChangeKind::Compilation], "{:#?}", shown(analysis));
    });
}

#[test]
fn what_the_code_of_another_platform_runs_is_part_of_the_environment() {
    lacking("mi300_h100/bert.mi300", "mi300_h100/bert.h100", Part::Kernels, |analysis| {
        let kinds = kinds(analysis);
        assert!(!kinds.contains(&ChangeKind::Python), "{:#?}", shown(analysis));
        assert!(!kinds.contains(&ChangeKind::Synchronization), "{:#?}", shown(analysis));
    });
}

#[test]
fn a_type_that_only_one_xla_program_uses_is_a_change_of_precision() {
    let compare = |two: &str, look: &dyn Fn(&tracetree::analysis::Analysis)| {
        let path = |name: &str| example(&format!("jax/jax_cpu_{name}.xplane.pb.gz"));
        let paths = PerSide::new(path("base"), path(two));
        compare_files(paths.clone(), look);
        compare_files(paths.swap(), look);
    };
    compare("bfloat16", &|analysis| {
        assert_eq!(kinds(analysis), [ChangeKind::Precision], "{:#?}", shown(analysis));
        assert!(has(analysis, "bfloat16"), "{:#?}", shown(analysis));
    });
    compare("relu", &|analysis| {
        assert!(!kinds(analysis).contains(&ChangeKind::Precision), "{:#?}", shown(analysis));
    });
}
