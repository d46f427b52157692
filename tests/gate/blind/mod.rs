//! Tests that the gate never passes a trace from which data was removed.
//!
//! Each run damages an intact recording in one way, and uses the damaged recording on one side of the comparison or on
//! both sides. The outcome must be a failure, an inconclusive result, or a read error, and must name a reason.

mod ways;

use crate::gated::check;
use crate::support::files::unpacked;
use crate::support::splitmix::SplitMix;
use crate::support::traces;
use std::path::Path;
use tracetree::trace::ReadOptions;
use tracetree::{CallTree, Result, Trace};
use tracetree_gate::{Gate, Outcome, Recorder, Recording};
use ways::{Document, OF_BYTES, OF_GPU_WORK, OF_HOST_WORK, OF_ONE_SIDE, Way};

/// Which side of the comparison uses the damaged recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damaged {
    Candidate,
    Baseline,
    Both,
}

const ONE: [Damaged; 2] = [Damaged::Candidate, Damaged::Baseline];
const EACH: [Damaged; 3] = [Damaged::Candidate, Damaged::Baseline, Damaged::Both];

/// An intact recording without Python frames and flow arrows, which make up most of the text.
fn sound(path: &Path) -> Document {
    let mut document = Document::parse(&unpacked(path).expect("a bundled trace"));
    document.remove(&|e| {
        ways::category(e) == "python_function" || matches!(e["ph"].as_str(), Some("s" | "f"))
    });
    document
}

fn record(bytes: &[u8]) -> Result<Recording> {
    let trace = Trace::from_reader("trace.json", bytes, &ReadOptions::default())?;
    let mut recorder = Recorder::default();
    recorder.add(CallTree::build(trace))?;
    recorder.finish()
}

/// The reason why the gate does not pass; `None` if it passes.
fn reason(gate: &Gate) -> Option<String> {
    match gate.outcome {
        Outcome::Pass => None,
        Outcome::Inconclusive => gate.reasons.first().cloned(),
        Outcome::Fail => gate.findings.first().map(|finding| finding.what.clone()),
    }
}

/// The sides on which the damage goes unnoticed, because the gate passes or gives no reason.
fn passes(sound: &Recording, name: &str, bytes: &[u8], sides: &[Damaged]) -> Vec<String> {
    let Ok(damaged) = record(bytes) else { return Vec::new() };
    let is_blind = |side: &&Damaged| {
        let gate = match side {
            Damaged::Candidate => check(sound, &damaged),
            Damaged::Baseline => check(&damaged, sound),
            Damaged::Both => check(&damaged, &damaged),
        };
        reason(&gate).is_none_or(|reason| reason.is_empty())
    };
    sides.iter().filter(is_blind).map(|side| format!("{name} ({side:?})")).collect()
}

/// Lists the kinds of damage that go unnoticed, each with the damaged side. Also returns the number of runs.
fn blind(file: &Path, ways: &[(&str, Way)], sides: &[Damaged]) -> (Vec<String>, usize) {
    let bytes = sound(file).bytes();
    let whole = record(&bytes).expect("a sound trace");
    let same = check(&whole, &whole);
    assert_eq!((same.outcome, &same.reasons[..]), (Outcome::Pass, &[][..]), "{}", file.display());
    let mut passed = Vec::new();
    for (name, way) in ways {
        let mut document = Document::parse(&bytes);
        way(&mut document, &mut SplitMix::new(7));
        let damaged = document.bytes();
        assert_ne!(damaged, bytes, "{name} changes nothing");
        passed.extend(passes(&whole, name, &damaged, sides));
    }
    (passed, ways.len() * sides.len())
}

fn five_steps() -> std::path::PathBuf {
    traces::h100("train_five_steps")
}

#[test]
fn missing_gpu_work_on_any_side_never_passes() {
    assert_eq!(blind(&five_steps(), &OF_GPU_WORK, &EACH), (Vec::new(), 111));
}

#[test]
fn calls_missing_with_their_work_on_one_side_never_pass() {
    assert_eq!(blind(&five_steps(), &OF_ONE_SIDE, &ONE), (Vec::new(), 32));
}

#[test]
fn missing_host_work_on_one_side_never_passes() {
    let file = traces::example("cnn.pt.trace.json.gz");
    assert_eq!(blind(&file, &OF_HOST_WORK, &ONE), (Vec::new(), 18));
}

#[test]
fn damaged_bytes_on_any_side_never_pass() {
    let bytes = sound(&five_steps()).bytes();
    let whole = record(&bytes).expect("a sound trace");
    let passed: Vec<String> =
        OF_BYTES.iter().flat_map(|(name, way)| passes(&whole, name, &way(&bytes), &EACH)).collect();
    assert_eq!(passed, [""; 0]);
}
