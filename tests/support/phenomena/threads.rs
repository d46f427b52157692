//! Phenomena with several host threads. The numbers and roles of these threads differ between runs.

use super::pair;
use crate::support::trace_builder::{HostThread, Op, TraceBuilder};
use tracetree::PerSide;

/// In the candidate, two threads start in the opposite order, so their numbers are swapped.
pub(super) fn threads_exchanged() -> PerSide<String> {
    let start = TraceBuilder::cuda;
    pair(
        start().thread("worker 0", load).thread("worker 1", compute),
        start().thread("worker 0", compute).thread("worker 1", load),
    )
}

fn load(t: &mut HostThread<'_>) {
    t.frame("data.py(31): fetch", |t| {
        t.op(Op::new("aten::copy_").dims(&[&[8, 3, 32, 32]]), |t| {
            t.memcpy("Memcpy HtoD (Pageable -> Device)", 98_304, 11.0);
        });
    });
}

fn compute(t: &mut HostThread<'_>) {
    t.frame("train.py(8): forward", |t| {
        t.op(Op::new("aten::relu").dims(&[&[8, 64]]), |t| t.kernel("relu_kernel", 3.0));
        t.op(Op::new("aten::sum").dims(&[&[8, 64]]), |t| t.kernel("reduce_kernel", 4.0));
    });
}

/// The forward pass is on the main thread, and the backward pass is on the autograd thread. The candidate's model has
/// a second layer.
pub(super) fn backward_thread() -> PerSide<String> {
    pair(training(&[1]), training(&[1, 2]))
}

/// A trace with one layer per sequence number; the backward pass runs in reverse order.
fn training(sequences: &[i64]) -> TraceBuilder {
    TraceBuilder::cuda().thread("main", |t| {
        t.frame("train.py(8): forward", |t| {
            for &sequence in sequences {
                t.op(linear("aten::linear", sequence).forward(sequence), |t| {
                    t.op(linear("aten::addmm", sequence).forward(sequence), |t| {
                        t.kernel("gemm_kernel", 10.0);
                    });
                });
            }
        });
        t.frame("train.py(9): backward", |t| {
            t.wait_for("autograd", |t| {
                for &sequence in sequences.iter().rev() {
                    backward(t, sequence);
                }
            });
        });
    })
}

fn backward(t: &mut HostThread<'_>, sequence: i64) {
    let node = "autograd::engine::evaluate_function: AddmmBackward0";
    t.op(Op::new(node).backward(sequence), |t| {
        t.op(Op::new("AddmmBackward0").backward(sequence), |t| {
            t.op(linear("aten::mm", sequence), |t| t.kernel("gemm_kernel", 12.0));
        });
    });
}

/// A linear op with a different width for each layer, so that all layers have different shapes.
fn linear(name: &str, layer: i64) -> Op {
    Op::new(name).dims(&[&[32, 64 * layer], &[64 * layer, 64]])
}
