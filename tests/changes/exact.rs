//! Tests that the costs of all changes, together with the time that is not attributed to a change, add up to the
//! step-time difference.

use crate::pairs::{KNOWN, SAME, compare};
use crate::support::compared::{compare_texts, steps_of};
use tracetree::PerSide;
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::ChangeKind;
use tracetree::trace::Nanos;

fn parts(analysis: &Analysis) -> [Nanos; 5] {
    analysis.changes().without_change().map(|part| part.cost)
}

fn costs(analysis: &Analysis) -> Vec<(ChangeKind, i64)> {
    let list = analysis.changes().list().iter();
    let mut costs: Vec<(ChangeKind, i64)> =
        list.map(|change| (change.kind, change.cost.0)).collect();
    costs.sort_unstable();
    costs
}

#[test]
fn costs_add_up_to_the_difference_of_a_step() {
    let same = SAME.iter().copied();
    for (one, two) in KNOWN.iter().map(|pair| (pair.baseline, pair.candidate)).chain(same) {
        compare(one, two, |analysis| {
            let (changes, wall) = (analysis.changes(), analysis.wall());
            assert!(changes.is_exact(wall), "{one} → {two}");
            let sum: Nanos = analysis.bill().lines().iter().map(|line| line.price).sum();
            assert_eq!(changes.difference(), sum, "{one} → {two}");
        });
    }
}

#[test]
fn costs_do_not_add_up_to_the_difference_of_another_step() {
    let step = |micros: f64| steps_of(1, |t| t.op("aten::mm", |t| t.kernel("gemm", micros)));
    compare_texts(&PerSide::new(step(40.0), step(50.0)), |slower| {
        compare_texts(&PerSide::new(step(40.0), step(60.0)), |slowest| {
            assert!(slower.changes().is_exact(slower.wall()));
            assert!(!slower.changes().is_exact(slowest.wall()));
        });
    });
}

#[test]
fn swapping_the_sides_mirrors_every_cost() {
    for (one, two) in [
        ("resnet_eager", "resnet_tf32_off"),
        ("train_base", "train_clip"),
        ("train_base", "train_five_steps"),
        ("tfm_flash", "tfm_math"),
        ("decode_eager", "decode_graph"),
    ] {
        let there = compare(one, two, |analysis| (costs(analysis), parts(analysis)));
        let back = compare(two, one, |analysis| (costs(analysis), parts(analysis)));
        let (there, back) = (there.expect("bundled"), back.expect("bundled"));
        let mut mirrored: Vec<(ChangeKind, i64)> =
            back.0.into_iter().map(|(kind, cost)| (kind, -cost)).collect();
        mirrored.sort_unstable();
        assert_eq!(there.0, mirrored, "{one} → {two}");
        assert_eq!(there.1, back.1.map(|part| -part), "{one} → {two}");
    }
}

#[test]
fn little_is_unexplained() {
    for pair in KNOWN {
        compare(pair.baseline, pair.candidate, |analysis| {
            let changes = analysis.changes();
            let list = changes.list().iter().map(|change| change.cost.abs());
            let all: Nanos = list.chain(parts(analysis).map(Nanos::abs)).sum();
            let unexplained = changes.unexplained().abs();
            assert!(50 * unexplained.0 <= all.0, "{} → {}", pair.baseline, pair.candidate);
        });
    }
}
