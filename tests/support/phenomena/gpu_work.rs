//! Phenomena with GPU work in unusual positions: outside the tree, without an op, overlapping, or absent.

use super::pair;
use crate::support::trace_builder::{Op, TraceBuilder};
use serde_json::json;
use tracetree::PerSide;

/// The trace begins while kernels from the previous step are still running.
pub(super) fn unlinked_gpu_events() -> PerSide<String> {
    let relu = Op::new("aten::relu").dims(&[&[64]]);
    let other = relu.clone();
    pair(
        TraceBuilder::rocm()
            .unlinked_kernel("gemm_kernel", 40.0)
            .unlinked_kernel("gemm_kernel", 42.0)
            .unlinked_kernel("reduce_kernel", 6.0)
            .thread("main", |t| t.op(relu, |t| t.kernel("relu_kernel", 5.0))),
        TraceBuilder::cuda()
            .unlinked_kernel("gemm_kernel", 30.0)
            .thread("main", |t| t.op(other, |t| t.kernel("relu_kernel", 5.0))),
    )
}

/// Compiled code launches kernels directly from Python, without an op; in the candidate, two launches are fused into
/// one.
pub(super) fn launch_without_op() -> PerSide<String> {
    let compiled = |kernels: &'static [(&'static str, f64)]| {
        TraceBuilder::cuda().thread("main", move |t| {
            t.frame("torch/_inductor/codecache.py(1162): call", |t| {
                for &(name, micros) in kernels {
                    t.launch("cuLaunchKernel").kernel(name, micros);
                }
            });
        })
    };
    pair(
        compiled(&[("triton_poi_fused_add_0", 4.0), ("triton_red_fused_sum_1", 6.0)]),
        compiled(&[("triton_red_fused_add_sum_0", 7.0)]),
    )
}

/// In the candidate, one op runs kernels on two streams at the same time.
pub(super) fn overlapping_kernels() -> PerSide<String> {
    let split = Op::new("aten::matmul").dims(&[&[256, 256], &[256, 256]]);
    let other = split.clone();
    pair(
        TraceBuilder::cuda().thread("main", |t| {
            t.op(split, |t| {
                t.kernel("gemm_half", 50.0);
                t.kernel("gemm_half", 50.0);
            });
        }),
        TraceBuilder::cuda().thread("main", |t| {
            t.op(other, |t| {
                t.kernel("gemm_half", 50.0);
                t.on_stream(21, |t| t.kernel("gemm_half", 50.0));
            });
        }),
    )
}

/// Neither trace contains GPU work, so the time in the ops themselves is compared.
pub(super) fn cpu_only() -> PerSide<String> {
    let program = |pause: f64| {
        TraceBuilder::cuda().header("deviceProperties", json!([])).thread("main", move |t| {
            t.frame("train.py(4): step", |t| {
                t.op(Op::new("aten::linear").dims(&[&[32, 64], &[64, 64]]), |t| {
                    t.op(Op::new("aten::addmm").dims(&[&[64], &[32, 64], &[64, 64]]), |t| {
                        t.idle(pause);
                    });
                });
                t.leaf(Op::new("aten::relu").dims(&[&[32, 64]]));
            });
        })
    };
    pair(program(100.0), program(130.0))
}
