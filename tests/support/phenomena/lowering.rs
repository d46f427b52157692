//! Phenomena in which one op uses a different backend on each side. The calls below this op differ in name, depth and
//! launches.

use super::pair;
use crate::support::trace_builder::{HostThread, Op, TraceBuilder};
use tracetree::PerSide;

/// The shapes of an image batch, of the weights and of the bias.
const CONVOLUTION: [&[i64]; 3] = [&[8, 3, 32, 32], &[64, 3, 7, 7], &[64]];
const HEADS: &[i64] = &[2, 8, 128, 64];
const FLASH: &str =
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>(params)";
const EFFICIENT: &str = "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(AttentionKernel::Params)";

/// The two sides use different backends for attention: the op below the attention op does the same work under a
/// different name.
pub(super) fn rename() -> PerSide<String> {
    let attention = |backend: &'static str, kernel: &'static str, micros: f64| {
        TraceBuilder::cuda().thread("main", move |t| {
            t.frame("model.py(20): attend", |t| {
                t.op("aten::scaled_dot_product_attention", |t| {
                    t.op(Op::new(backend).dims(&[HEADS; 3]), |t| {
                        t.leaf("aten::transpose");
                        t.kernel(kernel, micros);
                    });
                });
            });
        })
    };
    pair(
        attention("aten::_scaled_dot_product_flash_attention", FLASH, 30.0),
        attention("aten::_scaled_dot_product_efficient_attention", EFFICIENT, 45.0),
    )
}

/// With MIOpen, the bias is added inside MIOpen's op; with cuDNN, `aten::_convolution` adds the bias after cuDNN's op.
pub(super) fn bias_add() -> PerSide<String> {
    pair(TraceBuilder::rocm().thread("main", miopen), TraceBuilder::cuda().thread("main", cudnn))
}

fn miopen(t: &mut HostThread<'_>) {
    convolution(t, |t| {
        t.op(Op::new("aten::miopen_convolution").dims(&CONVOLUTION), |t| {
            t.call("hipGetDevicePropertiesR0600");
            t.launch("hipExtModuleLaunchKernel").kernel("igemm_fwd_gtcx3_nhwc_bf16", 40.0);
            add_bias(t, 6.0);
        });
    });
}

fn cudnn(t: &mut HostThread<'_>) {
    convolution(t, |t| {
        t.op(Op::new("aten::cudnn_convolution").dims(&CONVOLUTION[..2]), |t| {
            t.launch("cudaLaunchKernelExC").kernel("sm90_xmma_fprop_implicit_gemm_bf16", 90.0);
        });
        t.leaf("aten::reshape");
        add_bias(t, 4.0);
    });
}

fn convolution(t: &mut HostThread<'_>, backend: impl FnOnce(&mut HostThread<'_>)) {
    t.module("Conv2d_0", |t| {
        t.op(Op::new("aten::conv2d").dims(&CONVOLUTION), |t| {
            t.op(Op::new("aten::convolution").dims(&CONVOLUTION), |t| {
                t.op(Op::new("aten::_convolution").dims(&CONVOLUTION), backend);
            });
        });
    });
}

fn add_bias(t: &mut HostThread<'_>, micros: f64) {
    t.op(Op::new("aten::add_").dims(&[&[8, 64, 32, 32], &[1, 64, 1, 1]]), |t| {
        t.kernel("void at::native::elementwise_kernel<CUDAFunctor_add<float>>(int)", micros);
    });
}

/// cuBLAS clears a workspace before its kernel, while hipBLASLt does not.
pub(super) fn memset_on_one_side() -> PerSide<String> {
    let linear = Op::new("aten::addmm").dims(&[&[64], &[32, 128], &[128, 64]]);
    let other = linear.clone();
    pair(
        TraceBuilder::rocm().thread("main", |t| {
            t.op(linear, |t| t.launch("hipExtModuleLaunchKernel").kernel("Cijk_MT64x32", 12.0));
        }),
        TraceBuilder::cuda().thread("main", |t| {
            t.op(other, |t| {
                t.memset(32, 1.5);
                t.launch("cuLaunchKernelEx").kernel("nvjet_tst_64x32", 9.0);
            });
        }),
    )
}

/// All kernels in a captured step are below one graph launch. The candidate's graph launch has one more kernel.
pub(super) fn graph_launch() -> PerSide<String> {
    let replay = |trace: TraceBuilder, api: &'static str, last: &'static [&'static str]| {
        trace.thread("main", move |t| {
            t.frame("runner.py(9): replay", |t| {
                t.launch(api).graph(|g| {
                    for layer in 0..3 {
                        g.kernel("rms_norm_kernel", 3.0);
                        g.kernel(&format!("gemm_layer_{layer}"), 20.0);
                    }
                    for name in last {
                        g.kernel(name, 5.0);
                    }
                });
            });
        })
    };
    pair(
        replay(TraceBuilder::rocm(), "hipGraphLaunch", &["softmax_kernel"]),
        replay(TraceBuilder::cuda(), "cudaGraphLaunch", &["softmax_kernel", "top_k_kernel"]),
    )
}
