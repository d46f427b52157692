//! Tests that each comparability check reports exactly the expected differences.

use crate::support::compared::{compare_files, compare_texts};
use crate::support::trace_builder::{HostThread, Op, TraceBuilder};
use crate::support::traces;
use serde_json::json;
use tracetree::analysis::comparability::Comparability;
use tracetree::{PerSide, Side};

/// A trace that triggers no comparability warning.
fn plain(t: &mut HostThread<'_>, batch: i64, kind: &str) {
    t.annotation(&format!("step[EXTEND bs=1 toks={batch}]"), |t| {
        t.module("Model_0", |t| {
            let op = Op::new("aten::mm").dims(&[&[batch, 8], &[8, 8]]).types(&[kind, kind]);
            t.op(op, |t| t.kernel("gemm", 10.0));
        });
    });
}

fn build(batch: i64, kind: &str) -> TraceBuilder {
    TraceBuilder::cuda().thread("main", |t| plain(t, batch, kind))
}

fn checked(one: TraceBuilder, two: TraceBuilder) -> Comparability {
    compare_texts(&PerSide::new(one.json(), two.json()), |analysis| {
        analysis.comparability().clone()
    })
}

fn codes(found: &Comparability) -> Vec<String> {
    let both = found.both.iter().map(|note| note.code.to_owned());
    let sides = Side::BOTH.into_iter().flat_map(|side| {
        found.sides[side].iter().map(move |note| format!("{} {}", side.label(), note.code))
    });
    both.chain(sides).collect()
}

#[test]
fn equal_runs_are_comparable_without_warnings() {
    let found = checked(build(64, "float"), build(64, "float"));
    assert_eq!(codes(&found), Vec::<String>::new());
    assert!(found.is_comparable());
}

#[test]
fn different_shapes_and_tokens_are_reported() {
    let found = checked(build(64, "float"), build(32, "float"));
    assert_eq!(codes(&found), ["DIFFERENT_SHAPES", "DIFFERENT_TOKENS"]);
    assert!(!found.is_comparable());
    let note = found.both.get("DIFFERENT_SHAPES").expect("the note");
    assert_eq!(note.count, 1);
    assert!(note.message.contains("[[64, 8], [8, 8]] | [[32, 8], [8, 8]]"), "{}", note.message);
    assert!(!note.hint.is_empty());
}

#[test]
fn a_different_precision_is_reported() {
    let found = checked(build(64, "float"), build(64, "c10::BFloat16"));
    assert_eq!(codes(&found), ["DIFFERENT_DTYPE"]);
}

#[test]
fn a_different_model_is_recognised_by_its_modules() {
    let two = build(64, "float").thread("main", |t| {
        t.annotation("step[EXTEND bs=1 toks=64]", |t| {
            t.module("Adapter_0", |t| t.op("aten::mm", |t| t.kernel("gemm", 3.0)));
        });
    });
    let found = checked(build(64, "float"), two);
    assert_eq!(codes(&found), ["DIFFERENT_MODEL", "DIFFERENT_STEP_COUNT"]);
    let message = &found.both.get("DIFFERENT_MODEL").expect("the note").message;
    assert!(message.contains("Adapter (0 | 1)"), "{message}");
}

#[test]
fn a_different_number_of_steps_is_reported_but_is_comparable() {
    let two = build(64, "float").thread("main", |t| plain(t, 64, "float"));
    let found = checked(build(64, "float"), two);
    assert_eq!(codes(&found), ["DIFFERENT_STEP_COUNT"]);
    assert!(found.is_comparable());
}

#[test]
fn a_different_world_size_is_reported() {
    let ranks = |size: i64| {
        let info = json!({"backend": "nccl", "rank": 0, "world_size": size});
        build(64, "float").header("distributedInfo", info)
    };
    assert_eq!(codes(&checked(ranks(8), ranks(2))), ["DIFFERENT_WORLD_SIZE"]);
    assert_eq!(codes(&checked(ranks(8), ranks(8))), Vec::<String>::new());
}

#[test]
fn missing_data_of_one_side_is_reported_for_that_side() {
    let bare = TraceBuilder::cuda().thread("main", |t| {
        t.op("aten::mm", |t| t.launch("cudaGraphLaunch").graph(|graph| graph.kernel("gemm", 10.0)));
    });
    let found = checked(build(64, "float"), bare);
    let expected = [
        "DIFFERENT_STEP_COUNT",
        "trace2 GRAPH_REPLAY",
        "trace2 NO_PYTHON_STACKS",
        "trace2 NO_SHAPES",
    ];
    assert_eq!(codes(&found), expected);
    let message = &found.sides.candidate.get("GRAPH_REPLAY").expect("the note").message;
    assert!(message.starts_with("100.0% of the GPU time"), "{message}");
}

#[test]
fn a_kernel_before_its_launch_is_reported() {
    let early = build(64, "float")
        .event(json!({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 5617,
            "tid": 5617, "ts": 90_000.0, "dur": 5.0, "args": {"correlation": 900}}))
        .event(json!({"ph": "X", "cat": "kernel", "name": "early", "pid": 0, "tid": 7,
            "ts": 80_000.0, "dur": 5.0,
            "args": {"correlation": 900, "device": 0, "stream": 7}}));
    assert_eq!(codes(&checked(build(64, "float"), early)), ["trace2 CLOCK_SKEW"]);
}

#[test]
fn the_clocks_of_host_and_gpu_may_be_a_microsecond_apart() {
    let early = |micros: f64| {
        let launch = json!({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel",
            "pid": 5617, "tid": 5617, "ts": 90_000.0, "dur": 5.0, "args": {"correlation": 900}});
        let kernel = json!({"ph": "X", "cat": "kernel", "name": "early", "pid": 0, "tid": 7,
            "ts": 90_000.0 - micros, "dur": 5.0,
            "args": {"correlation": 900, "device": 0, "stream": 7}});
        let found = checked(build(64, "float"), build(64, "float").event(launch).event(kernel));
        found.sides.candidate.get("CLOCK_SKEW").is_some()
    };
    assert!(!early(1.0));
    assert!(early(1.5));
}

#[test]
fn modules_hidden_by_a_replay_are_not_a_different_model() {
    let replayed = |micros: f64| {
        build(64, "float").thread("main", |t| {
            t.launch("cudaGraphLaunch").graph(|graph| graph.kernel("gemm", micros));
        })
    };
    let eager = build(64, "float").thread("main", |t| {
        t.module("Adapter_0", |t| t.op("aten::mm", |t| t.kernel("gemm", 3.0)));
    });
    let eager = eager.json();
    let differ = |replay: TraceBuilder| {
        compare_texts(&PerSide::new(eager.clone(), replay.json()), |analysis| {
            analysis.comparability().both.get("DIFFERENT_MODEL").is_some()
        })
    };
    // In addition to the graph, the trace from `build` contains a kernel of 10 µs. A graph of 11 µs takes slightly more
    // than half of the total time, and a graph of 9 µs takes slightly less than half.
    assert!(!differ(replayed(11.0)));
    assert!(differ(replayed(9.0)));
}

/// Whether two files are reported as traces of different models: first in the given order, and then with the sides
/// swapped.
fn is_other_model(one: std::path::PathBuf, two: std::path::PathBuf) -> [bool; 2] {
    let pair = PerSide::new(one, two);
    [pair.clone(), pair.swap()].map(|pair| {
        compare_files(pair, |analysis| {
            analysis.comparability().both.get("DIFFERENT_MODEL").is_some()
        })
    })
}

#[test]
fn modules_replaced_by_a_region_are_not_a_different_model() {
    for (one, two) in [
        ("cnn_eager", "cnn_compiled"),
        ("tfm_eager", "tfm_compiled"),
        ("tfm_eager", "tfm_compiled_blocks"),
        ("h100/decode_eager", "h100/decode_compiled"),
        ("h100/resnet_eager", "h100/resnet_compiled"),
        ("h100/tfm_flash", "h100/tfm_compiled"),
        ("h200/resnet_eager", "h100/resnet_compiled"),
        ("h200/tfm_flash", "h100/tfm_compiled"),
    ] {
        let [first, second] =
            [one, two].map(|name| traces::example(&format!("{name}.pt.trace.json.gz")));
        assert_eq!(is_other_model(first, second), [false, false], "{one} {two}");
    }
    let names = ["torch215/one_cnn_a.json.gz", "torch215/one_cnn_compile.json.gz"];
    let [Some(one), Some(two)] = names.map(traces::real) else { return };
    assert_eq!(is_other_model(one, two), [false, false]);
}

#[test]
fn a_different_model_is_reported_even_if_it_was_compiled() {
    for (one, two) in [
        ("cnn_eager", "tfm_compiled"),
        ("tfm_eager", "cnn_compiled"),
        ("h100/resnet_eager", "h100/tfm_compiled"),
        ("h100/tfm_flash", "h100/resnet_compiled"),
        ("h100/tfm_flash", "h100/decode_compiled"),
        ("h100/decode_eager", "h100/tfm_compiled"),
        ("h100/train_base", "h100/resnet_compiled"),
    ] {
        let [first, second] =
            [one, two].map(|name| traces::example(&format!("{name}.pt.trace.json.gz")));
        assert_eq!(is_other_model(first, second), [true, true], "{one} {two}");
    }
}

#[test]
fn one_model_on_two_platforms_is_comparable() {
    for model in ["bert", "vit", "timesformer"] {
        let names = ["mi300", "h100"].map(|gpu| format!("mi300_h100/{model}.{gpu}.json.gz"));
        let [Some(one), Some(two)] = names.map(|name| traces::real(&name)) else { return };
        compare_files(PerSide::new(one, two), |analysis| {
            assert!(analysis.comparability().is_comparable(), "{model}");
        });
    }
}

#[test]
fn known_changes_get_their_own_notes() {
    let pair = |name: &str| {
        let one = traces::real("cpu/cnn.pt.trace.json.gz")?;
        Some(PerSide::new(one, traces::real(&format!("cpu/{name}.pt.trace.json.gz"))?))
    };
    for (name, expected) in [
        ("cnn_rerun", vec![]),
        ("cnn_conv5x5", vec!["DIFFERENT_SHAPES"]),
        ("cnn_extra_layer", vec!["DIFFERENT_MODEL"]),
        ("cnn_nostack", vec!["DIFFERENT_OPTIONS", "trace2 NO_PYTHON_STACKS"]),
    ] {
        let Some(paths) = pair(name) else { return };
        let found = compare_files(paths, |analysis| analysis.comparability().clone());
        assert_eq!(codes(&found), expected, "{name}");
    }
}

#[test]
fn different_recording_options_and_machines_are_reported_but_are_comparable() {
    let run = |rank: i64, backend: &str, cuda: i64, stack: i64| {
        build(64, "float")
            .header("distributedInfo", json!({"backend": backend, "rank": rank, "world_size": 2}))
            .header("cuda_runtime_version", json!(cuda))
            .header("with_stack", json!(stack))
            .header("record_shapes", json!(1))
    };
    let found = checked(run(0, "nccl", 12_010, 1), run(1, "gloo", 12_040, 0));
    let expected =
        ["DIFFERENT_RANK", "DIFFERENT_BACKEND", "DIFFERENT_VERSIONS", "DIFFERENT_OPTIONS"];
    assert_eq!(codes(&found), expected);
    assert!(found.is_comparable());
    let message = |code: &str| found.both.get(code).expect("the note").message.clone();
    assert_eq!(
        message("DIFFERENT_VERSIONS"),
        "the versions differ: cuda_runtime_version 12010 | 12040"
    );
    assert_eq!(message("DIFFERENT_OPTIONS"), "the profiler recorded with_stack in baseline only");
}

#[test]
fn two_different_devices_are_reported_by_name() {
    let Some(one) = traces::real("mi300_h100/vit.mi300.json.gz") else { return };
    let Some(two) = traces::real("mi300_h100/vit.h100.json.gz") else { return };
    compare_files(PerSide::new(one, two), |analysis| {
        let note = analysis.comparability().both.get("DIFFERENT_DEVICE").cloned();
        let message = note.expect("the note").message;
        assert!(message.contains("H100"), "{message}");
    });
}

#[test]
fn a_transformer_and_a_convolutional_network_are_not_comparable() {
    let Some(one) = traces::real("mi300_h100/bert.mi300.json.gz") else { return };
    let Some(two) = traces::real("training/resnet50_ddp.a100.json.gz") else { return };
    compare_files(PerSide::new(one, two), |analysis| {
        let found = analysis.comparability();
        assert!(found.both.get("DIFFERENT_ARCHITECTURE").is_some(), "{:?}", codes(found));
        assert!(!found.is_comparable());
    });
}

#[test]
fn a_note_that_is_the_same_for_both_sides_is_one_line() {
    let bare = || TraceBuilder::cuda().thread("main", |t| t.op("aten::mm", |t| t.kernel("k", 1.0)));
    let texts = PerSide::new(bare().json(), bare().json());
    compare_texts(&texts, |analysis| {
        let summary = tracetree::report::summarise(analysis);
        let about: Vec<(Option<&str>, &str)> =
            summary.notes.iter().map(|note| (note.side, note.note.code)).collect();
        assert_eq!(about.iter().filter(|(_, code)| *code == "NO_PYTHON_STACKS").count(), 1);
        assert!(about.contains(&(None, "NO_PYTHON_STACKS")), "{about:?}");
        assert!(about.iter().all(|(_, code)| *code != "NO_PHASE_ANNOTATIONS"), "{about:?}");
    });
}
