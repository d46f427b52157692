//! Tests that the generated files in `examples/traces` match the generator's output, and that each trace in this folder
//! contains the calls that its file name indicates.

use crate::support::files::unpacked;
use crate::support::recording::{Kind, Recording};
use crate::support::resnet::training;
use crate::support::trace_builder::Platform;
use crate::support::traces;

fn committed(name: &str) -> Vec<u8> {
    let path = traces::example(name);
    unpacked(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn recording(name: &str) -> Recording {
    Recording::read(&committed(name)).expect("an example is a trace")
}

fn count(recording: &Recording, name: &str) -> usize {
    recording.events.iter().filter(|event| &*event.name == name).count()
}

#[test]
fn the_generated_pair_is_what_the_generator_writes() {
    for (name, platform) in [("resnet.rocm", Platform::Rocm), ("resnet.cuda", Platform::Cuda)] {
        let fresh = training(platform, 3).json();
        let same = committed(&format!("{name}.json.gz")) == fresh.as_bytes();
        assert!(same, "{name} is stale: run `cargo run --example make_traces`");
    }
}

#[test]
fn both_platforms_run_the_same_convolutions_with_their_own_backends() {
    let (rocm, cuda) = (recording("resnet.rocm.json.gz"), recording("resnet.cuda.json.gz"));
    for name in ["aten::_convolution", "aten::convolution_backward"] {
        assert_eq!((count(&rocm, name), count(&cuda, name)), (45, 45), "{name}");
    }
    for (name, counts) in [
        ("aten::miopen_convolution", (45, 0)),
        ("aten::cudnn_convolution", (0, 45)),
        ("aten::miopen_batch_norm", (45, 0)),
        ("aten::cudnn_batch_norm_backward", (0, 45)),
        ("aten::clone", (3, 0)),
        ("Memset (Device)", (0, 90)),
    ] {
        assert_eq!((count(&rocm, name), count(&cuda, name)), counts, "{name}");
    }
}

#[test]
fn every_event_lies_within_its_parent() {
    for name in ["resnet.rocm.json.gz", "resnet.cuda.json.gz"] {
        let recording = recording(name);
        let forest = crate::support::recording::Forest::of(&recording.events);
        let linked = (0..recording.events.len()).filter_map(|at| Some((at, forest.parents[at]?)));
        for (at, parent) in linked {
            let (event, above) = (&recording.events[at], &recording.events[parent]);
            assert!(event.start >= above.start, "{name}: event {at}");
            assert!(event.kind == Kind::Gpu || event.end <= above.end, "{name}: event {at}");
        }
    }
}

#[test]
fn the_recorded_pairs_differ_by_the_op_that_was_added() {
    let (cnn, extra) =
        (recording("cnn.pt.trace.json.gz"), recording("cnn_extra_op.pt.trace.json.gz"));
    assert_eq!((count(&cnn, "aten::sin"), count(&extra, "aten::sin")), (0, 3));
    let rerun = recording("cnn_rerun.pt.trace.json.gz");
    let ops = |recording: &Recording| {
        recording.events.iter().filter(|event| event.kind == Kind::Op).count()
    };
    assert_eq!(ops(&cnn), ops(&rerun));
}
