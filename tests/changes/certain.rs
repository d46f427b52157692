//! Tests of sentences that are easily wrong. Each sentence has a pair for which it is true, and one for which it must not
//! be printed.

use crate::pairs::compare;
use crate::shown;
use crate::support::compared::{compare_files, compare_texts, steps_of};
use crate::support::trace_builder::Op;
use crate::support::traces::{example, real};
use tracetree::PerSide;
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::{Change, ChangeKind};
use tracetree::report::Narrative;

/// Compares two traces of the folder `certain` in both directions.
fn certain(one: &str, two: &str, mut look: impl FnMut(&Analysis, bool)) {
    let path = |name: &str| real(&format!("certain/{name}.json.gz"));
    let (Some(one), Some(two)) = (path(one), path(two)) else { return };
    compare_files(PerSide::new(&one, &two), |analysis| look(analysis, false));
    compare_files(PerSide::new(&two, &one), |analysis| look(analysis, true));
}

fn sentences(analysis: &Analysis) -> Vec<String> {
    analysis.changes().list().iter().map(|change| change.sentence.clone()).collect()
}

fn find<'a>(analysis: &'a Analysis, words: &str) -> Option<&'a Change> {
    analysis.changes().list().iter().find(|change| change.sentence.contains(words))
}

#[test]
fn an_upgraded_library_is_the_first_change() {
    certain("bert3_torch26_tf457", "bert3_torch215_tf457", |analysis, _| {
        let first = &analysis.changes().list()[0];
        assert_eq!(first.kind, ChangeKind::Environment, "{:#?}", shown(analysis));
        assert!(first.sentence.starts_with("torch was upgraded or edited ("), "{}", first.sentence);
        assert!(first.sentence.ends_with("transformers unchanged)"), "{}", first.sentence);
        let lines = &Narrative::of(analysis).certain.lines;
        assert_eq!(lines[0].sentence, first.sentence);
        assert!(find(analysis, "aten::_unsafe_view").is_none(), "{:#?}", shown(analysis));
    });
    for (one, two) in [("tiny_base", "tiny_anomaly"), ("llama_base", "llama_mask")] {
        certain(one, two, |analysis, _| {
            assert!(find(analysis, "upgraded").is_none(), "{one} → {two}")
        });
    }
}

#[test]
fn anomaly_detection_is_one_change() {
    certain("tiny_base", "tiny_anomaly", |analysis, is_swapped| {
        let verb = if is_swapped { "no longer checks" } else { "checks" };
        let shown = shown(analysis);
        let first =
            find(analysis, &format!("Anomaly detection {verb}")).expect("anomaly detection");
        assert_eq!(first.usual(), "torch.autograd.set_detect_anomaly(True)");
        assert_eq!(shown.len(), 1, "{shown:#?}");
    });
    certain("tiny_base", "tiny_onegroup", |analysis, _| {
        assert!(find(analysis, "Anomaly").is_none(), "{:#?}", shown(analysis));
    });
}

#[test]
fn parameter_groups_are_counted() {
    certain("tiny_base", "tiny_onegroup", |analysis, is_swapped| {
        let words = if is_swapped {
            "2 parameter groups instead of 1"
        } else {
            "1 parameter group instead of 2"
        };
        let change = find(analysis, words).unwrap_or_else(|| panic!("{:#?}", shown(analysis)));
        assert_eq!((change.kind, change.usual()), (ChangeKind::Optimizer, ""));
    });
    certain("tiny_base", "tiny_anomaly", |analysis, _| {
        assert!(find(analysis, "parameter group").is_none(), "{:#?}", shown(analysis));
    });
}

#[test]
fn fused_and_foreach_are_mentioned_only_if_the_implementation_differs() {
    const OPTIONS: &str = "the optimizer's fused= and foreach= options";
    let usual = |one: &str, two: &str| {
        compare(one, two, |analysis| {
            let list = analysis.changes().list().iter();
            list.filter(|change| change.kind == ChangeKind::Optimizer)
                .map(|change| change.usual())
                .collect::<Vec<_>>()
        })
    };
    let cpu = |name: &str| format!("examples/cpu/cpu_{name}.pt.trace");
    assert_eq!(usual("train_base", "train_fused_adam"), Some(vec![OPTIONS]));
    assert_eq!(usual(&cpu("adam"), &cpu("adam_foreach")), Some(vec![OPTIONS]));
    assert_eq!(usual(&cpu("base"), &cpu("adam")), Some(vec![""]));
    assert_eq!(usual(&cpu("base"), &cpu("zero_grad")), Some(vec!["zero_grad(set_to_none=)"]));
}

#[test]
fn two_changes_of_the_optimizer_are_two() {
    compare("examples/cpu/cpu_adam.pt.trace", "examples/cpu/cpu_zero_grad.pt.trace", |analysis| {
        assert!(
            find(analysis, "The optimizer is SGD instead of Adam").is_some(),
            "{:#?}",
            shown(analysis)
        );
        assert!(
            find(analysis, "sets gradients to zero instead of None").is_some(),
            "{:#?}",
            shown(analysis)
        );
    });
}

#[test]
fn the_batch_size_is_a_hint_only_if_the_inputs_of_the_model_grew() {
    let usual = |change: &Change| (change.kind == ChangeKind::Shapes).then(|| change.usual());
    compare("train_base", "train_batch", |analysis| {
        let found: Vec<_> = analysis.changes().list().iter().filter_map(usual).collect();
        assert_eq!(found, ["batch size, sequence length"]);
    });
    certain("llama_base", "llama_mask", |analysis, _| {
        let mut found = analysis.changes().list().iter().filter_map(usual);
        assert!(found.all(|usual| !usual.contains("batch")), "{:#?}", shown(analysis));
    });
}

#[test]
fn the_operand_that_differs_is_named() {
    let (Some(base), Some(wide)) =
        (real("cpu/cnn.pt.trace.json.gz"), real("cpu/cnn_conv5x5.pt.trace.json.gz"))
    else {
        return;
    };
    compare_files(PerSide::new(&base, &wide), |analysis| {
        let change = find(analysis, "The weight is 5×5 instead of 3×3");
        assert_eq!(change.unwrap_or_else(|| panic!("{:#?}", shown(analysis))).usual(), "");
    });
    compare_files(PerSide::new(&wide, &base), |analysis| {
        assert!(
            find(analysis, "The weight is 3×3 instead of 5×5").is_some(),
            "{:#?}",
            shown(analysis)
        );
    });
    compare("train_base", "train_batch", |analysis| {
        assert!(find(analysis, "weight is").is_none(), "{:#?}", shown(analysis));
    });
}

#[test]
fn a_setting_is_named_although_the_precision_differs() {
    compare("resnet_amp", "resnet_tf32_off", |analysis| {
        let shown = sentences(analysis);
        assert!(
            shown.iter().any(|line| line.contains("float32 instead of bfloat16")),
            "{shown:#?}"
        );
        assert!(shown.iter().any(|line| line.contains("cudnn.allow_tf32")), "{shown:#?}");
    });
    compare("resnet_eager", "resnet_amp", |analysis| {
        let shown = sentences(analysis);
        assert!(!shown.iter().any(|line| line.contains("cudnn.")), "{shown:#?}");
    });
    for other in ["resnet_amp", "resnet_channels_last", "resnet_tf32_off"] {
        compare(other, "resnet_benchmark", |analysis| {
            let shown = sentences(analysis);
            assert!(
                shown.iter().any(|line| line.contains("cudnn.benchmark")),
                "{other}: {shown:#?}"
            );
        });
    }
}

#[test]
fn frames_alone_are_compared() {
    let path = |name: &str| real(&format!("recorders/us_{name}.json"));
    let (Some(one), Some(two)) = (path("a"), path("b")) else { return };
    compare_files(PerSide::new(one, two), |analysis| {
        assert_eq!(shown(analysis), Vec::<String>::new());
        let state = Narrative::of(analysis).state;
        let expected =
            "The programs are identical as far as recorded: every call matches; not recorded: ops";
        assert_eq!(state.as_deref(), Some(expected));
    });
}

#[test]
fn a_tensor_in_other_dimensions_is_not_larger() {
    let path = |name: &str| example(&format!("cpu/{name}.pt.trace.json.gz"));
    compare_files(PerSide::new(path("gpt_base"), path("gpt_plain_attention")), |analysis| {
        let shown = shown(analysis);
        assert!(!shown.iter().any(|line| line.contains("as large")), "{shown:#?}");
    });
}

#[test]
fn graphs_on_several_streams_are_a_change_of_streams() {
    compare("decode_graph", "decode_graph_streams", |analysis| {
        assert_eq!(sentences(analysis), ["GPU work runs on 9 instead of 1 streams"]);
    });
    compare("decode_graph", "decode_graph", |analysis| {
        assert_eq!(sentences(analysis), Vec::<String>::new());
    });
}

#[test]
fn other_kernels_are_for_the_same_tensors_only_if_shapes_were_recorded() {
    let run = |has_shapes: bool, kernel: &str| {
        steps_of(2, |t| {
            let op = Op::new("aten::mm");
            t.op(if has_shapes { op.dims(&[&[4, 4], &[4, 4]]) } else { op }, |t| {
                t.kernel(kernel, 50.0)
            });
        })
    };
    for (has_shapes, expected) in
        [(true, "different kernels for the same tensors"), (false, "(shapes were not recorded)")]
    {
        let texts = PerSide::new(run(has_shapes, "gemm_64x64"), run(has_shapes, "gemm_128x128"));
        compare_texts(&texts, |analysis| {
            assert!(find(analysis, expected).is_some(), "{:#?}", shown(analysis));
        });
    }
}
