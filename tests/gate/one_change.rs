//! What a gate says of a program with one change: the change at its place, and nothing that only looks
//! like one or follows from it.

use crate::support::compared;
use crate::support::gated::{check, digest, findings};
use crate::support::trace_builder::{HostThread, Op, TraceBuilder};
use tracetree::gate::{Digest, Structure};
use tracetree::tree::CallTree;

/// Two equal steps on a GPU.
fn program(step: impl Fn(&mut HostThread<'_>)) -> Digest {
    let trace = TraceBuilder::cuda().thread("main", |t| {
        for number in 0..2 {
            t.step(number, |t| step(t));
        }
    });
    digest([CallTree::build(compared::trace("run", &trace.json()))])
}

fn told(baseline: &Digest, candidate: &Digest) -> Vec<String> {
    findings(&check(baseline, candidate))
}

/// Reads a value; one of the GPU is copied and waited for.
fn item(t: &mut HostThread<'_>, is_on_gpu: bool) {
    t.op("aten::item", |t| {
        t.op("aten::_local_scalar_dense", |t| {
            if is_on_gpu {
                t.memcpy("Memcpy DtoH (Device -> Pageable)", 4, 1.0);
                t.synchronize("cudaStreamSynchronize");
            } else {
                t.idle(1.0);
            }
        });
    });
}

fn reading(host_values: usize, gpu_values: usize) -> Digest {
    program(|t| {
        t.op("aten::mm", |t| t.kernel("gemm", 10.0));
        (0..host_values).for_each(|_| item(t, false));
        (0..gpu_values).for_each(|_| item(t, true));
    })
}

#[test]
fn only_what_waits_for_the_gpu_is_a_new_wait() {
    let before = reading(10, 0);
    assert_eq!(told(&before, &reading(12, 0)), ["new_op at step: aten::item: 10 → 12"]);
    assert_eq!(
        told(&before, &reading(10, 1)),
        ["new_sync at step: aten::item: 0 → 1", "new_copy at step: aten::item: 0 → 1"]
    );
    assert_eq!(told(&reading(10, 1), &before), ["gone_op at step: aten::item: 11 → 10"]);
}

#[test]
fn what_breaks_two_rules_explains_its_launches_once() {
    let with_kernels = |gpu_values: usize, memsets: usize| {
        program(move |t| {
            t.op("aten::mm", |t| {
                t.kernel("gemm", 10.0);
                // No rule speaks of a memset.
                (0..memsets).for_each(|_| t.memset(64, 1.0));
            });
            (0..10).for_each(|_| item(t, false));
            (0..gpu_values).for_each(|_| item(t, true));
        })
    };
    let found = told(&with_kernels(0, 0), &with_kernels(1, 1));
    let launches = found.iter().find(|told| told.starts_with("launches_per_step"));
    let launches = launches.unwrap_or_else(|| panic!("one launch is told by nothing: {found:?}"));
    assert!(launches.ends_with("+1 are of changes at places"), "{launches}");
}

#[test]
fn an_op_that_may_copy_and_does_not_is_no_copy() {
    let casting = |idle: usize, copying: usize| {
        program(move |t| {
            t.op("aten::mm", |t| t.kernel("gemm", 10.0));
            for _ in 0..idle {
                t.leaf("aten::to");
            }
            for _ in 0..copying {
                t.op("aten::to", |t| t.memcpy("Memcpy DtoD (Device -> Device)", 64, 1.0));
            }
        })
    };
    assert_eq!(told(&casting(6, 1), &casting(9, 1)), ["new_op at step: aten::to: 7 → 10"]);
    assert_eq!(told(&casting(6, 1), &casting(6, 2)), ["new_copy at step: aten::to: 1 → 2"]);
}

#[test]
fn other_kernels_follow_from_other_shapes() {
    let product = |rows: i64, kernels: &'static [&'static str]| {
        program(move |t| {
            t.module("Net_0", |t| {
                let op =
                    Op::new("aten::mm").dims(&[&[rows, 64], &[64, 64]]).types(&["float", "float"]);
                t.op(op, |t| kernels.iter().for_each(|name| t.kernel(name, 5.0)));
            });
        })
    };
    let before = product(8, &["gemm_a"]);
    let split: &[&str] = &["gemm_b", "splitKreduce"];
    let larger = product(16, split);
    assert_eq!(told(&before, &larger).len(), 1);
    assert!(told(&before, &larger)[0].starts_with("shape_change at Net_0"));
    let follow = Structure::of(&before, &larger).follow;
    assert_eq!(
        follow.iter().map(|change| change.rule.label()).collect::<Vec<_>>(),
        ["kernels_per_call"]
    );
    let gate = check(&before, &larger);
    assert!(
        gate.notes.iter().any(|note| note.starts_with("1 change of kernels")),
        "{:?}",
        gate.notes
    );
    // With the same shapes the kernels are the change.
    assert!(told(&before, &product(8, split))[0].starts_with("kernels_per_call at Net_0"));
}

/// A training of so many blocks, whose loader makes so many casts.
fn training(blocks: usize, casts: usize) -> Digest {
    program(|t| {
        (0..casts).for_each(|_| t.op("aten::_to_copy", |t| t.kernel("cast", 1.0)));
        t.module("Net_0", |t| {
            for block in 0..blocks {
                t.module(&format!("Block_{block}"), |t| {
                    t.op("aten::linear", |t| t.kernel("gemm", 10.0));
                });
            }
        });
        for _ in 0..blocks {
            t.leaf("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad");
        }
        t.annotation("Optimizer.step#AdamW.step", |t| {
            (0..blocks).for_each(|_| item(t, false));
            t.op("aten::_fused_adamw_", |t| t.kernel("adamw", 10.0));
        });
    })
}

#[test]
fn what_the_optimizer_does_less_follows_from_a_layer_that_is_gone() {
    let (before, after) = (training(4, 2), training(3, 2));
    let found = told(&before, &after);
    assert!(
        found.len() == 1 && found[0].starts_with("gone_op at Net_0: module Block_3"),
        "{found:?}"
    );
    assert_eq!(Structure::of(&before, &after).follow.len(), 1);
    // What else is gone outside of modules does not hide behind it.
    let less = told(&before, &training(3, 1));
    assert!(
        less.len() == 2 && less.iter().any(|told| told.starts_with("gone_op at step")),
        "{less:?}"
    );
}
