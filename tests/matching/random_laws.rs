//! Uses random traces, and random changes to these traces, to test properties that hold for every comparison.
//!
//! `tests/analysis/laws.rs` checks the same properties on example traces and real traces. The generated trees are small
//! and unusual. If a case fails, it is reduced to a case that is small enough for a person to read.

use crate::support::laws;
use crate::support::random_trace::{Shown, pair, strangers, trace};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseResult};
use tracetree::analysis::Analysis;
use tracetree::diff::TraceDiff;
use tracetree::trace::{ReadOptions, Trace};
use tracetree::tree::CallTree;
use tracetree::{PerSide, Side};

fn read(trace: &Shown) -> Trace {
    Trace::from_reader("random", trace.0.as_bytes(), &ReadOptions::default())
        .expect("a built trace is a trace")
}

/// Checks the properties of a comparison on a pair of traces.
fn check(baseline: &Shown, candidate: &Shown) -> TestCaseResult {
    let traces = PerSide::new(read(baseline), read(candidate));
    let trees = traces.map(CallTree::build);
    let diff = TraceDiff::new(trees.baseline.clone(), trees.candidate.clone());
    let mirrored = TraceDiff::new(trees.candidate.clone(), trees.baseline);
    laws::mirror(&diff, &mirrored);
    laws::once_in_the_map(&diff);
    laws::pairs_hang_below_pairs(&diff);
    let account = (Analysis::new(diff), Analysis::new(mirrored));
    laws::wall_and_bill(&account.0, &account.1);
    prop_assert!(account.0.account().is_exact() && account.1.account().is_exact());
    prop_assert_eq!(account.0.account().difference(), -account.1.account().difference());
    Ok(())
}

/// The test configuration has a fixed seed, so every run checks the same cases. To search for
/// failures by hand, change the seed or add cases.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 400,
        rng_seed: RngSeed::Fixed(20_260_101),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_random_trace_does_not_differ_from_itself(shown in trace()) {
        let trace = read(&shown);
        let tree = CallTree::build(trace);
        let diff = TraceDiff::new(tree.clone(), tree.clone());
        prop_assert_eq!(diff.differences(), vec![]);
        for call in tree.calls() {
            prop_assert_eq!(diff.counterpart(Side::Baseline, call), Some(call));
        }
        laws::no_bill(&Analysis::new(diff));
    }

    #[test]
    fn the_laws_hold_for_random_changes((baseline, candidate) in pair()) {
        check(&baseline, &candidate)?;
    }

    #[test]
    fn the_laws_hold_for_traces_that_have_nothing_in_common((one, two) in strangers()) {
        check(&one, &two)?;
    }
}
