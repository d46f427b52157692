//! Tests of changes that JAX profiles state about their programs: each sentence is printed for the pair in which it is
//! true, and for no other pair.

use crate::pairs::{JAX, JAX_SAME, compare};
use crate::shown;
use std::collections::BTreeSet;
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::ChangeKind;

fn path(name: &str) -> String {
    format!("examples/jax/jax_{name}.xplane.pb")
}

/// The kinds of the changes, without memory use.
fn kinds(analysis: &Analysis) -> BTreeSet<ChangeKind> {
    let kinds = analysis.changes().list().iter().map(|change| change.kind);
    kinds.filter(|kind| *kind != ChangeKind::Memory).collect()
}

#[test]
fn one_change_to_a_program_is_one_change() {
    for pair in JAX {
        for (one, two) in [(pair.baseline, pair.candidate), (pair.candidate, pair.baseline)] {
            compare(one, two, |analysis| {
                let own: BTreeSet<ChangeKind> = [pair.kind].into_iter().collect();
                assert_eq!(kinds(analysis), own, "{one} → {two}: {:#?}", shown(analysis));
            });
        }
    }
}

#[test]
fn each_of_two_changes_to_a_program_is_named() {
    let variants = [
        ("cpu_batch", ChangeKind::Shapes),
        ("cpu_bfloat16", ChangeKind::Precision),
        ("cpu_checkpoint", ChangeKind::Checkpointing),
        ("cpu_layer_more", ChangeKind::Layers),
        ("cpu_relu", ChangeKind::Ops),
        ("batch", ChangeKind::Shapes),
        ("layer_more", ChangeKind::Layers),
        ("relu", ChangeKind::Ops),
    ];
    for (one, first) in variants {
        for (two, second) in variants {
            if one == two || one.starts_with("cpu") != two.starts_with("cpu") {
                continue;
            }
            compare(&path(one), &path(two), |analysis| {
                let made: BTreeSet<ChangeKind> = [first, second].into_iter().collect();
                assert_eq!(kinds(analysis), made, "{one} → {two}: {:#?}", shown(analysis));
            });
        }
    }
}

#[test]
fn a_wait_of_the_runtime_does_not_count_as_a_change() {
    let all = JAX.iter().map(|pair| (pair.baseline, pair.candidate)).chain(JAX_SAME);
    for (one, two) in all {
        compare(one, two, |analysis| {
            let shown = shown(analysis);
            assert!(!shown.iter().any(|shown| shown.to_lowercase().contains("wait")), "{shown:#?}");
        });
    }
}

#[test]
fn kernels_that_process_other_data_are_not_the_same_kernels() {
    compare(&path("base"), &path("batch"), |analysis| {
        let change = &analysis.changes().list()[0];
        assert!(change.busy.0 > 60_000, "{:#?}", shown(analysis));
        assert_eq!(analysis.changes().without_change()[0].cost.0, 0);
    });
    compare(&path("base"), &path("again"), |analysis| {
        assert_ne!(analysis.changes().without_change()[0].cost.0, 0, "the program is the same");
    });
}
