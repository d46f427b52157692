//! Generates a trace with some training steps of a small ResNet on a given platform.
//!
//! The script and PyTorch's own calls are the same on both platforms. Only the lowering differs, as in real
//! recordings:
//!
//! ```text
//! aten::_convolution                       aten::_convolution
//! └── aten::miopen_convolution             ├── aten::cudnn_convolution
//!     ├── hipExtModuleLaunchKernel …       │   ├── cudaLaunchKernelExC …
//!     └── aten::add_   (the bias)          └── aten::add_   (the bias)
//! ```
//! The platforms also differ in batch norms, matrix products, memsets, launch APIs, streams, line numbers and step
//! numbers.

mod arguments;
mod autograd;
mod gpu;
mod kernels;
mod layers;
mod lowering;

use super::trace_builder::{HostThread, Platform, TraceBuilder};
use arguments::{Arg, op};
use autograd::Tape;
use gpu::Gpu;
use layers::Layers;
use serde_json::json;

/// Number of images in a batch, number of channels, height and width of an image, and number of classes.
const BATCH: i64 = 128;
const IMAGE: [i64; 4] = [BATCH, 3, 32, 32];
const CLASSES: i64 = 10;
/// Number of parameter tensors that the optimizer updates, and total number of values in these tensors.
const PARAMETERS: (usize, i64) = (62, 697_738);

/// The recording of `steps` training steps on a platform.
pub fn training(platform: Platform, steps: u32) -> TraceBuilder {
    let first = match platform {
        Platform::Cuda => 10,
        Platform::Rocm => 3,
    };
    let mut script = Script { platform, gpu: Gpu::new(platform), tape: Tape::new() };
    let mut trace = TraceBuilder::on(platform).with_flows();
    if platform == Platform::Rocm {
        // On ROCm, the GPU queue is long, so the last kernels of an earlier step still run in the profiled window.
        for _ in 0..3 {
            trace = trace.unlinked_kernel(kernels::MUL_LIST, 11.2);
        }
    }
    trace.header("traceName", json!("trace.json")).thread("python3", |t| {
        t.frame("train.py(96): <module>", |t| {
            t.frame("train.py(71): main", |t| {
                for number in first..first + steps {
                    script.step(t, number);
                }
            });
        });
    })
}

/// The training script and its state.
struct Script {
    platform: Platform,
    gpu: Gpu,
    tape: Tape,
}

impl Script {
    fn step(&mut self, t: &mut HostThread<'_>, number: u32) {
        t.step(number, |t| {
            t.frame("train.py(58): train_step", |t| {
                self.load_batch(t);
                self.zero_gradients(t);
                self.forward(t);
                self.loss(t);
                self.backward(t);
                self.optimize(t);
                self.report_loss(t);
            });
        });
        let profiler = self.line("torch/profiler/profiler.py", 811, 838, "step");
        t.frame(&profiler, |t| t.idle(9.0));
    }

    /// The name of a frame in a library file. The line number differs between the platforms, because they have
    /// different versions of the library.
    fn line(&self, file: &str, rocm: u32, cuda: u32, function: &str) -> String {
        let line = match self.platform {
            Platform::Rocm => rocm,
            Platform::Cuda => cuda,
        };
        format!("{file}({line}): {function}")
    }

    fn load_batch(&mut self, t: &mut HostThread<'_>) {
        t.idle(38.0);
        for (shape, bytes) in [(&IMAGE[..], BATCH * 3 * 32 * 32 * 4), (&[BATCH][..], BATCH * 8)] {
            let to = op("aten::to", &[Arg::Tensor(shape), Arg::Scalar("6"), Arg::Scalar("False")]);
            let micros = self.gpu.transfer(bytes);
            t.frame("<built-in method to of Tensor object at 0x7f52d8c07a10>", |t| {
                t.op(to, |t| {
                    t.op(op("aten::_to_copy", &[Arg::Tensor(shape)]), |t| {
                        t.leaf(op("aten::empty_strided", &[Arg::List("[128]")]));
                        t.op(op("aten::copy_", &[Arg::Tensor(shape), Arg::Tensor(shape)]), |t| {
                            t.memcpy("Memcpy HtoD (Host -> Device)", bytes as u64, micros);
                        });
                    });
                });
            });
        }
    }

    fn zero_gradients(&mut self, t: &mut HostThread<'_>) {
        let compile = self.line("torch/_compile.py", 22, 32, "inner");
        let zero = self.line("torch/optim/optimizer.py", 955, 1001, "zero_grad");
        t.frame(&compile, |t| {
            t.frame(&zero, |t| {
                t.annotation("Optimizer.zero_grad#SGD.zero_grad", |t| t.idle(31.0));
            });
        });
    }

    fn forward(&mut self, t: &mut HostThread<'_>) {
        Layers::new(self).network(t);
    }

    fn loss(&mut self, t: &mut HostThread<'_>) {
        let logits = [BATCH, CLASSES];
        let function = self.line("torch/nn/functional.py", 3481, 3456, "cross_entropy");
        let (softmax, loss) = (self.tape.next(), self.tape.next());
        t.frame(&function, |t| {
            let pair = [Arg::Tensor(&logits), Arg::Index(&[BATCH])];
            t.op(op("aten::cross_entropy_loss", &pair).forward(softmax), |t| {
                t.op(op("aten::log_softmax", &pair[..1]).forward(softmax), |t| {
                    t.op(op("aten::_log_softmax", &pair[..1]).forward(softmax), |t| {
                        t.kernel(kernels::SOFTMAX, self.gpu.stream(2 * BATCH * CLASSES * 4));
                    });
                });
                t.op(op("aten::nll_loss_nd", &pair).forward(loss), |t| {
                    t.op(op("aten::nll_loss", &pair).forward(loss), |t| {
                        t.op(op("aten::nll_loss_forward", &pair).forward(loss), |t| {
                            t.kernel(kernels::NLL, self.gpu.stream(BATCH * CLASSES * 4));
                        });
                    });
                });
            });
        });
        self.tape.loss(softmax, loss);
    }

    fn backward(&mut self, t: &mut HostThread<'_>) {
        let frames = [
            self.line("torch/_tensor.py", 570, 592, "backward"),
            self.line("torch/autograd/__init__.py", 242, 243, "backward"),
            self.line("torch/autograd/graph.py", 815, 824, "_engine_run_backward"),
        ];
        let run = "<built-in method run_backward of torch._C._EngineBase object at 0x7f52e4b1d5a0>";
        t.frame(&frames[0], |t| {
            t.frame(&frames[1], |t| {
                t.op(op("aten::ones_like", &[Arg::Tensor(&[])]), |t| {
                    t.op(op("aten::empty_like", &[Arg::Tensor(&[])]), |t| {
                        t.leaf(op("aten::empty_strided", &[Arg::List("[]")]));
                    });
                    t.op(op("aten::fill_", &[Arg::Tensor(&[]), Arg::Scalar("1.")]), |t| {
                        t.kernel(kernels::FILL, self.gpu.stream(4));
                    });
                });
                t.frame(&frames[2], |t| {
                    t.frame(run, |t| t.wait_for("autograd", |t| self.run_tape(t)));
                });
            });
        });
    }

    fn optimize(&mut self, t: &mut HostThread<'_>) {
        let frames = [
            self.line("torch/optim/optimizer.py", 473, 484, "wrapper"),
            self.line("torch/optim/optimizer.py", 65, 70, "_use_grad"),
            self.line("torch/optim/sgd.py", 112, 117, "step"),
            self.line("torch/optim/sgd.py", 281, 312, "sgd"),
            self.line("torch/optim/sgd.py", 393, 405, "_multi_tensor_sgd"),
        ];
        t.frame(&frames[0], |t| {
            t.annotation("Optimizer.step#SGD.step", |t| {
                t.frame(&frames[1], |t| {
                    t.frame(&frames[2], |t| {
                        t.frame(&frames[3], |t| {
                            t.frame(&frames[4], |t| self.update_parameters(t));
                        });
                    });
                });
            });
        });
    }

    /// Runs the momentum update and then the optimizer step. Both use multi-tensor ops, which launch one kernel for
    /// every 36 tensors.
    fn update_parameters(&mut self, t: &mut HostThread<'_>) {
        let bytes = PARAMETERS.1 * 4;
        for (name, kernel, passes) in [
            ("aten::_foreach_mul_", kernels::MUL_LIST, 2),
            ("aten::_foreach_add_", kernels::ADD_LIST, 3),
            ("aten::_foreach_add_", kernels::ADD_LIST, 3),
        ] {
            t.op(op(name, &[Arg::List("[]"), Arg::Scalar("0.9")]), |t| {
                for _ in 0..PARAMETERS.0.div_ceil(36) {
                    t.kernel(kernel, self.gpu.stream(passes * bytes / 3));
                }
            });
        }
    }

    fn report_loss(&mut self, t: &mut HostThread<'_>) {
        let wait = match self.platform {
            Platform::Cuda => "cudaStreamSynchronize",
            Platform::Rocm => "hipStreamSynchronize",
        };
        t.frame("<built-in method item of Tensor object at 0x7f52d8c11f40>", |t| {
            t.op(op("aten::item", &[Arg::Tensor(&[])]), |t| {
                t.op(op("aten::_local_scalar_dense", &[Arg::Tensor(&[])]), |t| {
                    t.memcpy("Memcpy DtoH (Device -> Pageable)", 4, self.gpu.transfer(4));
                    t.synchronize(wait);
                });
            });
        });
    }
}
