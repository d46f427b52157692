//! Tests for pairs of calls that the user specifies with `--match`.

use crate::support::compared::{shaped, trace};
use crate::support::find::{call, calls};
use crate::support::trace_builder::{HostThread, TraceBuilder};
use tracetree::diff::{DiffOptions, Pin};
use tracetree::{CallTree, Side, TraceDiff};

fn tree(body: impl FnOnce(&mut HostThread<'_>)) -> CallTree {
    CallTree::build(trace("t", &TraceBuilder::cuda().thread("main", body).json()))
}

/// A program with a module `Block_N` for each number N in `numbers`. Each module contains `ops`
/// ops.
fn blocks(numbers: &[u32], ops: usize) -> impl FnOnce(&mut HostThread<'_>) {
    move |t| {
        for number in numbers {
            t.module(&format!("Block_{number}"), |t| {
                for _ in 0..ops {
                    t.op(shaped("aten::mm", 4), |t| t.kernel("gemm", 5.0));
                }
            });
        }
    }
}

fn pinned(one: &[u32], two: &[u32], pins: &[&str]) -> TraceDiff {
    let pins = pins.iter().map(|pin| pin.parse::<Pin>().expect("a pin")).collect();
    let options = DiffOptions::default().pins(pins);
    TraceDiff::with_options(tree(blocks(one, 3)), tree(blocks(two, 3)), options)
}

#[test]
fn a_pin_overrules_the_alignment_and_what_is_in_it_follows() {
    let pin = r#"module("Block_0") = module("Block_2")"#;
    for (one, two, pin) in [
        (vec![0, 1], vec![0, 1, 2], pin),
        (vec![0, 1, 2], vec![0, 1], r#"module("Block_2") = module("Block_0")"#),
    ] {
        let free = pinned(&one, &two, &[]);
        let diff = pinned(&one, &two, &[pin]);
        diff.check_pins().expect("kept");
        let find =
            |side: Side, number: u32| call(diff.tree(side), &format!("nn.Module: Block_{number}"));
        let (a, b) = if one.len() == 2 { (0, 2) } else { (2, 0) };
        let (a, b) = (find(Side::Baseline, a), find(Side::Candidate, b));
        assert_ne!(free.counterpart(Side::Baseline, a), Some(b), "nothing to overrule");
        assert_eq!(diff.counterpart(Side::Baseline, a), Some(b));
        let inside = |tree: &CallTree, above| {
            let ops = calls(tree, "aten::mm").into_iter();
            ops.filter(|&op| tree.is_below(op, above)).collect::<Vec<_>>()
        };
        let (ours, theirs) =
            (inside(diff.tree(Side::Baseline), a), inside(diff.tree(Side::Candidate), b));
        assert_eq!(ours.len(), 3);
        for (one, two) in ours.into_iter().zip(theirs) {
            assert_eq!(diff.counterpart(Side::Baseline, one), Some(two));
        }
    }
}

#[test]
fn a_pin_that_cannot_be_kept_is_an_error() {
    let message = |pins: &[&str]| {
        pinned(&[0, 1], &[0, 1, 2], pins).check_pins().expect_err("no such pin").to_string()
    };
    let none = message(&[r#"module("Block_0") = module("Block_7")"#]);
    assert!(none.contains("no call matches"), "{none}");
    let many = message(&[r#"module("Block_*") = module("Block_*")"#]);
    assert!(many.contains("selects 2 calls in the baseline and 3 in the candidate"), "{many}");
    let twice = message(&[
        r#"module("Block_0") = module("Block_0")"#,
        r#"module("Block_0") = module("Block_1")"#,
    ]);
    assert!(twice.contains("an earlier --match"), "{twice}");
    // The first `--match` selects one call in the baseline but all `aten::mm` calls in the
    // candidate.
    let crossed = message(&[
        r#"module("Block_0") = op("aten::mm")"#,
        r#"module("Block_1") = module("Block_1")"#,
    ]);
    assert!(crossed.contains("selects 1 calls") || crossed.contains("cannot match"), "{crossed}");
}

#[test]
fn contradicting_pins_are_an_error() {
    let nested = |outer: &'static str, inner: &'static str| {
        tree(move |t| {
            t.op(outer, |t| t.op(inner, |t| t.kernel("gemm", 5.0)));
        })
    };
    let pins = [r#"op("aten::a") = op("aten::a")"#, r#"op("aten::b") = op("aten::b")"#];
    let pins = pins.iter().map(|pin| pin.parse::<Pin>().expect("a pin")).collect();
    let diff = TraceDiff::with_options(
        nested("aten::a", "aten::b"),
        nested("aten::b", "aten::a"),
        DiffOptions::default().pins(pins),
    );
    let error = diff.check_pins().expect_err("no tree contains both").to_string();
    assert!(error.contains("cannot match"), "{error}");
}
