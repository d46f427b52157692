//! Captures changed in a known way → how many kernels of a replay find the launch that made them.
//!
//! The generated traces run always, the real ones where `TRACETREE_TRACES` names their folder.

mod support;

use support::captures::{CaptureChange, Graphs};
use support::files::{real_traces, unpacked};
use support::recording::Recording;
use support::resnet::training;
use support::splitmix::SplitMix;
use support::trace_builder::Platform;

/// One thing changed: nearly all kernels find their launch, and no wrong one.
const SINGLE: f64 = 0.99;
/// Names are gone and launches as well: what is left is the order, and words.
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

/// The lines of all changes on which the placing of a graph's kernels falls short.
fn shortfalls(name: &str, graphs: &Graphs, seed: u64) -> Vec<String> {
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
        eprintln!("{name}, {changes:?}: {share:.4} of {all}");
        if share < least {
            let replay = &tree.replays()[0];
            lines.push(format!("{name}, {changes:?}: {share:.4} of {all}, {:?}", replay.misfit));
        }
    }
    lines
}

#[test]
fn known_captures_of_generated_traces_are_found() {
    for platform in [Platform::Rocm, Platform::Cuda] {
        let json = training(platform, 3).json();
        let recording = Recording::read(json.as_bytes()).expect("a built trace is a trace");
        let graphs = Graphs::of_eager(&recording).expect("launches");
        let lines = shortfalls(&format!("{platform:?}"), &graphs, 5);
        assert!(lines.is_empty(), "{}", lines.join("\n"));
    }
}

fn recorded(name: &str) -> Option<Recording> {
    let bytes = unpacked(&real_traces()?.join(name)).expect("a readable file");
    Some(Recording::read(&bytes).expect("a trace"))
}

#[test]
fn known_captures_of_real_traces_are_found() {
    if real_traces().is_none() {
        eprintln!("skipped: TRACETREE_TRACES does not name the folder of real traces");
        return;
    }
    let recordings = REAL.iter().filter_map(|name| Some((*name, recorded(name)?)));
    let graphs = recordings.filter_map(|(name, made)| Some((name, Graphs::of_eager(&made)?)));
    let lines: Vec<String> =
        graphs.flat_map(|(name, graphs)| shortfalls(name, &graphs, 5)).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

/// The real capture and replay of SGLang, changed.
#[test]
fn a_real_capture_is_found_through_changes() {
    let names = [
        "inference/capture/sglang_decode.capture.mi300.json.gz",
        "inference/sglang_decode.mi300.json.gz",
    ];
    let [Some(capture), Some(replay)] = names.map(recorded) else {
        eprintln!("skipped: TRACETREE_TRACES does not name the folder of real traces");
        return;
    };
    let graphs = Graphs::recorded(capture, replay);
    assert_eq!(graphs.truth.len(), 544);
    let lines = shortfalls("SGLang", &graphs, 5);
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn the_capture_of_another_model_is_never_taken() {
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
