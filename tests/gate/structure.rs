//! Tests the gate's structural results for real pairs, for runs of one program, and for steps of one run.

use crate::gated::{changes, check, check_structure, record, record_text};
use crate::support::files::inflated;
use crate::support::trace_builder::TraceBuilder;
use crate::support::traces::real;
use std::path::Path;
use tracetree::program::{Selection, Steps};
use tracetree::trace::Trace;
use tracetree::tree::CallTree;
use tracetree_gate::{Date, Finding, Gate, Outcome, Recording, Rules};

fn file(path: &Path) -> Recording {
    record([CallTree::build(Trace::open(path).expect("a readable trace"))])
}

fn cpu(name: &str) -> Option<Recording> {
    Some(file(&real(&format!("cpu/{name}.pt.trace.json.gz"))?))
}

/// For each change that the gate finds, the rules that it violates and its distinct call sites.
fn shown(gate: &Gate) -> Vec<(String, Vec<String>)> {
    let changes = gate.findings.iter().filter(|finding| !finding.kind.is_empty());
    let one = |finding: &Finding| {
        let mut sites: Vec<String> = finding.sites.iter().map(|site| site.place.words()).collect();
        sites.sort();
        sites.dedup();
        (finding.rules.join(" "), sites)
    };
    changes.map(one).collect()
}

fn assert_nothing(baseline: &Recording, candidate: &Recording, what: &str) {
    for (one, two) in [(baseline, candidate), (candidate, baseline)] {
        let gate = check_structure(one, two);
        assert_eq!(changes(&gate), [""; 0], "{what}");
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
        // Calls outside of steps do not count.
        t.synchronize("cudaDeviceSynchronize");
    });
    let recording = record_text(&builder.json());
    let counts =
        recording.counts.iter().map(|(name, range)| (name.as_str(), (range.least, range.most)));
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
fn recording_options_are_not_a_change_of_the_program() {
    for (one, two) in [("cnn", "cnn_nostack"), ("tfm", "tfm_nostack")] {
        let (Some(before), Some(after)) = (cpu(one), cpu(two)) else { return };
        assert_nothing(&before, &after, one);
    }
}

/// Bundled traces that have several steps.
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

/// Traces in which the amount of work per step depends on a value in the data, such as the number of workers.
const DATA_DEPENDENT: [&str; 3] = [
    "training/eager.a100.json.gz",
    "training/compiled_graphs.v100.json.gz",
    "old/resnet50_2021.num_workers_4.json.gz",
];

/// The steps of a trace, cut into one tree per step.
fn steps(name: &str) -> Option<Vec<CallTree>> {
    let tree = CallTree::build(Trace::open(real(name)?).expect("a readable trace"));
    // A step without calls cannot be cut out of the trace.
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
        let steps: Vec<Recording> = steps.into_iter().map(|step| record([step])).collect();
        for (at, one) in steps.iter().enumerate() {
            for two in &steps[at + 1..] {
                assert_nothing(one, two, name);
            }
        }
    }
}

/// Checks one half of a run's steps against the other half. Single steps are not compared, because a single step does
/// not show which counts vary.
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
                record(chosen.map(|(_, step)| step.clone()))
            };
            let (one, two) = (part(true), part(false));
            if !DATA_DEPENDENT.contains(&name) {
                assert_nothing(&one, &two, name);
                continue;
            }
            for (one, two) in [(&one, &two), (&two, &one)] {
                let gate = check_structure(one, two);
                // The result is inconclusive if some steps lack calls that all other steps have.
                assert_ne!(gate.outcome, Outcome::Fail, "{name}: {:#?}", gate.findings);
            }
        }
    }
}

#[test]
fn an_op_that_was_added_is_one_finding_at_its_module() {
    let (Some(before), Some(after)) = (cpu("cnn"), cpu("cnn_extra_op")) else { return };
    let gate = check(&before, &after);
    let [change] = &gate.findings[..] else { panic!("one finding: {:?}", changes(&gate)) };
    assert_eq!(change.rules, ["new_op"]);
    assert!(change.what.starts_with("Added in Block (gen.py: forward)"), "{}", change.what);
    let forward: Vec<&str> = change
        .sites
        .iter()
        .filter(|site| site.place.words() == "CNN_0.Sequential_0.Block_1")
        .map(|site| site.what.as_str())
        .collect();
    for op in ["aten::sin", "aten::pow", "aten::mul", "aten::add"] {
        assert!(forward.contains(&format!("added {op}").as_str()), "{op}: {forward:?}");
    }
    let line = change.sites[0].line.as_ref().expect("the trace has stacks");
    assert_eq!((line.file.as_str(), line.function.as_str()), ("gen.py", "forward"));
    assert_eq!(gate.outcome, Outcome::Fail);
    let back = check(&after, &before);
    let [change] = &back.findings[..] else { panic!("one finding: {:?}", changes(&back)) };
    assert_eq!(change.rules, ["gone_op"]);
}

#[test]
fn without_stacks_an_added_op_is_new_in_the_step() {
    let (Some(before), Some(after)) = (cpu("cnn_nostack"), cpu("cnn_extra_op_nostack")) else {
        return;
    };
    let [(rules, sites)] = &shown(&check(&before, &after))[..] else { panic!("one finding") };
    assert_eq!(rules, "new_op");
    assert!(sites.iter().any(|site| site == "step"), "{sites:?}");
}

#[test]
fn a_layer_that_was_added_is_one_finding_and_its_gradients_follow() {
    let (Some(before), Some(after)) = (cpu("cnn"), cpu("cnn_extra_layer")) else { return };
    let gate = check(&before, &after);
    assert_eq!(changes(&gate), ["4 instead of 3 Block calls per step"]);
    let finding = &gate.findings[0];
    assert_eq!(finding.rules, ["new_op"]);
    let first = &finding.sites[0];
    assert_eq!(
        (first.place.words().as_str(), first.what.as_str()),
        ("CNN_0.Sequential_0", "added module Block_2"),
        "the one before the last, though the last is renumbered"
    );
}

#[test]
fn a_different_weight_is_one_shape_change_at_its_module() {
    let (Some(before), Some(after)) = (cpu("cnn"), cpu("cnn_conv5x5")) else { return };
    let [(rules, sites)] = &shown(&check(&before, &after))[..] else { panic!("one finding") };
    assert_eq!(rules, "shape_change");
    let module = "CNN_0.Sequential_0.Block_1.Conv2d_1";
    assert!(sites.iter().any(|site| site.starts_with(module)), "{sites:?}");
    assert!(sites.iter().all(|site| site.starts_with(module) || !site.contains("CNN_0")));
}

#[test]
fn one_linear_split_into_three_is_new_work_in_each_layer() {
    let (Some(before), Some(after)) = (cpu("tfm"), cpu("tfm_unfused_qkv")) else { return };
    let gate = check(&before, &after);
    assert_eq!(gate.outcome, Outcome::Fail);
    let [first, ..] = &gate.findings[..] else { panic!("a finding") };
    assert_eq!(first.rules, ["lost_fusion"]);
    assert!(first.what.contains("9 × aten::linear"), "{}", first.what);
    for layer in ["Tfm_0.Layer_0", "Tfm_0.Layer_1", "Tfm_0.Layer_2"] {
        assert!(first.sites.iter().any(|site| site.place.words().starts_with(layer)), "{layer}");
    }
}

/// A copy of the baseline that was written to a baseline file and read again.
fn recorded(side: &Recording) -> Recording {
    Recording::from_baseline("base.ttb", &side.to_baseline()).expect("a baseline")
}

#[test]
fn a_recorded_baseline_gives_the_same_result_as_its_traces() {
    let pairs = [
        ("cnn", "cnn_extra_op"),
        ("cnn", "cnn_conv5x5"),
        ("tfm", "tfm_unfused_qkv"),
        ("cnn", "cnn_rerun"),
    ];
    for (one, two) in pairs {
        let (Some(before), Some(after)) = (cpu(one), cpu(two)) else { return };
        let file = recorded(&before);
        let [direct, by_file] = [&before, &file].map(|baseline| check(baseline, &after));
        assert_eq!(direct.outcome, by_file.outcome);
        assert_eq!(shown(&direct), shown(&by_file), "{one} {two}");
        assert_eq!(changes(&direct), changes(&by_file), "{one} {two}");
        let states = |gate: &Gate| -> Vec<_> {
            gate.checks
                .iter()
                .map(|check| (check.title(), check.state, check.message.clone()))
                .collect()
        };
        assert_eq!(states(&direct), states(&by_file), "{one} {two}");
    }
}

#[test]
fn the_runs_of_a_baseline_pass_against_it() {
    for name in STEPPED.into_iter().chain(["inference/vllm_eager.b200.json.gz"]) {
        let Some(path) = real(name) else { return };
        let side = file(&path);
        let gate = check(&recorded(&side), &side);
        assert_eq!(changes(&gate), [""; 0], "{name}");
        assert_eq!(gate.outcome, check(&side, &side).outcome, "{name}: {:?}", gate.reasons);
    }
}

#[test]
fn baselines_are_small_and_contain_no_file_names() {
    for (name, most) in [
        ("old/resnet50_2021.num_workers_0.json.gz", 45_000),
        ("old/resnet50_2021.num_workers_4.json.gz", 100_000),
        ("training/resnet_act_checkpoint.mi300.json.gz", 100_000),
        ("mi300_h100/timesformer.h100.json.gz", 60_000),
        ("inference/vllm_eager.b200.json.gz", 100_000),
        ("cpu/tfm.pt.trace.json.gz", 40_000),
        // All steps of the trace are stored, because they differ.
        ("training/eager.a100.json.gz", 190_000),
    ] {
        let Some(path) = real(name) else { return };
        let bytes = file(&path).to_baseline();
        assert!(bytes.len() <= most, "{name}: {} bytes", bytes.len());
        let text = String::from_utf8(inflated(&bytes).expect("gzip")).expect("UTF-8");
        for folder in ["/work/", "/home/", "/usr/", "/opt/", "/root/"] {
            assert!(!text.contains(folder), "{name}: {folder}");
        }
    }
}

// Regression tests for comparisons without a baseline file: each of these comparisons once passed by mistake, or failed
// without giving a reason.

#[test]
fn a_trace_without_its_gpu_events_is_inconclusive() {
    let Some(path) = real("mi300_h100/vit.h100.json.gz") else { return };
    let trace = Trace::open(path).expect("a readable trace");
    let text = gpu_events_removed(&real("mi300_h100/vit.h100.json.gz").expect("a file"));
    let bare = Trace::from_reader("bare", text.as_bytes(), &Default::default()).expect("a trace");
    let (before, after) = (record([CallTree::build(trace)]), record([CallTree::build(bare)]));
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
    let half = record([CallTree::build(half.expect("a trace"))]);
    let gate = check(&file(&path), &half);
    assert_eq!(gate.outcome, Outcome::Inconclusive);
    assert!(gate.reasons.iter().any(|reason| reason.contains("cut off")), "{:?}", gate.reasons);
}

#[test]
fn a_different_model_or_device_is_inconclusive() {
    let (Some(cnn), Some(tfm)) = (cpu("cnn"), cpu("tfm")) else { return };
    let gate = check(&cnn, &tfm);
    assert_eq!(gate.outcome, Outcome::Inconclusive);
    assert!(gate.reasons[0].contains("different programs"), "{:?}", gate.reasons);
    let device =
        |name: &str| file(&real(&format!("mi300_h100/vit.{name}.json.gz")).expect("a file"));
    let gate = check(&device("mi300"), &device("h100"));
    assert_eq!(gate.outcome, Outcome::Inconclusive);
    assert!(gate.reasons[0].contains("different devices"), "{:?}", gate.reasons);
}

#[test]
fn a_different_number_of_steps_is_inconclusive_unless_tolerated() {
    let Some(steps) = steps("cpu/tfm.pt.trace.json.gz") else { return };
    let all = file(&real("cpu/tfm.pt.trace.json.gz").expect("a file"));
    let one = record(steps.into_iter().take(1));
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
    let changed = record([CallTree::build(changed.expect("a trace"))]);
    let gate = check(&file(&path), &changed);
    assert_eq!(gate.outcome, Outcome::Fail);
    let [(rules, sites)] = &shown(&gate)[..] else { panic!("one finding: {:?}", changes(&gate)) };
    assert_eq!(rules, "new_kernel");
    assert!(sites.len() > 10, "{sites:?}");
}

#[test]
fn a_rule_that_matches_nothing_is_inconclusive_and_names_the_nearest_match() {
    let (Some(before), Some(after)) = (cpu("cnn"), cpu("cnn_rerun")) else { return };
    let rules =
        Rules::parse("[[rule]]\nrule = \"new_op\"\npath = 'module(\"Blok_*\")'", "rules.toml")
            .expect("rules");
    let gate = Gate::check(&before, &after, &rules, Date::today());
    assert_eq!(gate.outcome, Outcome::Inconclusive);
    assert!(gate.reasons[0].contains("Block_"), "{:?}", gate.reasons);
}

/// A training program whose optimizer launches `updates` kernels per step and waits once.
fn updating(updates: usize) -> Recording {
    let builder = TraceBuilder::cuda().thread("main", |t| {
        for number in 0..2 {
            t.step(number, |t| {
                t.op("aten::mm", |t| t.kernel("gemm", 5.0));
                t.annotation("Optimizer.step#SGD.step", |t| {
                    (0..updates).for_each(|_| t.op("aten::add_", |t| t.kernel("add", 1.0)));
                    t.synchronize("cudaStreamSynchronize");
                });
            });
        }
    });
    record_text(&builder.json())
}

fn with_launches_of(phase: &str) -> Gate {
    let rules = format!("[[rule]]\nrule = \"launches_per_step\"\nphase = \"{phase}\"");
    let rules = Rules::parse(&rules, "rules.toml").expect("rules").structure_only();
    Gate::check(&updating(1), &updating(2), &rules, Date::today())
}

#[test]
fn a_rule_about_the_launches_of_a_phase_counts_only_these() {
    let gate = with_launches_of("train.optimizer");
    assert_eq!(gate.reasons, [""; 0]);
    let of_launches = |finding: &&Finding| finding.rules.iter().any(|r| r == "launches_per_step");
    let found: Vec<&Finding> = gate.findings.iter().filter(of_launches).collect();
    let counts: Vec<_> = found.iter().map(|f| (f.before.as_str(), f.after.as_str())).collect();
    assert_eq!(counts, [("1", "2")], "{:?}", gate.findings);
}

#[test]
fn a_rule_about_a_phase_that_no_run_has_is_inconclusive() {
    let gate = with_launches_of("decode");
    assert_eq!(gate.reasons.len(), 1, "{:?}", gate.reasons);
    assert!(gate.reasons[0].contains("no work belongs to phase decode"), "{:?}", gate.reasons);
}

#[test]
fn a_time_rule_replaces_only_the_default_rule_for_the_same_time() {
    let text = "[[rule]]\nrule = \"step_wall\"\nlimit = \"900%\"";
    let (usual, rules) = (Rules::default(), Rules::parse(text, "rules.toml").expect("rules"));
    let measures = |rules: &Rules| {
        let mut measures: Vec<&str> = rules.time.iter().map(|rule| rule.measure.label()).collect();
        measures.sort_unstable();
        measures.join(" ")
    };
    assert_eq!(measures(&rules), measures(&usual));
    let asked: Vec<&str> =
        rules.time.iter().filter(|rule| rule.is_asked).map(|rule| rule.measure.label()).collect();
    assert_eq!(asked, ["step_wall"]);
}

#[test]
fn a_budget_can_be_zero_but_not_negative() {
    let parse = |limit: i32| Rules::parse(&format!("budgets = ['waits <= {limit}']"), "rules.toml");
    assert_eq!(parse(0).expect("a budget").budgets.len(), 1);
    let error = parse(-1).expect_err("no budget").to_string();
    assert!(error.contains("is not a number of at least 0"), "{error}");
}

#[test]
fn an_allowed_finding_passes_until_its_date_is_over() {
    let (Some(before), Some(after)) = (cpu("cnn"), cpu("cnn_extra_op")) else { return };
    let text = r#"allow = [{ rule = "new_op", path = 'module("Block_1")', reason = "RFC 12", until = "2027-01-31" }]"#;
    let rules = Rules::parse(text, "rules.toml").expect("rules");
    let on = |day: &str| Gate::check(&before, &after, &rules, day.parse().expect("a day"));
    assert_eq!(on("2027-01-31").outcome, Outcome::Pass);
    let late = on("2027-02-01");
    assert_eq!(late.outcome, Outcome::Fail);
    assert!(late.notes.iter().any(|note| note.contains("2027-01-31")), "{:?}", late.notes);
}
