//! Changes captures in known ways, and counts the replayed kernels that are still attributed to the right launch.
//!
//! Generated traces are always tested; real traces are tested only if `TRACETREE_TRACES` names
//! their folder.

use crate::support::captures::{CaptureChange, Graphs};
use crate::support::files::{real_traces, unpacked};
use crate::support::recording::Recording;
use crate::support::resnet::training;
use crate::support::splitmix::SplitMix;
use crate::support::trace_builder::Platform;

/// Minimum fraction of kernels that must be attributed to the right launch; this value applies to most changes.
const SINGLE: f64 = 0.99;
/// Minimum fraction of kernels that must be attributed to the right launch if a change removes kernel names and some
/// launches. After such a change, the only remaining evidence is the order of the kernels, and the words in the names
/// of ops and kernels.
const FEW_SIGNS: f64 = 0.80;

const CHANGES: [(&[CaptureChange], f64); 7] = [
    (&[CaptureChange::None], 1.0),
    (&[CaptureChange::DropLaunches], SINGLE),
    (&[CaptureChange::ForgetNames], SINGLE),
    (&[CaptureChange::TwoStreams], SINGLE),
    (&[CaptureChange::DropLaunches, CaptureChange::TwoStreams], SINGLE),
    (&[CaptureChange::ForgetNames, CaptureChange::TwoStreams], 0.85),
    (&[CaptureChange::DropLaunches, CaptureChange::ForgetNames], FEW_SIGNS),
];

const REAL: [&str; 7] = [
    "mi300_h100/vit.mi300.json.gz",
    "mi300_h100/vit.h100.json.gz",
    "mi300_h100/bert.h100.json.gz",
    "mi300_h100/timesformer.h100.json.gz",
    "mi300_h100/timesformer.mi300.json.gz",
    "inference/vllm_eager.b200.json.gz",
    "training/resnet50_ddp.a100.json.gz",
];

/// The description of a change, the fraction of kernels that are attributed to the right launch, and the minimum for
/// this fraction.
type Measured = (String, f64, f64);

/// Measures, for each change in [`CHANGES`], which fraction of a graph's kernels is attributed to the right launch.
fn measured(name: &str, graphs: &Graphs, seed: u64) -> Vec<Measured> {
    let mut lines = Vec::new();
    for (changes, least) in CHANGES {
        let mut random = SplitMix::new(seed);
        let mut changed = graphs.clone();
        for &change in changes {
            changed = changed.changed(change, &mut random);
        }
        let tree = changed.tree(&[]);
        let (right, all) = changed.right(&tree);
        let share = right as f64 / all as f64;
        let misfit = &tree.replays()[0].misfit;
        lines.push((format!("{name}, {changes:?}, {all} kernels, {misfit:?}"), share, least));
    }
    lines
}

#[test]
fn known_captures_of_generated_traces_are_found() {
    for platform in [Platform::Rocm, Platform::Cuda] {
        let json = training(platform, 3).json();
        let recording = Recording::read(json.as_bytes()).expect("a built trace is a trace");
        let graphs = Graphs::of_eager(&recording).expect("launches");
        for (what, share, least) in measured(&format!("{platform:?}"), &graphs, 5) {
            eprintln!("{share:.4} {what}");
            assert!(share >= least, "{what}: {share:.4}");
        }
    }
}

fn recorded(name: &str) -> Option<Recording> {
    let bytes = unpacked(&real_traces()?.join(name)).expect("a readable file");
    Some(Recording::read(&bytes).expect("a trace"))
}

#[test]
fn known_captures_of_real_traces_are_found() {
    let recordings = REAL.iter().filter_map(|name| Some((*name, recorded(name)?)));
    let graphs = recordings.filter_map(|(name, made)| Some((name, Graphs::of_eager(&made)?)));
    for (what, share, least) in graphs.flat_map(|(name, graphs)| measured(name, &graphs, 5)) {
        eprintln!("{share:.4} {what}");
        assert!(share >= least, "{what}: {share:.4}");
    }
}

/// A real SGLang capture and replay, changed in known ways.
#[test]
fn a_real_capture_is_found_despite_changes() {
    let names = [
        "inference/capture/sglang_decode.capture.mi300.json.gz",
        "inference/sglang_decode.mi300.json.gz",
    ];
    let [Some(capture), Some(replay)] = names.map(recorded) else { return };
    let graphs = Graphs::recorded(capture, replay);
    assert_eq!(graphs.truth.len(), 544);
    for (what, share, least) in measured("SGLang", &graphs, 5) {
        eprintln!("{share:.4} {what}");
        assert!(share >= least, "{what}: {share:.4}");
    }
}

#[test]
fn the_capture_of_another_model_is_never_used() {
    let made = |platform| {
        let json = training(platform, 3).json();
        let recording = Recording::read(json.as_bytes()).expect("a built trace is a trace");
        Graphs::of_eager(&recording).expect("launches")
    };
    let (one, two) = (made(Platform::Rocm), made(Platform::Cuda));
    let other = Graphs { capture: two.capture.clone(), ..one.clone() };
    assert_eq!(other.tree(&[]).replays()[0].graph, None);
    let beside = one.tree(&[&two.capture]);
    assert_eq!(one.right(&beside), (600, 600));
    let forgotten = other.changed(CaptureChange::ForgetNames, &mut SplitMix::new(1));
    assert_eq!(forgotten.tree(&[]).replays()[0].graph, None);
}
