//! Tests that the steps of inference engines are matched by their batches, in any order.

use crate::support::compared::{compare_files, compare_texts};
use crate::support::trace_builder::TraceBuilder;
use crate::support::traces::example;
use std::collections::BTreeMap;
use tracetree::analysis::Analysis;
use tracetree::analysis::steps::{StepEvidence, batch_class_rows, step_pair_rows};
use tracetree::program::{BatchClass, StepId};
use tracetree::{PerSide, Side};

fn serving(name: &str, look: impl FnOnce(&Analysis)) {
    let of = |name: &str| example(&format!("serving/serving_{name}.pt.trace.json.gz"));
    compare_files(PerSide::new(of("base"), of(name)), look);
}

/// For each step in a trace, its batch class, its number of requests and its number of tokens.
fn batches(analysis: &Analysis, side: Side) -> Vec<(Option<BatchClass>, Option<u64>, Option<u64>)> {
    let spans = analysis.diff().steps(side).spans().iter();
    spans.map(|span| (BatchClass::of(span), span.requests, span.tokens)).collect()
}

#[test]
fn requests_in_another_order_are_compared_with_similar_ones() {
    for name in ["reordered", "fewer", "sglang"] {
        serving(name, |analysis| {
            let all = PerSide::from_fn(|side| batches(analysis, side));
            let rows = step_pair_rows(analysis.diff(), analysis.step_rows());
            let mut compared = 0;
            for row in &rows {
                let [one, two] = Side::BOTH.map(|side| row.steps[side].as_ref());
                let Some((one, two)) = one.zip(two) else { continue };
                compared += 1;
                let (one, two) = (all.baseline[one.id.index()], all.candidate[two.id.index()]);
                assert_eq!(one.0, two.0, "{name}: {row:?}");
                assert!(row.evidence != Some(StepEvidence::SameBatch) || one == two, "{row:?}");
            }
            // Computes the maximum number of steps that can be matched by batch class.
            let mut counts: BTreeMap<_, PerSide<usize>> = BTreeMap::new();
            for side in Side::BOTH {
                all[side].iter().for_each(|batch| counts.entry(batch.0).or_default()[side] += 1);
            }
            let most: usize = counts.values().map(|n| n.baseline.min(n.candidate)).sum();
            assert_eq!(compared, most, "{name}");
            assert!(compared >= 10, "{name}: {compared}");
        });
    }
}

#[test]
fn every_call_of_a_compared_step_is_matched_within_its_pair() {
    serving("reordered", |analysis| {
        let counterpart: BTreeMap<_, _> =
            analysis.diff().step_pairs().expect("other steps").iter().copied().collect();
        let (one, two) =
            (analysis.diff().steps(Side::Baseline), analysis.diff().steps(Side::Candidate));
        let all = PerSide::from_fn(|side| batches(analysis, side));
        let has_equal_batch = |step: &StepId| {
            let other = counterpart.get(step);
            other.is_some_and(|other| all.baseline[step.index()] == all.candidate[other.index()])
        };
        let (mut matched, mut ops) = (0, 0);
        let tree = analysis.tree(Side::Baseline);
        for call in tree.calls().filter(|&call| tree.kind(call) == tracetree::tree::CallKind::Op) {
            let Some(step) = one.step(call).filter(has_equal_batch) else {
                continue;
            };
            ops += 1;
            let Some(other) = analysis.diff().counterpart(Side::Baseline, call) else { continue };
            matched += 1;
            assert_eq!(two.step(other), Some(counterpart[&step]));
        }
        // The contexts of two matched steps have different lengths, so different ops pad them, and a few of these ops
        // have no counterpart.
        assert!(ops > 1000 && matched * 100 > ops * 99, "{matched} of {ops}");
        // The matches in two of twelve steps are not firm: the baseline has four decodes of one request, the candidate two,
        // and none of them is at the same position.
        assert!(analysis.changes().firm_share().is_some_and(|share| (0.7..0.9).contains(&share)));
    });
}

#[test]
fn classes_count_all_steps_and_sum_the_compared_ones() {
    serving("reordered", |analysis| {
        let rows = batch_class_rows(analysis.diff(), analysis.step_rows());
        for side in Side::BOTH {
            let steps: u64 = rows.iter().map(|row| row.steps[side]).sum();
            assert_eq!(steps as usize, analysis.diff().steps(side).len());
            let compared: u64 = rows.iter().map(|row| row.figures[side].steps).sum();
            assert_eq!(compared, analysis.wall().totals(side).steps);
        }
        let of_prefill = rows.iter().find(|row| row.class.to_string() == "prefill ≤ 512 tokens");
        let of_prefill = of_prefill.expect("two prompts of 300 and 512 tokens");
        assert_eq!(of_prefill.steps, PerSide::new(2, 2));
        assert_eq!(of_prefill.figures.baseline.tokens, Some(812));
    });
}

#[test]
fn swapped_steps_are_compared_with_steps_of_the_same_kind() {
    let run = |order: [&str; 4]| {
        let trace = TraceBuilder::cuda().thread("main", |t| {
            for (number, kind) in (0..).zip(order) {
                t.step(number, |t| {
                    t.op(format!("aten::{kind}").as_str(), |t| t.kernel(kind, 10.0));
                    t.op("aten::add", |t| t.kernel("add", 5.0));
                });
            }
        });
        trace.json()
    };
    let texts = PerSide::new(run(["mm", "conv", "mm", "mm"]), run(["mm", "mm", "conv", "mm"]));
    compare_texts(&texts, |analysis| {
        let pairs = analysis.diff().step_pairs().expect("another order");
        let pairs: Vec<(u32, u32)> = pairs.iter().map(|(a, b)| (a.0, b.0)).collect();
        assert_eq!(pairs, [(0, 0), (1, 2), (2, 1), (3, 3)]);
        assert!(analysis.changes().is_identical());
    });
}
