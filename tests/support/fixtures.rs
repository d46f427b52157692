//! Lists the folders in `tests/fixtures` that show lowering phenomena (one phenomenon per folder), and generates their
//! traces.

use super::trace_builder::{HostThread, Op, TraceBuilder};

/// A pair of traces whose only difference is one phenomenon.
#[derive(Debug, Clone, Copy)]
pub struct Fixture {
    /// The folder in `tests/fixtures`, which also serves as the fixture's name.
    pub folder: &'static str,
    /// Generates the baseline as JSON text.
    pub baseline: fn() -> String,
    /// Generates the candidate as JSON text.
    pub candidate: fn() -> String,
    /// For each GPU event on either side, the name of the lowest common op (`-` if there is no common op), in sorted
    /// order.
    pub lowest_common: &'static [&'static str],
}

/// All fixtures, sorted by folder.
pub const FIXTURES: [Fixture; 8] = [
    Fixture {
        folder: "autograd_thread",
        baseline: autograd_rocm,
        candidate: autograd_cuda,
        lowest_common: &["aten::convolution_backward", "aten::relu"],
    },
    Fixture {
        folder: "backward_before_1_11",
        baseline: backward_in_parts,
        candidate: backward_in_one,
        lowest_common: &["ConvolutionBackward0"],
    },
    Fixture {
        folder: "batch_norm_backend",
        baseline: || batch_norm(TraceBuilder::rocm(), "aten::miopen_batch_norm"),
        candidate: || batch_norm(TraceBuilder::cuda(), "aten::cudnn_batch_norm"),
        lowest_common: &["aten::_batch_norm_impl_index"],
    },
    Fixture {
        folder: "convolution_bias",
        baseline: convolution_rocm,
        candidate: convolution_cuda,
        lowest_common: &["aten::_convolution", "aten::add_"],
    },
    Fixture {
        folder: "extra_op",
        baseline: || relu_and(|t| t.op("aten::clone", |t| t.kernel("copy_kernel", 7.0))),
        candidate: || relu_and(|_| {}),
        lowest_common: &["-", "aten::relu"],
    },
    Fixture {
        folder: "lowering_graph_launch",
        baseline: || graph(TraceBuilder::rocm(), "hipGraphLaunch", "Cijk_Ailk_Bljk"),
        candidate: || graph(TraceBuilder::cuda(), "cudaGraphLaunch", "sm90_xmma_gemm"),
        lowest_common: &["decode::forward"],
    },
    Fixture {
        folder: "launch_not_in_trace",
        baseline: || relu_after(TraceBuilder::cuda().unlinked_kernel("gemm_kernel", 40.0)),
        candidate: || relu_after(TraceBuilder::cuda()),
        lowest_common: &["-", "aten::relu"],
    },
    Fixture {
        folder: "lowering_memset_on_one_side",
        baseline: || product(TraceBuilder::rocm(), "hipExtModuleLaunchKernel", |_| {}),
        candidate: || product(TraceBuilder::cuda(), "cuLaunchKernel", |t| t.memset(4096, 1.6)),
        lowest_common: &["aten::addmm"],
    },
];

fn conv(name: &str) -> Op {
    Op::new(name).dims(&[&[4, 3, 224, 224], &[768, 3, 16, 16], &[768]])
}

/// A trace in which the calls in `backend` are inside the calls that usually surround a backend's convolution.
fn convolution(trace: TraceBuilder, backend: impl FnOnce(&mut HostThread<'_>)) -> String {
    let below = |t: &mut HostThread<'_>| t.op(conv("aten::_convolution"), backend);
    let trace = trace.thread("main", |t| {
        t.frame("train.py(7): step", |t| {
            t.module("Conv2d_0", |t| {
                t.op(conv("aten::conv2d"), |t| t.op(conv("aten::convolution"), below));
            });
        });
    });
    trace.json()
}

fn bias(t: &mut HostThread<'_>) {
    t.op("aten::reshape", |t| t.leaf("aten::view"));
    t.op(Op::new("aten::add_").dims(&[&[4, 768, 14, 14], &[1, 768, 1, 1]]), |t| {
        t.kernel("add_kernel", 6.8);
    });
}

fn convolution_rocm() -> String {
    convolution(TraceBuilder::rocm(), |t| {
        t.op(conv("aten::miopen_convolution"), |t| {
            t.call("hipGetDevicePropertiesR0600");
            let api = "hipExtModuleLaunchKernel";
            t.launch(api).kernel("batched_transpose_256x4_half", 4.7);
            t.launch(api).kernel("igemm_fwd_gtcx3_nhwc_bf16", 30.1);
            bias(t);
        });
    })
}

fn convolution_cuda() -> String {
    convolution(TraceBuilder::cuda(), |t| {
        t.op(
            Op::new("aten::cudnn_convolution").dims(&[&[4, 3, 224, 224], &[768, 3, 16, 16]]),
            |t| {
                t.memset(3_211_264, 2.3);
                t.kernel("nchwToNhwcKernel", 10.5);
                t.launch("cudaLaunchKernelExC").kernel("cutlass_tensorop_bf16_s16816fprop", 98.2);
            },
        );
        bias(t);
    })
}

fn batch_norm(trace: TraceBuilder, backend: &str) -> String {
    let trace = trace.thread("main", |t| {
        t.op("aten::batch_norm", |t| {
            t.op("aten::_batch_norm_impl_index", |t| {
                t.op(backend, |t| {
                    t.op("aten::empty_like", |t| t.leaf("aten::empty"));
                    t.kernel(&format!("{backend}_kernel"), 25.0);
                });
            });
        });
    });
    trace.json()
}

fn backward(body: impl FnOnce(&mut HostThread<'_>)) -> String {
    let trace = TraceBuilder::cuda().thread("autograd", |t| {
        t.op("autograd::engine::evaluate_function: ConvolutionBackward0", |t| {
            t.op(Op::new("ConvolutionBackward0").backward(7), body);
        });
    });
    trace.json()
}

fn backward_in_parts() -> String {
    backward(|t| {
        t.op("aten::cudnn_convolution_backward", |t| {
            t.op("aten::cudnn_convolution_backward_input", |t| t.kernel("dgrad", 42.0));
            t.op("aten::cudnn_convolution_backward_weight", |t| t.kernel("wgrad", 58.0));
        });
    })
}

fn backward_in_one() -> String {
    backward(|t| {
        t.op("aten::convolution_backward", |t| {
            t.kernel("dgrad", 41.0);
            t.kernel("wgrad", 59.0);
        });
    })
}

/// A trace whose forward pass is on the main thread and whose backward pass is on a second thread. The second thread
/// has a different id on each side.
fn training(
    trace: TraceBuilder,
    before: &[&str],
    backend: impl FnOnce(&mut HostThread<'_>),
) -> String {
    let trace =
        before.iter().fold(trace, |trace, name| trace.thread(name, |t| t.leaf("aten::empty")));
    let trace = trace.thread("main", |t| {
        t.step(3, |t| {
            t.op(Op::new("aten::relu").forward(7), |t| t.kernel("relu_kernel", 3.0));
            t.wait_for("autograd", |t| {
                t.op(Op::new("ConvolutionBackward0").backward(6), |t| {
                    t.op("aten::convolution_backward", backend);
                });
            });
        });
    });
    trace.json()
}

fn autograd_rocm() -> String {
    training(TraceBuilder::rocm(), &[], |t| {
        t.launch("hipExtModuleLaunchKernel").kernel("igemm_bwd_gtcx3_nhwc_bf16", 21.4);
    })
}

fn autograd_cuda() -> String {
    training(TraceBuilder::cuda(), &["pin_memory"], |t| {
        t.launch("cudaLaunchKernelExC").kernel("sm80_xmma_dgrad_implicit_gemm", 42.1);
    })
}

fn relu_and(extra: impl FnOnce(&mut HostThread<'_>)) -> String {
    let trace = TraceBuilder::cuda().thread("main", |t| {
        t.frame("train.py(7): step", |t| {
            t.op("aten::relu", |t| t.kernel("relu_kernel", 3.0));
            extra(t);
            t.op("aten::relu", |t| t.kernel("relu_kernel", 3.0));
        });
    });
    trace.json()
}

fn relu_after(trace: TraceBuilder) -> String {
    trace.thread("main", |t| t.op("aten::relu", |t| t.kernel("relu_kernel", 3.0))).json()
}

/// A trace in which one launch starts many kernels. Some kernel names differ between the sides, and
/// the CUDA side has one more kernel.
fn graph(trace: TraceBuilder, api: &str, product: &str) -> String {
    let trace = trace.thread("main", |t| {
        t.op("decode::forward", |t| {
            t.launch(api).graph(|g| {
                for layer in 0..4 {
                    g.kernel("rms_norm_kernel", 2.0);
                    g.kernel(&format!("{product}_{}", layer % 2), 11.0);
                    g.kernel("paged_attention_kernel", 5.0);
                }
                if api.starts_with("cuda") {
                    g.kernel("splitKreduce_kernel", 2.0);
                }
            });
        });
    });
    trace.json()
}

fn product(trace: TraceBuilder, api: &str, before: impl FnOnce(&mut HostThread<'_>)) -> String {
    let trace = trace.thread("main", |t| {
        t.op(Op::new("aten::addmm").dims(&[&[768], &[788, 768], &[768, 768]]), |t| {
            before(t);
            t.launch(api).kernel(&format!("{api}_gemm"), 8.5);
        });
    });
    trace.json()
}
