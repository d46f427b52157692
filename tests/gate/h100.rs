//! What a gate says of runs recorded on an H100: a program that was run three times, known changes of it,
//! and replays of graphs with and without what was recorded while they were captured.

use crate::support::files::inflated;
use crate::support::gated::check;
use crate::support::traces;
use std::collections::BTreeSet;
use std::path::PathBuf;
use tracetree::gate::{
    BASELINE_SCHEMA, Captured, Date, Digest, Digester, Gate, Outcome, Rules, Structure,
};
use tracetree::program::CaptureSource;
use tracetree::trace::ReadOptions;

/// The program that was run three times.
const RUNS: [&str; 3] = ["resnet_eager", "resnet_eager_again", "resnet_eager_third"];

fn runs(names: &[&str], captures: CaptureSource) -> Digest {
    let files: Vec<PathBuf> = names.iter().map(|name| traces::h100(name)).collect();
    let options = vec![ReadOptions::default(); files.len()];
    Digester::default().captures(captures).read(&files, &options).expect("runs of one program")
}

fn file(name: &str) -> Digest {
    runs(&[name], CaptureSource::Nowhere)
}

/// A replay with its capture.
fn captured(name: &str) -> Digest {
    runs(&[name], CaptureSource::Files(vec![traces::h100(&format!("{name}.capture"))]))
}

/// The rules that are broken.
fn broken(gate: &Gate) -> BTreeSet<&str> {
    let broken = gate.checks.iter().filter(|check| !check.findings.is_empty());
    broken.map(|check| check.rule.as_str()).collect()
}

/// The classes of the innermost modules at which something is broken; `step` outside of modules.
fn classes(gate: &Gate) -> BTreeSet<String> {
    let findings = gate.checks.iter().flat_map(|check| &check.findings);
    let class = |finding: &tracetree::gate::Finding| {
        let words = finding.place.words();
        let modules = words.split(" / ").next().unwrap_or_default();
        let innermost = modules.rsplit('.').next().unwrap_or_default();
        innermost.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_').to_owned()
    };
    findings.map(class).collect()
}

#[test]
fn three_runs_of_one_program_pass_in_every_order() {
    for one in RUNS {
        for two in RUNS {
            let gate = check(&file(one), &file(two));
            assert_eq!(
                (gate.outcome, broken(&gate)),
                (Outcome::Pass, BTreeSet::new()),
                "{one} {two}"
            );
        }
        let others: Vec<&str> = RUNS.into_iter().filter(|name| *name != one).collect();
        let (one, others) = (file(one), runs(&others, CaptureSource::Nowhere));
        for gate in [check(&one, &others), check(&others, &one)] {
            assert_eq!((gate.outcome, broken(&gate)), (Outcome::Pass, BTreeSet::new()));
        }
    }
}

#[test]
fn a_change_of_how_libraries_compute_is_of_kernels_at_the_modules_that_call_them() {
    let before = runs(&RUNS, CaptureSource::Nowhere);
    for (name, rules, modules) in [
        // The mean and the last relu see the order of memory, too.
        (
            "resnet_channels_last",
            &["gone_kernel", "new_kernel"][..],
            &["BasicBlock", "BatchNorm2d", "Conv2d", "MaxPool2d", "ResNet"][..],
        ),
        ("resnet_tf32_off", &["kernels_per_call", "new_kernel"], &["Conv2d"]),
        ("resnet_benchmark", &["kernels_per_call", "new_kernel"], &["Conv2d"]),
    ] {
        let gate = check(&before, &file(name));
        assert_eq!(gate.outcome, Outcome::Fail, "{name}");
        assert_eq!(broken(&gate), rules.iter().copied().collect(), "{name}");
        let expected: BTreeSet<String> = modules.iter().map(|&class| class.to_owned()).collect();
        assert_eq!(classes(&gate), expected, "{name}");
    }
}

#[test]
fn several_runs_a_side_break_the_rule_of_the_time_where_each_run_takes_longer() {
    let before = runs(&RUNS, CaptureSource::Nowhere);
    let after = runs(&["resnet_tf32_off", "resnet_tf32_off_again"], CaptureSource::Nowhere);
    let gate = check(&before, &after);
    let expected = BTreeSet::from(["gpu_time", "kernels_per_call", "new_kernel", "step_wall"]);
    assert_eq!(broken(&gate), expected);
    // With fewer runs than that nobody knows; and less time is no finding.
    assert!(!broken(&check(&before, &file("resnet_tf32_off"))).contains("gpu_time"));
    assert!(!broken(&check(&after, &before)).contains("gpu_time"));
}

#[test]
fn another_backend_of_attention_is_other_ops_in_the_attention_and_no_lost_fusion() {
    let before = file("tfm_math");
    for name in ["tfm_flash", "tfm_efficient", "tfm_cudnn"] {
        let gate = check(&before, &file(name));
        let expected = BTreeSet::from(["dtype_change", "gone_op", "new_op"]);
        assert_eq!((gate.outcome, broken(&gate)), (Outcome::Fail, expected), "{name}");
        // Views of what the attention got and gave belong to its linear layers.
        let expected = ["Attention", "Linear"].map(str::to_owned);
        assert_eq!(classes(&gate), BTreeSet::from(expected), "{name}");
        let findings = || gate.checks.iter().flat_map(|check| &check.findings);
        assert!(findings().all(|finding| finding.place.words().contains(".Attention_")), "{name}");
        // The other way round a fused kernel is lost.
        let back = check(&file(name), &before);
        assert!(broken(&back).contains("lost_fusion"), "{name}: {:?}", broken(&back));
    }
}

#[test]
fn a_program_that_was_compiled_is_another_one_and_the_reason_says_so() {
    for (before, after) in [("resnet_eager", "resnet_compiled"), ("tfm_math", "tfm_compiled")] {
        for (one, two) in [(before, after), (after, before)] {
            let gate = check(&file(one), &file(two));
            assert_eq!(gate.outcome, Outcome::Inconclusive, "{one} {two}");
            let told = &gate.reasons[0];
            assert!(
                told.contains("another program") && told.contains("compiled regions"),
                "{told}"
            );
        }
    }
}

#[test]
fn a_replay_whose_ops_are_not_known_asks_for_its_capture() {
    let gate = check(&file("decode_eager"), &file("decode_graph"));
    assert_eq!(gate.outcome, Outcome::Inconclusive);
    let told = &gate.reasons[0];
    assert!(told.contains(": 0 %") && told.contains("--new-capture"), "{told}");
}

#[test]
fn a_capture_puts_ops_and_modules_into_the_digest_and_is_no_launch() {
    let (bare, shown) = (file("decode_graph"), captured("decode_graph"));
    assert_eq!((bare.setup.captured, shown.setup.captured), (Captured::No, Captured::Wholly));
    assert!(!bare.setup.has_modules && shown.setup.has_modules);
    assert!(shown.len() > bare.len());
    // Nothing that was captured ran again.
    assert_eq!(bare.counts, shown.counts);
    assert_eq!(bare.times.get("gpu_time"), shown.times.get("gpu_time"));
    let gate = check(&shown, &shown);
    assert_eq!((gate.outcome, gate.checks.is_empty()), (Outcome::Pass, false));
}

#[test]
fn a_capture_on_one_side_alone_breaks_no_rule_and_is_told() {
    for name in ["decode_graph", "decode_graph_streams", "decode_reduce_overhead"] {
        let (bare, shown) = (file(name), captured(name));
        for (one, two) in [(&bare, &shown), (&shown, &bare)] {
            let gate = check(one, two);
            assert_eq!((gate.outcome, broken(&gate)), (Outcome::Pass, BTreeSet::new()), "{name}");
            let told =
                gate.notes.iter().any(|note| note.contains("compared at the graph launches"));
            assert!(told, "{name}: {:?}", gate.notes);
        }
    }
}

#[test]
fn kinds_of_work_are_not_held_against_each_other_where_captures_tell_them_on_one_side() {
    let rules = "[[rule]]\nrule = \"gpu_time\"\ncategory = \"gemm\"\nlimit = \"3%\"";
    let rules = Rules::parse(rules, "rules.toml").expect("rules");
    let (bare, shown) = (file("decode_graph"), captured("decode_graph"));
    let gate = Gate::check(&bare, &shown, &rules, Date::today());
    assert_eq!(gate.outcome, Outcome::Inconclusive);
    assert!(gate.reasons[0].contains("captures"), "{:?}", gate.reasons);
    assert_eq!(Gate::check(&shown, &shown, &rules, Date::today()).outcome, Outcome::Pass);
}

#[test]
fn a_captured_replay_is_held_against_eager_code_op_by_op() {
    let (eager, shown) = (file("decode_eager"), captured("decode_graph"));
    let gate = check(&eager, &shown);
    assert_ne!(gate.outcome, Outcome::Inconclusive, "{:?}", gate.reasons);
    assert!(gate.notes.iter().any(|note| note.contains("captured calls")), "{:?}", gate.notes);
    let structure = Structure::of(&eager, &shown);
    assert!(!structure.is_flat && structure.has_shapes);
}

#[test]
fn a_baseline_says_whether_it_was_recorded_with_a_capture() {
    for (digest, told) in [
        (file("decode_graph"), "has GPU events\n"),
        (captured("decode_graph"), "captures of its graphs"),
    ] {
        let bytes = digest.to_baseline();
        let text: serde_json::Value =
            serde_json::from_slice(&inflated(&bytes).expect("gzip")).expect("JSON");
        assert_eq!(text["schema"], BASELINE_SCHEMA);
        let again = Digest::from_baseline("base.ttb", &inflated(&bytes).expect("gzip"))
            .expect("a baseline");
        assert_eq!(again.setup, digest.setup);
        assert_eq!(again.to_baseline(), bytes);
        let mut overview = Vec::new();
        again.write_overview(&mut overview).expect("memory takes every text");
        assert!(String::from_utf8_lossy(&overview).contains(told));
        assert_eq!(check(&again, &digest).outcome, Outcome::Pass);
    }
}
