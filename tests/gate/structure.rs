//! What a gate says of the structure of real pairs, of runs of one program, and of steps of one run.

use crate::support::files::inflated;
use crate::support::gated::{check, check_structure, digest};
use crate::support::trace_builder::TraceBuilder;
use crate::support::traces::real;
use std::path::Path;
use tracetree::gate::{Date, Digest, Gate, Outcome, Rules, Structure, StructureRule};
use tracetree::program::{Selection, Steps};
use tracetree::trace::{ReadOptions, Trace};
use tracetree::tree::CallTree;

fn file(path: &Path) -> Digest {
    digest([CallTree::build(Trace::open(path).expect("a readable trace"))])
}

fn cpu(name: &str) -> Option<Digest> {
    Some(file(&real(&format!("cpu/{name}.pt.trace.json.gz"))?))
}

/// Rules and places of all changes.
fn told(structure: &Structure) -> Vec<(&'static str, String)> {
    structure.changes.iter().map(|c| (c.rule.label(), c.place.words())).collect()
}

fn assert_nothing(baseline: &Digest, candidate: &Digest, what: &str) {
    for (one, two) in [(baseline, candidate), (candidate, baseline)] {
        let structure = Structure::of(one, two);
        assert_eq!(told(&structure), [], "{what}: {:?}", structure.changes);
        let gate = check_structure(one, two);
        assert_eq!(gate.outcome, Outcome::Pass, "{what}: {:?}", gate.reasons);
    }
}

#[test]
fn each_step_counts_what_it_launched_and_where_it_waited() {
    let builder = TraceBuilder::cuda().thread("main", |t| {
        for number in 0..2 {
            t.step(number, |t| {
                t.op("aten::mm", |t| t.kernel("gemm", 5.0));
                t.launch("cudaGraphLaunch").graph(|graph| {
                    graph.kernel("add", 1.0);
                    graph.kernel("mul", 1.0);
                });
                t.memcpy("Memcpy DtoH", 64, 1.0);
                t.synchronize("cudaStreamSynchronize");
            });
        }
        // Outside of steps nothing counts.
        t.synchronize("cudaDeviceSynchronize");
    });
    let text = builder.json();
    let trace = Trace::from_reader("a trace", text.as_bytes(), &ReadOptions::default());
    let digest = digest([CallTree::build(trace.expect("a trace"))]);
    let counts =
        digest.counts.iter().map(|(name, range)| (name.as_str(), (range.least, range.most)));
    let expected = [
        ("collectives", 0),
        ("copies", 1),
        ("copy_bytes", 64),
        ("graph_kernels", 2),
        ("graph_launches", 1),
        ("kernels", 3),
        ("launches", 3),
        ("waits", 1),
    ];
    assert_eq!(counts.collect::<Vec<_>>(), expected.map(|(name, count)| (name, (count, count))));
}

#[test]
fn runs_of_one_program_have_no_finding_in_either_direction() {
    for (one, two) in [("cnn", "cnn_rerun"), ("tfm", "tfm_rerun"), ("cnn", "cnn_mem")] {
        let (Some(before), Some(after)) = (cpu(one), cpu(two)) else { return };
        assert_nothing(&before, &after, one);
        assert_nothing(&before, &before, one);
    }
}

#[test]
fn what_was_recorded_is_no_change_of_the_program() {
    for (one, two) in [("cnn", "cnn_nostack"), ("tfm", "tfm_nostack")] {
        let (Some(before), Some(after)) = (cpu(one), cpu(two)) else { return };
        assert_nothing(&before, &after, one);
        assert!(Structure::of(&before, &after).is_flat);
    }
}

/// Traces with several steps.
const STEPPED: [&str; 11] = [
    "cpu/cnn.pt.trace.json.gz",
    "cpu/tfm.pt.trace.json.gz",
    "training/eager.a100.json.gz",
    "training/compiled_graphs.v100.json.gz",
    "training/resnet50_ddp.a100.json.gz",
    "training/resnet_act_checkpoint.mi300.json.gz",
    "old/resnet50_2021.num_workers_0.json.gz",
    "old/resnet50_2021.num_workers_4.json.gz",
    "old/resnet50_2021_array.num_workers_0.json.gz",
    "inference/sglang_decode.mi300.json.gz",
    "odd/minitoy.mi250.json.gz",
];

/// What each step of these calls depends on the data: numbers of workers, lengths of bags.
const DATA_DEPENDENT: [&str; 3] = [
    "training/eager.a100.json.gz",
    "training/compiled_graphs.v100.json.gz",
    "old/resnet50_2021.num_workers_4.json.gz",
];

/// The steps of a trace, each as a tree of its own.
fn steps(name: &str) -> Option<Vec<CallTree>> {
    let tree = CallTree::build(Trace::open(real(name)?).expect("a readable trace"));
    // A step without any call cannot be cut out.
    let one = |at: usize| {
        let range = at.to_string().parse().expect("a position");
        let selection = Selection { phase: None, steps: Some(range) };
        selection.cut(&tree).ok().map(CallTree::build)
    };
    Some((0..Steps::of(&tree).len()).filter_map(one).collect())
}

#[test]
fn every_step_of_a_run_has_no_finding_against_every_other() {
    for name in STEPPED.into_iter().filter(|name| !DATA_DEPENDENT.contains(name)) {
        let Some(steps) = steps(name) else { return };
        let steps: Vec<Digest> = steps.into_iter().map(|step| digest([step])).collect();
        for (at, one) in steps.iter().enumerate() {
            for two in &steps[at + 1..] {
                assert_nothing(one, two, name);
            }
        }
    }
}

/// One step tells nothing of what varies: several do.
#[test]
fn half_of_the_steps_of_a_run_have_no_finding_against_the_other_half() {
    for name in STEPPED {
        let Some(steps) = steps(name) else { return };
        if steps.len() < 2 {
            continue;
        }
        let halves: [fn(usize, usize) -> bool; 2] = [|at, _| at % 2 == 0, |at, all| at < all / 2];
        for is_first in halves {
            let part = |wanted: bool| {
                let chosen = steps.iter().enumerate();
                let chosen = chosen.filter(|(at, _)| is_first(*at, steps.len()) == wanted);
                digest(chosen.map(|(_, step)| step.clone()))
            };
            let (one, two) = (part(true), part(false));
            assert_nothing(&one, &two, name);
        }
    }
}

#[test]
fn an_op_that_was_added_is_new_at_its_module_and_nothing_else_is() {
    let (Some(before), Some(after)) = (cpu("cnn"), cpu("cnn_extra_op")) else { return };
    let structure = Structure::of(&before, &after);
    assert_eq!(told(&structure), [("new_op", "CNN_0.Sequential_0.Block_1".to_owned())]);
    let change = &structure.changes[0];
    let site = change.site.as_ref().expect("the trace has stacks");
    assert_eq!((site.file.as_str(), site.function.as_str()), ("gen.py", "forward"));
    let what: Vec<&str> = change.items.iter().take(4).map(|item| item.what.as_str()).collect();
    assert_eq!(what, ["aten::add", "aten::mul", "aten::pow", "aten::sin"]);
    let back = Structure::of(&after, &before);
    assert_eq!(told(&back), [("gone_op", "CNN_0.Sequential_0.Block_1".to_owned())]);
    assert_eq!(check(&before, &after).outcome, Outcome::Fail);
}

#[test]
fn without_stacks_an_added_op_is_new_in_the_step() {
    let (Some(before), Some(after)) = (cpu("cnn_nostack"), cpu("cnn_extra_op_nostack")) else {
        return;
    };
    assert_eq!(told(&Structure::of(&before, &after)), [("new_op", "step".to_owned())]);
}

#[test]
fn a_layer_that_was_added_is_one_finding_and_its_gradients_follow() {
    let (Some(before), Some(after)) = (cpu("cnn"), cpu("cnn_extra_layer")) else { return };
    let structure = Structure::of(&before, &after);
    assert_eq!(told(&structure), [("new_op", "CNN_0.Sequential_0".to_owned())]);
    let item = &structure.changes[0].items[0];
    assert_eq!(
        item.what, "module Block_2",
        "the one before the last, though the last is renumbered"
    );
    assert!(!structure.follow.is_empty());
}

#[test]
fn another_weight_is_a_change_of_shapes_at_its_module() {
    let (Some(before), Some(after)) = (cpu("cnn"), cpu("cnn_conv5x5")) else { return };
    let structure = Structure::of(&before, &after);
    assert_eq!(
        told(&structure),
        [("shape_change", "CNN_0.Sequential_0.Block_1.Conv2d_1".to_owned())]
    );
}

#[test]
fn one_linear_that_became_three_is_a_lost_fusion_in_each_layer() {
    let (Some(before), Some(after)) = (cpu("tfm"), cpu("tfm_unfused_qkv")) else { return };
    let structure = Structure::of(&before, &after);
    let expected = ["Layer_0", "Layer_1", "Layer_2"].map(|l| ("lost_fusion", format!("Tfm_0.{l}")));
    assert_eq!(told(&structure), expected);
    for change in &structure.changes {
        let item = &change.items[0];
        assert_eq!(
            (item.what.as_str(), item.before.as_str(), item.after.as_str()),
            ("aten::linear", "1", "3")
        );
    }
}

#[test]
fn a_recorded_baseline_says_what_the_traces_say() {
    let pairs = [
        ("cnn", "cnn_extra_op"),
        ("cnn", "cnn_conv5x5"),
        ("tfm", "tfm_unfused_qkv"),
        ("cnn", "cnn_rerun"),
    ];
    for (one, two) in pairs {
        let (Some(before), Some(after)) = (cpu(one), cpu(two)) else { return };
        let bytes = before.to_baseline();
        let text = inflated(&bytes).expect("gzip");
        let recorded = Digest::from_baseline("base.ttb", &text).expect("a baseline");
        let [direct, by_file] = [&before, &recorded].map(|baseline| check(baseline, &after));
        assert_eq!(direct.outcome, by_file.outcome);
        assert_eq!(told(&Structure::of(&before, &after)), told(&Structure::of(&recorded, &after)));
        let states = |gate: &Gate| -> Vec<_> {
            gate.checks
                .iter()
                .map(|check| (check.title(), check.state, check.findings.clone()))
                .collect()
        };
        assert_eq!(states(&direct), states(&by_file), "{one} {two}");
        // What was read is what is written again.
        assert_eq!(recorded.to_baseline(), bytes);
    }
}

#[test]
fn baselines_are_small_and_name_no_file() {
    for name in [
        "old/resnet50_2021.num_workers_0.json.gz",
        "training/eager.a100.json.gz",
        "training/resnet_act_checkpoint.mi300.json.gz",
        "mi300_h100/timesformer.h100.json.gz",
        "inference/vllm_eager.b200.json.gz",
        "cpu/tfm.pt.trace.json.gz",
    ] {
        let Some(path) = real(name) else { return };
        let bytes = file(&path).to_baseline();
        assert!(bytes.len() <= 100_000, "{name}: {} bytes", bytes.len());
        let text = String::from_utf8(inflated(&bytes).expect("gzip")).expect("UTF-8");
        assert!(!text.contains("/work/") && !text.contains("/home/"), "{name}");
        assert!(!text.contains("site-packages"), "{name}");
    }
}

// What the short form without a baseline let pass, or failed for no reason.

#[test]
fn a_trace_without_its_gpu_events_is_inconclusive() {
    let Some(path) = real("mi300_h100/vit.h100.json.gz") else { return };
    let trace = Trace::open(path).expect("a readable trace");
    let text = gpu_events_removed(&real("mi300_h100/vit.h100.json.gz").expect("a file"));
    let bare = Trace::from_reader("bare", text.as_bytes(), &Default::default()).expect("a trace");
    let (before, after) = (digest([CallTree::build(trace)]), digest([CallTree::build(bare)]));
    let gate = check(&before, &after);
    assert_eq!(gate.outcome, Outcome::Inconclusive);
    let [damage, other] = &gate.reasons[..] else { panic!("two reasons: {:?}", gate.reasons) };
    assert!(damage.contains("154 of 154 launches (100.0%) without a GPU event"), "{damage}");
    assert!(other.contains("no GPU events"), "{other}");
}

fn read_json(path: &Path) -> serde_json::Value {
    let bytes = std::fs::read(path).expect("a file");
    serde_json::from_slice(&inflated(&bytes).expect("gzip")).expect("JSON")
}

fn gpu_events_removed(path: &Path) -> String {
    let mut json = read_json(path);
    let events = json["traceEvents"].as_array_mut().expect("events");
    let is_gpu = |event: &serde_json::Value| {
        ["kernel", "gpu_memcpy", "gpu_memset"].contains(&event["cat"].as_str().unwrap_or_default())
    };
    events.retain(|event| !is_gpu(event));
    json.to_string()
}

#[test]
fn a_trace_that_is_cut_in_half_is_inconclusive() {
    let Some(path) = real("cpu/cnn.pt.trace.json.gz") else { return };
    let text = crate::support::files::unpacked(&path).expect("a file");
    let half = Trace::from_reader("half", &text[..text.len() / 2], &Default::default());
    let half = digest([CallTree::build(half.expect("a trace"))]);
    let gate = check(&file(&path), &half);
    assert_eq!(gate.outcome, Outcome::Inconclusive);
    assert!(gate.reasons.iter().any(|reason| reason.contains("cut off")), "{:?}", gate.reasons);
}

#[test]
fn another_model_and_another_device_are_inconclusive() {
    let (Some(cnn), Some(tfm)) = (cpu("cnn"), cpu("tfm")) else { return };
    let gate = check(&cnn, &tfm);
    assert_eq!(gate.outcome, Outcome::Inconclusive);
    assert!(gate.reasons[0].contains("another program"), "{:?}", gate.reasons);
    let device =
        |name: &str| file(&real(&format!("mi300_h100/vit.{name}.json.gz")).expect("a file"));
    let gate = check(&device("mi300"), &device("h100"));
    assert_eq!(gate.outcome, Outcome::Inconclusive);
    assert!(gate.reasons[0].contains("different devices"), "{:?}", gate.reasons);
}

#[test]
fn another_number_of_steps_is_inconclusive_unless_the_rules_tolerate_it() {
    let Some(steps) = steps("cpu/tfm.pt.trace.json.gz") else { return };
    let all = file(&real("cpu/tfm.pt.trace.json.gz").expect("a file"));
    let one = digest(steps.into_iter().take(1));
    let gate = check(&all, &one);
    assert_eq!(gate.outcome, Outcome::Inconclusive);
    assert!(gate.reasons[0].contains("different numbers of recorded steps: 3 | 1"), "{gate:?}");
    let rules = Rules::parse("tolerate = [\"other_steps\"]", "rules.toml").expect("rules");
    let tolerant = Gate::check(&all, &one, &rules.structure_only(), Date::today());
    assert_eq!(tolerant.outcome, Outcome::Pass, "{:?}", tolerant.reasons);
}

#[test]
fn new_kernels_are_found_where_they_are_launched() {
    let Some(path) = real("mi300_h100/vit.h100.json.gz") else { return };
    let mut json = read_json(&path);
    let renamed = json["traceEvents"].as_array_mut().expect("events").iter_mut().filter(|event| {
        event["cat"] == "kernel" && event["name"].as_str().is_some_and(|name| name.contains("gemm"))
    });
    let mut count = 0;
    for event in renamed {
        event["name"] = serde_json::Value::from("another_gemm");
        count += 1;
    }
    assert!(count > 10, "{count}");
    let changed = Trace::from_reader("changed", json.to_string().as_bytes(), &Default::default());
    let changed = digest([CallTree::build(changed.expect("a trace"))]);
    let gate = check(&file(&path), &changed);
    assert_eq!(gate.outcome, Outcome::Fail);
    let broken: Vec<&str> = gate
        .checks
        .iter()
        .filter(|check| !check.findings.is_empty())
        .map(|check| check.rule.as_str())
        .collect();
    assert_eq!(broken, [StructureRule::NewKernel.label()]);
}

#[test]
fn a_rule_that_speaks_of_nothing_is_inconclusive_and_names_what_is_near() {
    let (Some(before), Some(after)) = (cpu("cnn"), cpu("cnn_rerun")) else { return };
    let rules =
        Rules::parse("[[rule]]\nrule = \"new_op\"\npath = 'module(\"Blok_*\")'", "rules.toml")
            .expect("rules");
    let gate = Gate::check(&before, &after, &rules, Date::today());
    assert_eq!(gate.outcome, Outcome::Inconclusive);
    assert!(gate.reasons[0].contains("Block_"), "{:?}", gate.reasons);
}

#[test]
fn what_is_allowed_passes_until_its_day_is_over() {
    let (Some(before), Some(after)) = (cpu("cnn"), cpu("cnn_extra_op")) else { return };
    let text = r#"allow = [{ rule = "new_op", path = 'module("Block_1")', reason = "RFC 12", until = "2027-01-31" }]"#;
    let rules = Rules::parse(text, "rules.toml").expect("rules");
    let on = |day: &str| Gate::check(&before, &after, &rules, day.parse().expect("a day"));
    assert_eq!(on("2027-01-31").outcome, Outcome::Pass);
    let late = on("2027-02-01");
    assert_eq!(late.outcome, Outcome::Fail);
    assert!(late.notes.iter().any(|note| note.contains("2027-01-31")), "{:?}", late.notes);
}
