//! Phenomena with siblings that are dropped, inserted, swapped or renumbered.

use super::pair;
use crate::support::trace_builder::{HostThread, Op, TraceBuilder};
use tracetree::PerSide;

/// An op that reads and writes one tensor and launches one kernel.
fn pointwise(t: &mut HostThread<'_>, name: &str, micros: f64) {
    t.op(Op::new(name).dims(&[&[32, 64]]), |t| {
        t.kernel(&format!("{}_kernel", name.trim_start_matches("aten::")), micros);
    });
}

/// A block whose ops are all below one op, as in an autograd function.
fn block(names: &[&str]) -> TraceBuilder {
    TraceBuilder::cuda().thread("main", |t| {
        t.op("MyBlock", |t| {
            for name in names {
                pointwise(t, name, 5.0);
            }
        });
    })
}

/// The candidate lacks the op `aten::mul`.
pub(super) fn dropped_op() -> PerSide<String> {
    pair(block(&["aten::mul", "aten::exp", "aten::sum"]), block(&["aten::exp", "aten::sum"]))
}

/// The candidate has an additional `aten::clamp`.
pub(super) fn inserted_op() -> PerSide<String> {
    pair(
        block(&["aten::exp", "aten::exp", "aten::exp", "aten::sum"]),
        block(&["aten::exp", "aten::clamp", "aten::exp", "aten::exp", "aten::sum"]),
    )
}

/// The candidate runs two independent ops in the reverse order.
pub(super) fn moved_neighbours() -> PerSide<String> {
    pair(
        block(&["aten::exp", "aten::cos", "aten::sin", "aten::sum"]),
        block(&["aten::exp", "aten::sin", "aten::cos", "aten::sum"]),
    )
}

/// The candidate has a new first layer, which raises the instance numbers of the existing layers by
/// one.
pub(super) fn module_numbers() -> PerSide<String> {
    let network = |layers: &'static [(usize, &'static str, i64)]| {
        TraceBuilder::cuda().thread("main", |t| {
            t.module("Net_0", |t| {
                for &(number, kind, width) in layers {
                    t.module(&format!("{kind}_{number}"), |t| {
                        t.op(Op::new("aten::addmm").dims(&[&[32, width], &[width, 64]]), |t| {
                            t.kernel("gemm_kernel", 10.0);
                        });
                    });
                }
            });
        })
    };
    pair(
        network(&[(0, "Linear", 64), (1, "Linear", 128), (2, "Linear", 256)]),
        network(&[(0, "Linear", 32), (1, "Linear", 64), (2, "Linear", 128), (3, "Linear", 256)]),
    )
}

/// The candidate has the same steps as the baseline, but it was recorded after a longer warm-up.
pub(super) fn step_numbers() -> PerSide<String> {
    let steps = |first: u32, micros: f64| {
        TraceBuilder::cuda().thread("main", move |t| {
            for number in first..first + 2 {
                t.step(number, |t| {
                    t.frame("train.py(12): step", |t| {
                        pointwise(t, "aten::exp", 5.0);
                        pointwise(t, "aten::sum", micros);
                    });
                });
            }
        })
    };
    pair(steps(3, 4.0), steps(10, 6.0))
}
