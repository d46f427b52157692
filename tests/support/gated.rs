//! Digests of runs, and what a gate says of two of them by the usual rules.

use tracetree::CallTree;
use tracetree::gate::{Date, Digest, Digester, Gate, Rules};

pub fn digest(trees: impl IntoIterator<Item = CallTree>) -> Digest {
    let mut digester = Digester::default();
    for tree in trees {
        digester.add(tree).expect("a run of one program");
    }
    digester.finish()
}

pub fn check(baseline: &Digest, candidate: &Digest) -> Gate {
    Gate::check(baseline, candidate, &Rules::default(), Date::today())
}

/// The same by the rules about the structure alone: one run a side cannot test time.
pub fn check_structure(baseline: &Digest, candidate: &Digest) -> Gate {
    Gate::check(baseline, candidate, &Rules::default().structure_only(), Date::today())
}

/// Rule and place of each finding, with what tells most of it.
pub fn findings(gate: &Gate) -> Vec<String> {
    let each = gate
        .checks
        .iter()
        .flat_map(|check| check.findings.iter().map(move |finding| (check.rule.as_str(), finding)));
    each.map(|(rule, finding)| {
        format!("{rule} at {}: {}", finding.place.words(), finding.evidence[0])
    })
    .collect()
}
