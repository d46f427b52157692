//! Tests the gate's results for runs recorded on an H100: one program run three times, known changes to this program,
//! and graph replays with and without their captures.

use crate::gated::check;
use crate::support::traces;
use std::collections::BTreeSet;
use std::path::PathBuf;
use tracetree::program::CaptureSource;
use tracetree::trace::ReadOptions;
use tracetree_gate::{Captured, Date, FindingSite, Gate, Outcome, Recorder, Recording, Rules};

/// Recordings of three runs of the same program.
const RUNS: [&str; 3] = ["resnet_eager", "resnet_eager_again", "resnet_eager_third"];

fn runs(names: &[&str], captures: CaptureSource) -> Recording {
    let files: Vec<PathBuf> = names.iter().map(|name| traces::h100(name)).collect();
    let options = vec![ReadOptions::default(); files.len()];
    Recorder::default().captures(captures).read(&files, &options).expect("runs of one program")
}

fn file(name: &str) -> Recording {
    runs(&[name], CaptureSource::Nowhere)
}

/// A recording of a graph replay, together with the capture of the graph.
fn captured(name: &str) -> Recording {
    runs(&[name], CaptureSource::Files(vec![traces::h100(&format!("{name}.capture"))]))
}

fn broken(gate: &Gate) -> BTreeSet<&str> {
    let broken = gate.checks.iter().filter(|check| !check.findings.is_empty());
    broken.map(|check| check.rule.as_str()).collect()
}

/// The module classes of all call sites in the findings. A call site has the class of its innermost module, or `step`
/// if it is outside of modules.
fn classes(gate: &Gate) -> BTreeSet<String> {
    let sites = gate.findings.iter().flat_map(|finding| &finding.sites);
    let class = |site: &FindingSite| {
        let words = site.place.words();
        let modules = words.split(" / ").next().unwrap_or_default();
        let innermost = modules.rsplit('.').next().unwrap_or_default();
        innermost.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_').to_owned()
    };
    sites.map(class).collect()
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
fn a_library_change_is_reported_as_kernels_at_the_calling_modules() {
    let before = runs(&RUNS, CaptureSource::Nowhere);
    for (name, rules, modules, sentence) in [
        // The changed memory format also affects the mean and the last relu.
        (
            "resnet_channels_last",
            &["layout_change"][..],
            &["BasicBlock", "BatchNorm2d", "Conv2d", "MaxPool2d", "ResNet"][..],
            "Tensors are channels_last instead of contiguous",
        ),
        (
            "resnet_tf32_off",
            &["kernels_per_call", "new_kernel"],
            &["Conv2d"],
            "Convolutions run in FP32 instead of TF32",
        ),
        (
            "resnet_benchmark",
            &["kernels_per_call", "new_kernel"],
            &["Conv2d"],
            "Convolutions run different kernels for the same tensors",
        ),
    ] {
        let gate = check(&before, &file(name));
        assert_eq!(gate.outcome, Outcome::Fail, "{name}");
        let [change, ..] = &gate.findings[..] else { panic!("a finding: {name}") };
        assert!(change.what.starts_with(sentence), "{name}: {}", change.what);
        assert_eq!(change.rules, rules, "{name}");
        for class in modules {
            assert!(classes(&gate).contains(*class), "{name}: {class} {:?}", classes(&gate));
        }
    }
}

#[test]
fn several_runs_per_side_violate_the_time_rule_if_every_run_takes_longer() {
    let before = runs(&RUNS, CaptureSource::Nowhere);
    let after = ["resnet_tf32_off", "resnet_tf32_off_again", "resnet_tf32_off"];
    let after = runs(&after, CaptureSource::Nowhere);
    let gate = check(&before, &after);
    let expected = BTreeSet::from(["gpu_time", "kernels_per_call", "new_kernel", "step_wall"]);
    assert_eq!(broken(&gate), expected);
    // With fewer than three runs on one side, there is no bound, so an increase in time is not a finding. A decrease in time is never
    // a finding.
    assert!(!broken(&check(&before, &file("resnet_tf32_off"))).contains("gpu_time"));
    assert!(!broken(&check(&after, &before)).contains("gpu_time"));
}

#[test]
fn a_different_attention_backend_is_a_finding_in_the_attention() {
    let before = file("tfm_math");
    for (name, backend) in
        [("tfm_flash", "Flash"), ("tfm_efficient", "memory-efficient"), ("tfm_cudnn", "cuDNN")]
    {
        let gate = check(&before, &file(name));
        assert_eq!(gate.outcome, Outcome::Fail, "{name}");
        let [change, ..] = &gate.findings[..] else { panic!("a finding: {name}") };
        assert_eq!(change.what, format!("Attention runs {backend} instead of math kernels"));
        let is_inside = |site: &FindingSite| site.place.words().contains(".Attention_");
        assert!(change.sites.iter().all(is_inside), "{name}: {:?}", change.sites);
        // With the sides swapped, the candidate lacks a fused kernel.
        let back = check(&file(name), &before);
        assert!(broken(&back).contains("lost_fusion"), "{name}: {:?}", broken(&back));
    }
}

#[test]
fn a_compiled_program_is_one_finding_and_not_another_program() {
    for (before, after) in [("resnet_eager", "resnet_compiled"), ("tfm_math", "tfm_compiled")] {
        let gate = check(&file(before), &file(after));
        assert_eq!(gate.outcome, Outcome::Fail, "{:?}", gate.reasons);
        assert!(
            gate.findings[0].what.contains("compiled regions replace"),
            "{:?}",
            gate.findings[0]
        );
        let back = check(&file(after), &file(before));
        assert_eq!(back.outcome, Outcome::Fail, "{:?}", back.reasons);
        assert!(
            back.findings[0].what.contains("are gone; they replaced"),
            "{:?}",
            back.findings[0]
        );
    }
}

#[test]
fn a_replay_with_unknown_ops_is_one_finding_and_asks_for_its_capture() {
    let gate = check(&file("decode_eager"), &file("decode_graph"));
    assert_eq!(gate.outcome, Outcome::Fail, "{:?}", gate.reasons);
    let [change] = &gate.findings[..] else { panic!("one finding: {:#?}", gate.findings) };
    assert!(change.what.starts_with("Captured graphs are launched"), "{}", change.what);
    assert!(gate.notes.iter().any(|note| note.contains("--new-capture")), "{:?}", gate.notes);
}

#[test]
fn a_capture_adds_ops_and_modules_to_the_recording_and_does_not_count_as_a_launch() {
    let (bare, shown) = (file("decode_graph"), captured("decode_graph"));
    assert_eq!((bare.setup.captured, shown.setup.captured), (Captured::No, Captured::Wholly));
    assert!(!bare.setup.has_modules && shown.setup.has_modules);
    assert!(shown.tree().len() > bare.tree().len());
    // Captured calls do not count as calls in the replay.
    assert_eq!(bare.counts, shown.counts);
    assert_eq!(bare.times.get("gpu_time"), shown.times.get("gpu_time"));
    let gate = check(&shown, &shown);
    assert_eq!((gate.outcome, gate.checks.is_empty()), (Outcome::Pass, false));
}

#[test]
fn a_capture_on_one_side_only_violates_no_rule_and_is_reported() {
    for name in ["decode_graph", "decode_graph_streams", "decode_reduce_overhead"] {
        let (bare, shown) = (file(name), captured(name));
        for (one, two) in [(&bare, &shown), (&shown, &bare)] {
            let gate = check(one, two);
            assert_eq!((gate.outcome, broken(&gate)), (Outcome::Pass, BTreeSet::new()), "{name}");
            let printed =
                gate.notes.iter().any(|note| note.contains("compared at the graph launches"));
            assert!(printed, "{name}: {:?}", gate.notes);
        }
    }
}

#[test]
fn kinds_of_work_are_not_compared_if_only_one_side_has_captures() {
    let rules = "[[rule]]\nrule = \"gpu_time\"\ncategory = \"gemm\"\nlimit = \"3%\"";
    let rules = Rules::parse(rules, "rules.toml").expect("rules");
    let (bare, shown) = (file("decode_graph"), captured("decode_graph"));
    let gate = Gate::check(&bare, &shown, &rules, Date::today());
    assert_eq!(gate.outcome, Outcome::Inconclusive);
    assert!(gate.reasons[0].contains("captures"), "{:?}", gate.reasons);
    assert_eq!(Gate::check(&shown, &shown, &rules, Date::today()).outcome, Outcome::Pass);
}

#[test]
fn a_captured_replay_is_compared_with_eager_code_op_by_op() {
    let (eager, shown) = (file("decode_eager"), captured("decode_graph"));
    let gate = check(&eager, &shown);
    assert_ne!(gate.outcome, Outcome::Inconclusive, "{:?}", gate.reasons);
    assert!(gate.notes.iter().any(|note| note.contains("captured calls")), "{:?}", gate.notes);
}

#[test]
fn a_baseline_says_whether_it_was_recorded_with_a_capture() {
    for (recording, printed) in [
        (file("decode_graph"), "contains GPU events\n"),
        (captured("decode_graph"), "captures for all graph launches"),
    ] {
        let bytes = recording.to_baseline();
        let again = Recording::from_baseline("base.ttb", &bytes).expect("a baseline");
        assert_eq!(again.setup, recording.setup);
        let mut overview = Vec::new();
        again.write_overview(&mut overview).expect("memory takes every text");
        assert!(String::from_utf8_lossy(&overview).contains(printed));
        assert_eq!(check(&again, &recording).outcome, Outcome::Pass);
    }
}

#[test]
fn the_order_of_the_runs_changes_no_outcome_and_no_figure_of_a_gate() {
    let of = |names: &[&str]| runs(names, CaptureSource::Nowhere);
    let (off, off_again) = ("resnet_tf32_off", "resnet_tf32_off_again");
    let [one, two, three] = RUNS;
    let printed = |base: [&str; 3], new: [&str; 2]| {
        let gate = check(&of(&base), &of(&new));
        format!("{:?} {} {:#?} {:#?}", gate.outcome, gate.candidate, gate.checks, gate.floors)
    };
    let named = printed(RUNS, [off, off_again]);
    for base in [[three, one, two], [two, three, one]] {
        let other = printed(base, [off_again, off]);
        let line = named.lines().zip(other.lines()).find(|(a, b)| a != b);
        assert!(named == other, "{base:?}: {line:?}");
    }
}
