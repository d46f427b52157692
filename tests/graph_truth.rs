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

const CHANGES: [&[CaptureChange]; 7] = [
    &[CaptureChange::None],
    &[CaptureChange::DropLaunches],
    &[CaptureChange::ForgetNames],
    &[CaptureChange::TwoStreams],
    &[CaptureChange::DropLaunches, CaptureChange::TwoStreams],
    &[CaptureChange::DropLaunches, CaptureChange::ForgetNames],
    &[CaptureChange::ForgetNames, CaptureChange::TwoStreams],
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

fn shares(name: &str, recording: &Recording) {
    let Some(graphs) = Graphs::of_eager(recording) else { return };
    for changes in CHANGES {
        let mut random = SplitMix::new(5);
        let changed = changes
            .iter()
            .fold(graphs.clone(), |graphs, change| graphs.changed(*change, &mut random));
        let tree = changed.tree(&[]);
        let (right, all) = changed.right(&tree);
        eprintln!(
            "{name} {changes:?}: {right} of {all} = {:.4}  {:?}",
            right as f64 / all as f64,
            tree.replays().first().map(|r| (r.placed, r.misfit.as_ref().map(|m| m.1)))
        );
    }
}

#[test]
fn known_captures_of_generated_traces_are_found() {
    for platform in [Platform::Rocm, Platform::Cuda] {
        let json = training(platform, 3).json();
        let recording = Recording::read(json.as_bytes()).expect("a built trace is a trace");
        shares(&format!("{platform:?}"), &recording);
    }
}

#[test]
fn known_captures_of_real_traces_are_found() {
    let Some(folder) = real_traces() else {
        eprintln!("skipped: TRACETREE_TRACES does not name the folder of real traces");
        return;
    };
    for name in REAL {
        let bytes = unpacked(&folder.join(name)).expect("a readable file");
        shares(name, &Recording::read(&bytes).expect("a trace"));
    }
}
