//! Recordings in `examples/traces` changed in known ways → the UID map, pair by pair as before.
//!
//! The goals of `ground_truth` leave room for a rule that is lost. Here every change of a pair shows: a
//! line has the change, how many host calls are paired, how many of these rightly, how many could be, and the
//! CRC-32 of the map. Where more are right than before, accept the snapshot.

use crate::support::bench::{Mode, Trial};
use crate::support::changes::Change;
use crate::support::files::unpacked;
use crate::support::recording::Recording;
use crate::support::snapshot::assert_snapshot;
use std::path::Path;

/// Seed of all changes.
const SEED: u64 = 1;

fn check(name: &str, file: &str) {
    let path = Path::new("examples/traces").join(file);
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
fn changes_of_a_resnet_are_paired_as_before() {
    check("resnet_eager", "h100/resnet_eager.pt.trace.json.gz");
}

#[test]
fn changes_of_a_transformer_are_paired_as_before() {
    check("tfm_flash", "h100/tfm_flash.pt.trace.json.gz");
}

#[test]
fn changes_of_a_compiled_transformer_are_paired_as_before() {
    check("tfm_compiled", "h100/tfm_compiled.pt.trace.json.gz");
}

#[test]
fn changes_of_an_inference_on_two_streams_are_paired_as_before() {
    check("decode_eager_streams", "h100/decode_eager_streams.pt.trace.json.gz");
}

#[test]
fn changes_of_a_convolutional_net_without_a_gpu_are_paired_as_before() {
    check("cnn_eager", "cnn_eager.pt.trace.json.gz");
}
