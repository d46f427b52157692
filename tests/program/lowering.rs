//! Tests the lowering fixtures: for every GPU event, the lowest common op must be the op whose work is the same on both
//! sides.

use crate::support::fixtures::{FIXTURES, Fixture};
use crate::support::root;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use tracetree::diff::TraceDiff;
use tracetree::trace::Trace;
use tracetree::tree::{CallKind, CallTree};
use tracetree::{PerSide, Side};

fn path(fixture: &Fixture, file: &str) -> PathBuf {
    let root = root().to_owned();
    root.join("tests/fixtures").join(fixture.folder).join(file)
}

fn lowest_common_ops(diff: &TraceDiff) -> Vec<String> {
    let mut names = BTreeSet::new();
    for side in Side::BOTH {
        let tree = diff.tree(side);
        for event in tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu) {
            let op = diff.lowest_common_op(side, event);
            names.insert(op.map_or("-", |op| tree.name(op)).to_owned());
        }
    }
    names.into_iter().collect()
}

#[test]
fn the_lowest_common_op_contains_the_same_work_on_both_sides() {
    for fixture in &FIXTURES {
        let files = PerSide::new("baseline.json", "candidate.json");
        let traces = files.map(|file| Trace::open(path(fixture, file)).expect("a fixture"));
        let trees = traces.clone().map(CallTree::build);
        let diff = TraceDiff::new(trees.baseline.clone(), trees.candidate.clone());
        assert_eq!(lowest_common_ops(&diff), fixture.lowest_common, "{}", fixture.folder);
    }
}

#[test]
fn the_fixtures_match_what_the_builder_writes_and_have_a_readme() {
    for fixture in &FIXTURES {
        for (file, fresh) in
            [("baseline.json", fixture.baseline), ("candidate.json", fixture.candidate)]
        {
            let path = path(fixture, file);
            let stale = format!("{}: run `cargo run --example make_traces`", path.display());
            assert_eq!(fs::read_to_string(&path).ok(), Some(fresh()), "{stale}");
        }
        assert!(path(fixture, "README.md").is_file(), "{}", fixture.folder);
    }
}
