//! Tests that repeated calls are matched with identical calls, and that a match is firm only if nothing
//! contradicts it. The pairs come with the true counterparts.

use crate::support::compared::{align_threads, compare_files, shaped};
use crate::support::files::{real_traces, unpacked};
use crate::support::find::calls;
use crate::support::trace_builder::HostThread;
use std::collections::HashMap;
use std::ops::Range;
use tracetree::diff::{Confidence, TraceDiff};
use tracetree::{PerSide, Side};

/// How a comparison agrees with the true counterparts of a pair of recordings.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Agreement {
    /// Fraction of the matches that are true.
    precision: f64,
    /// Fraction of the true matches that were found.
    recall: f64,
    /// Number of firm matches that are not true.
    wrong_firm: usize,
    /// Fraction of the matches that are firm.
    firm: f64,
}

fn agreement(diff: &TraceDiff, truth: &HashMap<usize, usize>) -> Agreement {
    let (mut pairs, mut right, mut firm, mut wrong_firm) = (0, 0, 0, 0);
    for pair in diff.uid_map() {
        let (Some(a), Some(b)) = (pair.baseline, pair.candidate) else { continue };
        let is_true = truth.get(&(a.0 as usize)) == Some(&(b.0 as usize));
        let is_firm = pair.confidence == Some(Confidence::Firm);
        pairs += 1;
        right += usize::from(is_true);
        firm += usize::from(is_firm);
        wrong_firm += usize::from(is_firm && !is_true);
    }
    Agreement {
        precision: right as f64 / pairs as f64,
        recall: right as f64 / truth.len() as f64,
        wrong_firm,
        firm: firm as f64 / pairs as f64,
    }
}

/// Compares a pair of `traces/align` in both directions with its true counterparts; `None` without the traces.
fn of_pair(name: &str) -> Option<[Agreement; 2]> {
    let folder = real_traces()?.join("align");
    let path = |side: &str| {
        let plain = folder.join(format!("{name}_{side}.json"));
        if plain.exists() { plain } else { folder.join(format!("{name}_{side}.json.gz")) }
    };
    let truth = folder.join(format!("{name}_truth.csv"));
    let truth = String::from_utf8(unpacked(&truth).expect("a truth")).expect("text");
    let truth: HashMap<usize, usize> = truth
        .lines()
        .skip(1)
        .filter_map(|line| {
            let (a, b) = line.split_once(',')?;
            Some((a.parse().ok()?, b.parse().ok()?))
        })
        .collect();
    let turned: HashMap<usize, usize> = truth.iter().map(|(&a, &b)| (b, a)).collect();
    let paths = PerSide::new(path("a"), path("b"));
    let found = [(paths.clone(), truth), (paths.swap(), turned)]
        .map(|(paths, truth)| compare_files(paths, |analysis| agreement(analysis.diff(), &truth)));
    Some(found)
}

#[test]
fn layers_that_nothing_distinguishes_are_never_firm() {
    let Some(found) = of_pair("midstep_false_firm") else { return };
    assert!(found.iter().all(|found| found.wrong_firm == 0), "{found:?}");
}

/// Pairs of loops that call a module repeatedly in one step.
const DECODE_LOOPS: [&str; 5] = [
    "decode_every_other",
    "decode_draft",
    "decode_draft_noframes",
    "decode_shift_noframes",
    "decode_leftover",
];

#[test]
fn no_firm_match_of_a_decode_loop_is_wrong() {
    for name in DECODE_LOOPS {
        let Some(found) = of_pair(name) else { return };
        assert!(found.iter().all(|found| found.wrong_firm == 0), "{name}: {found:?}");
    }
}

#[test]
fn repeated_calls_of_a_module_are_matched_with_identical_calls() {
    for name in DECODE_LOOPS {
        let Some(found) = of_pair(name) else { return };
        // The truth includes the records outside of all threads, which have no counterparts.
        assert!(
            found.iter().all(|found| found.precision == 1.0 && found.recall > 0.99),
            "{found:?}"
        );
    }
}

/// A decode loop without frames: two layers per token, in which only the attention depends on the length.
fn decode(lengths: impl Iterator<Item = i64> + Clone) -> impl Fn(&mut HostThread<'_>) {
    move |t| {
        for length in lengths.clone() {
            for _ in 0..2 {
                for op in ["norm", "query", "key", "value", "rope", "cat"] {
                    t.op(shaped(&format!("aten::{op}"), 64), |t| t.kernel(op, 2.0));
                }
                t.op(shaped("aten::attention", length), |t| t.kernel("attention", 5.0));
            }
        }
    }
}

/// Checks that the calls of the given positions are matched, in order, and no others.
fn are_matched(diff: &TraceDiff, name: &str, baseline: Range<usize>, candidate: Range<usize>) {
    let [mine, theirs] = Side::BOTH.map(|side| calls(diff.tree(side), name));
    let mut expected = vec![None; mine.len()];
    for (at, counterpart) in baseline.zip(&theirs[candidate]) {
        expected[at] = Some(*counterpart);
    }
    let found: Vec<_> =
        mine.into_iter().map(|call| diff.counterpart(Side::Baseline, call)).collect();
    assert_eq!(found, expected, "{name}");
}

#[test]
fn the_calls_that_vary_show_which_repetitions_of_a_loop_match() {
    // Most calls occur in every repetition, so more of them would be equal without the shift.
    for shift in [1, 3] {
        let (first, last) = (100 + shift, 106 + shift);
        align_threads(decode(100..106), decode(first..last), |diff| {
            let shift = 2 * (first - 100) as usize;
            for name in ["aten::attention", "aten::norm", "aten::cat"] {
                are_matched(diff, name, shift..12, 0..12 - shift);
            }
        });
    }
}

#[test]
fn a_repetition_that_is_extra_has_not_moved_past_the_others() {
    align_threads(decode(100..108), decode(100..106), |diff| {
        are_matched(diff, "aten::norm", 0..12, 0..12);
    });
    let few = (100..103).chain(107..108);
    align_threads(decode(100..108), decode(few), |diff| {
        let [mine, theirs] = Side::BOTH.map(|side| calls(diff.tree(side), "aten::attention"));
        for (at, counterpart) in [(0, 0), (4, 4), (14, 6), (15, 7)] {
            assert_eq!(
                diff.counterpart(Side::Baseline, mine[at]),
                Some(theirs[counterpart]),
                "{at}"
            );
        }
    });
}

#[test]
fn a_class_that_was_renamed_everywhere_is_firm_with_all_that_it_contains() {
    let Some(found) = of_pair("refactor") else { return };
    for found in found {
        assert!(found.precision == 1.0 && found.recall > 0.998, "{found:?}");
        assert!(found.firm > 0.99 && found.wrong_firm == 0, "{found:?}");
    }
}
