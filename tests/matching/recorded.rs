//! Changes recordings in `examples/traces`, matches each recording with its changed copy, and compares the UID maps
//! with snapshots.
//!
//! The minimum scores in `ground_truth` are so low that they are still reached if one matching rule stops working. The
//! snapshots, in contrast, change whenever a match changes. Each snapshot line contains the number of matched host
//! calls, the number of correct matches, the number of possible matches, the CRC-32 of the map, the change, and the
//! mode. If a change increases the number of correct matches, accept the snapshot.

use crate::support::bench::{Mode, Trial};
use crate::support::changes::Change;
use crate::support::files::unpacked;
use crate::support::recording::Recording;
use crate::support::root;
use crate::support::snapshot::assert_snapshot;

/// The seed for all random changes.
const SEED: u64 = 1;

fn check(name: &str, file: &str) {
    let path = root().join("examples/traces").join(file);
    let recording = Recording::read(&unpacked(&path).expect("a file")).expect("a trace");
    let mut lines = String::new();
    for change in Change::all() {
        for &mode in Mode::of(&recording) {
            let trial = Trial::run(&recording, &change, mode, SEED).expect("two traces");
            let Some(trial) = trial else { continue };
            let host = trial.scores().host;
            let counts =
                [host.pairs, host.right, host.true_pairs].map(|count| format!("{count:>6}"));
            let crc = crc32fast::hash(format!("{:?}", trial.map).as_bytes());
            let (change, mode) = (change.label(), mode.label());
            lines += &format!("{} {crc:08x}  {change}, {mode}\n", counts.concat());
        }
    }
    assert_snapshot("pairing", name, &lines);
}

#[test]
fn changes_of_a_resnet_are_matched_as_before() {
    check("resnet_eager", "h100/resnet_eager.pt.trace.json.gz");
}

#[test]
fn changes_of_a_transformer_are_matched_as_before() {
    check("tfm_flash", "h100/tfm_flash.pt.trace.json.gz");
}

#[test]
fn changes_of_a_compiled_transformer_are_matched_as_before() {
    check("tfm_compiled", "h100/tfm_compiled.pt.trace.json.gz");
}

#[test]
fn changes_of_an_inference_on_two_streams_are_matched_as_before() {
    check("decode_eager_streams", "h100/decode_eager_streams.pt.trace.json.gz");
}

#[test]
fn changes_of_a_convolutional_net_without_a_gpu_are_matched_as_before() {
    check("cnn_eager", "cnn_eager.pt.trace.json.gz");
}
