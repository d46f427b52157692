//! Tests the gate's results for a program with one change: the gate must find the change at its call site, and must not
//! report anything that merely resembles the change or follows from it.

use crate::gated::{check, findings, record};
use crate::support::compared;
use crate::support::trace_builder::{HostThread, Op, TraceBuilder};
use tracetree::tree::CallTree;
use tracetree_gate::Recording;

/// Two identical steps on a GPU.
fn program(step: impl Fn(&mut HostThread<'_>)) -> Recording {
    let trace = TraceBuilder::cuda().thread("main", |t| {
        for number in 0..2 {
            t.step(number, |t| step(t));
        }
    });
    record([CallTree::build(compared::trace("run", &trace.json()))])
}

fn shown(baseline: &Recording, candidate: &Recording) -> Vec<String> {
    findings(&check(baseline, candidate))
}

/// Adds an op that reads a value. If the value is on the GPU, the op copies the value and waits for the copy.
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

fn reading(host_values: usize, gpu_values: usize) -> Recording {
    program(|t| {
        t.op("aten::mm", |t| t.kernel("gemm", 10.0));
        (0..host_values).for_each(|_| item(t, false));
        (0..gpu_values).for_each(|_| item(t, true));
    })
}

#[test]
fn only_a_call_that_waits_for_the_gpu_is_a_new_wait() {
    let before = reading(10, 0);
    assert_eq!(
        shown(&before, &reading(12, 0)),
        ["new_op: The host reads a value of a tensor: 2 × aten::item per step"]
    );
    assert_eq!(
        shown(&before, &reading(10, 1)),
        ["new_sync new_copy: The host reads a value of a tensor: aten::item per step"]
    );
    assert_eq!(
        shown(&reading(10, 1), &before),
        ["gone_op: The host no longer reads a value of a tensor: aten::item per step"]
    );
}

#[test]
fn a_change_that_violates_two_rules_is_one_finding_and_explains_its_launches() {
    let with_kernels = |gpu_values: usize, memsets: usize| {
        program(move |t| {
            t.op("aten::mm", |t| {
                t.kernel("gemm", 10.0);
                (0..memsets).for_each(|_| t.memset(64, 1.0));
            });
            (0..10).for_each(|_| item(t, false));
            (0..gpu_values).for_each(|_| item(t, true));
        })
    };
    assert_eq!(
        shown(&with_kernels(0, 0), &with_kernels(1, 1)),
        [
            "new_sync new_copy: The host reads a value of a tensor: aten::item per step",
            "kernels_per_call new_kernel: Matrix products run different kernels (shapes were not recorded) at 1 op per step"
        ]
    );
}

#[test]
fn an_op_that_could_copy_but_does_not_is_not_a_copy() {
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
    assert_eq!(shown(&casting(6, 1), &casting(9, 1)), ["new_op: Added: 3 × aten::to per step"]);
    assert_eq!(
        shown(&casting(6, 1), &casting(6, 2)),
        ["new_copy new_op: Added: aten::to per step"]
    );
}

#[test]
fn different_kernels_follow_from_different_shapes() {
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
    assert_eq!(shown(&before, &larger).len(), 1);
    assert!(shown(&before, &larger)[0].starts_with("shape_change: Inputs are 2x as large"));
    // If both sides have the same shapes, only the number of kernels changes.
    assert!(
        shown(&before, &product(8, split))[0]
            .starts_with("kernels_per_call new_kernel: Matrix products")
    );
}

#[test]
fn a_site_says_which_arguments_or_kernels_differ() {
    let product = |rows: i64, dtype: &'static str, kernel: &'static str| {
        program(move |t| {
            t.module("Net_0", |t| {
                let op = Op::new("aten::mm").dims(&[&[rows, 64], &[64, 64]]).types(&[dtype, dtype]);
                t.op(op, |t| t.kernel(kernel, 5.0));
            });
        })
    };
    let before = product(8, "float", "gemm_a");
    let shown = |after: &Recording| {
        let gate = check(&before, after);
        let sites = gate.findings.iter().flat_map(|finding| &finding.sites);
        sites.map(|site| site.what.clone()).collect::<Vec<_>>()
    };
    let shapes = "[[8, 64], [64, 64]] → [[16, 64], [64, 64]]";
    assert_eq!(shown(&product(16, "float", "gemm_a")), [shapes]);
    let types = "[\"float\", \"float\"] → [\"c10::BFloat16\", \"c10::BFloat16\"]";
    assert_eq!(shown(&product(8, "c10::BFloat16", "gemm_a")), [types]);
    assert_eq!(shown(&product(8, "float", "gemm_b")), ["gemm_a → gemm_b"]);
}

/// A training program with `blocks` blocks whose loader makes `casts` casts.
fn training(blocks: usize, casts: usize) -> Recording {
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
fn reduced_optimizer_work_follows_from_a_removed_layer() {
    let (before, after) = (training(4, 2), training(3, 2));
    let found = shown(&before, &after);
    assert_eq!(found, ["gone_op: 3 instead of 4 Block calls per step"]);
    // Removed work outside of modules is still reported.
    let less = shown(&before, &training(3, 1));
    assert!(
        less.len() == 2 && less.iter().any(|shown| shown.contains("aten::_to_copy")),
        "{less:?}"
    );
}

#[test]
fn a_wait_that_no_op_makes_is_found_by_its_count() {
    let waiting = |waits: usize| {
        program(move |t| {
            t.op("aten::mm", |t| t.kernel("gemm", 10.0));
            (0..waits).for_each(|_| t.synchronize("cudaDeviceSynchronize"));
        })
    };
    assert_eq!(
        shown(&waiting(1), &waiting(2)),
        ["new_sync: The host waits for the GPU: cudaDeviceSynchronize per step"]
    );
    assert_eq!(shown(&waiting(2), &waiting(1)), [""; 0]);
}
