//! Small random trees → the alignment finds nearly as many pairs of equal calls as there can be.
//!
//! The oracle is the exact tree edit distance (`support::tree_edit`), which knows names alone: it pairs as
//! many calls of equal names as order allows. The alignment weighs shapes and what lies below, too, so a
//! pair more or less is no mistake; that it loses a whole subtree, or more than a few calls of all, is one.

mod support;

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use support::changes::Change;
use support::random_trace::{Shown, one_thread};
use support::recording::Recording;
use support::splitmix::SplitMix;
use support::tree_edit::{Ordered, most_pairs};
use tracetree::diff::TraceDiff;
use tracetree::trace::{ReadOptions, Trace};
use tracetree::tree::{CallId, CallKind, CallTree};
use tracetree::{PerSide, Side};

/// Pairs of traces that are tried.
const CASES: u32 = 300;

fn tree(shown: &Shown) -> CallTree {
    let trace = Trace::from_reader("random", shown.0.as_bytes(), &ReadOptions::default());
    CallTree::build(trace.expect("a built trace is a trace"))
}

/// What two calls must share to be the same; `None` for what is no structure.
fn label(tree: &CallTree, call: CallId) -> Option<String> {
    let name = tree.name(call);
    match tree.kind(call) {
        CallKind::Runtime if !tree.is_gpu_path(call) => None,
        // Launches are told by what they launch.
        CallKind::Runtime => {
            let below = tree.children(call).map(|below| tree.name(below));
            Some(format!("launch {}", below.collect::<Vec<_>>().join(" ")))
        }
        // Neither the line of a frame nor the number of a module.
        CallKind::Frame => {
            let (before, line) = name.split_once('(').unwrap_or((name, ""));
            let function = line.split_once(')').map_or("", |(_, function)| function);
            let class = before.trim_end_matches(|c: char| c.is_ascii_digit());
            Some(format!("{class}{function}"))
        }
        CallKind::Thread => Some("thread".to_owned()),
        CallKind::Op | CallKind::Gpu | CallKind::Unlinked => Some(name.to_owned()),
    }
}

/// The tree of a trace of one thread, in postorder; recurses as deep as the random calls nest.
fn ordered(tree: &CallTree, call: CallId, to: &mut Ordered) -> Option<usize> {
    let mut first = None;
    for child in tree.children(call) {
        let leaf = ordered(tree, child, to);
        first = first.or(leaf);
    }
    if let Some(label) = label(tree, call) {
        let own = to.len();
        to.push(label, first);
        first = first.or(Some(own));
    }
    first
}

/// How many pairs of equal calls the alignment has, and how many it could have without moving any.
fn found_and_possible(shown: &PerSide<Shown>) -> (usize, usize) {
    let trees = PerSide::new(tree(&shown.baseline), tree(&shown.candidate));
    let orders = PerSide::from_fn(|side| {
        let mut order = Ordered::default();
        let thread = trees[side].roots().next().expect("a thread");
        ordered(&trees[side], thread, &mut order);
        order
    });
    let possible = most_pairs(&orders.baseline, &orders.candidate);
    let diff = TraceDiff::new(trees.baseline, trees.candidate);
    let [one, two] = Side::BOTH.map(|side| diff.tree(side));
    let equal = |&call: &CallId| {
        let partner = diff.partner(Side::Baseline, call);
        let mine = label(one, call);
        mine.is_some() && partner.is_some_and(|partner| label(two, partner) == mine)
    };
    (one.calls().filter(equal).count(), possible)
}

/// Pairs found and possible over all cases, and the most that one case lacks.
#[derive(Debug, Default)]
struct Sum {
    found: usize,
    possible: usize,
    most_lacking: usize,
    cases: Vec<(usize, PerSide<Shown>)>,
}

/// Tries the same cases in every run.
fn sum(cases: impl Strategy<Value = (Shown, Shown)>) -> Sum {
    let config = ProptestConfig {
        rng_seed: RngSeed::Fixed(20_260_102),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = TestRunner::new(config);
    let mut sum = Sum::default();
    for _ in 0..CASES {
        let (baseline, candidate) = cases.new_tree(&mut runner).expect("a case").current();
        let pair = PerSide::new(baseline, candidate);
        let (found, possible) = found_and_possible(&pair);
        let lacking = possible.saturating_sub(found);
        sum.found += possible - lacking;
        sum.possible += possible;
        sum.most_lacking = sum.most_lacking.max(lacking);
        sum.cases.push((lacking, pair));
    }
    sum
}

fn changed() -> impl Strategy<Value = (Shown, Shown)> {
    let changes = vec![
        Change::DropOps(20.0),
        Change::UnwrapOps(20.0),
        Change::WrapOps(20.0),
        Change::InsertOps(20.0),
        Change::RenameOps(20.0),
        Change::SwapNeighbours(20.0),
        Change::DropLaunches(20.0),
        Change::later_version(),
    ];
    (one_thread(), prop::sample::select(changes), any::<u64>()).prop_map(|(trace, change, seed)| {
        let recording = Recording::read(trace.0.as_bytes()).expect("a built trace is a trace");
        let changed = change.apply(&recording, &mut SplitMix::new(seed)).unwrap_or(recording);
        let text = String::from_utf8(changed.write()).expect("JSON is UTF-8");
        (trace, Shown(text))
    })
}

#[test]
fn of_a_changed_tree_nearly_all_is_found_that_an_exact_search_finds() {
    let sum = sum(changed());
    eprintln!("{} of {}, {}", sum.found, sum.possible, sum.most_lacking);
    let worst = sum.cases.iter().max_by_key(|case| case.0);
    if let Some((lacking, pair)) = worst { eprintln!("{lacking}: {:?}\n{:?}", pair.baseline, pair.candidate); }
    panic!();
}

#[test]
fn of_trees_that_have_nothing_to_do_with_each_other_most_is_found() {
    let sum = sum((one_thread(), one_thread()));
    eprintln!("{} of {}, {}", sum.found, sum.possible, sum.most_lacking);
    panic!();
}
