//! Creates recordings of runs, and checks one recording against another with the default rules.

use tracetree::CallTree;
use tracetree::trace::{ReadOptions, Trace};
use tracetree_gate::{Date, Gate, Recorder, Recording, Rules};

pub(crate) fn record(trees: impl IntoIterator<Item = CallTree>) -> Recording {
    let mut recorder = Recorder::default();
    for tree in trees {
        recorder.add(tree).expect("a run of one program");
    }
    recorder.finish().expect("at least one run")
}

pub(crate) fn tree(name: &str, text: &str) -> CallTree {
    let trace = Trace::from_reader(name, text.as_bytes(), &ReadOptions::default());
    CallTree::build(trace.expect("a trace"))
}

/// The recording of one run, given as the text of its trace.
pub(crate) fn record_text(text: &str) -> Recording {
    record([tree("a trace", text)])
}

pub(crate) fn check(baseline: &Recording, candidate: &Recording) -> Gate {
    Gate::check(baseline, candidate, &Rules::default(), Date::today())
}

/// Checks a candidate like [`check`], but only with the structural rules, because times cannot be tested with a single
/// run per side.
pub(crate) fn check_structure(baseline: &Recording, candidate: &Recording) -> Gate {
    Gate::check(baseline, candidate, &Rules::default().structure_only(), Date::today())
}

/// The findings about structure. Each line names the violated rules and says what differs.
pub(crate) fn findings(gate: &Gate) -> Vec<String> {
    let of_structure =
        gate.findings.iter().filter(|finding| finding.limit.is_empty() || finding.kind.is_empty());
    of_structure.map(|finding| format!("{}: {}", finding.rules.join(" "), finding.what)).collect()
}

/// The sentences about the changes that the gate finds; `diff` writes the same sentences.
pub(crate) fn changes(gate: &Gate) -> Vec<&str> {
    let changes = gate.findings.iter().filter(|finding| !finding.kind.is_empty());
    changes.map(|finding| finding.what.as_str()).collect()
}
