//! Phenomena with wrappers, and with calls that have no counterpart. A wrapper is a call that encloses other calls on
//! only one side.

use super::pair;
use crate::support::trace_builder::{HostThread, Op, TraceBuilder};
use tracetree::PerSide;

const GEMM: &str = "gemm_bf16_128x64";
const NORM: &str = "layer_norm_kernel";

/// A linear layer. Both traces contain this linear layer and the norm layer from [`norm`].
fn linear(t: &mut HostThread<'_>) {
    t.op(Op::new("aten::linear").dims(&[&[32, 128], &[64, 128]]), |t| {
        t.op("aten::addmm", |t| t.kernel(GEMM, 20.0));
    });
}

fn norm(t: &mut HostThread<'_>) {
    t.op(Op::new("aten::layer_norm").dims(&[&[32, 64]]), |t| {
        t.op("aten::native_layer_norm", |t| t.kernel(NORM, 5.0));
    });
}

fn trace(body: impl FnOnce(&mut HostThread<'_>)) -> TraceBuilder {
    TraceBuilder::cuda().thread("main", |t| t.frame("model.py(5): forward", body))
}

/// In the candidate, a decorator adds a frame around a layer.
pub(super) fn wrapper() -> PerSide<String> {
    pair(
        trace(|t| {
            linear(t);
            norm(t);
        }),
        trace(|t| {
            t.frame("torch/amp/autocast_mode.py(44): decorate_autocast", linear);
            norm(t);
        }),
    )
}

/// In the candidate, a compiler adds a frame, an op and a second frame around a layer.
pub(super) fn wrappers_in_wrappers() -> PerSide<String> {
    pair(
        trace(|t| {
            linear(t);
            norm(t);
        }),
        trace(|t| {
            t.frame("torch/_dynamo/eval_frame.py(736): compile_wrapper", |t| {
                t.op("Torch-Compiled Region: 0/0", |t| {
                    t.frame("<eval_with_key>.3(4): forward", linear);
                });
            });
            norm(t);
        }),
    )
}

/// Each side has one wrapper, but the two sides wrap different layers.
pub(super) fn wrappers_on_both_sides() -> PerSide<String> {
    pair(
        trace(|t| {
            t.frame("torch/utils/checkpoint.py(459): checkpoint", linear);
            norm(t);
        }),
        trace(|t| {
            linear(t);
            t.frame("torch/autograd/grad_mode.py(120): decorate_context", norm);
        }),
    )
}

/// The candidate has an additional op, which is outside of all other ops.
pub(super) fn nothing_in_common() -> PerSide<String> {
    pair(
        trace(|t| {
            linear(t);
            norm(t);
        }),
        trace(|t| {
            linear(t);
            norm(t);
            t.op(Op::new("aten::nan_to_num").dims(&[&[32, 64]]), |t| {
                t.leaf("aten::empty_like");
                t.kernel("nan_to_num_kernel", 7.0);
            });
        }),
    )
}
