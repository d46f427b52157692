//! Runs the forward pass module by module, and records on the tape the data needed in the backward pass.

use super::arguments::{Arg, op};
use super::autograd::Saved;
use super::lowering::{Conv, elements};
use super::{CLASSES, IMAGE, Script, kernels};
use crate::support::trace_builder::{HostThread, Platform};
use std::collections::BTreeMap;

/// Channels and stride for each stage; each stage has two blocks.
const STAGES: [(i64, i64); 3] = [(32, 1), (64, 2), (128, 2)];

/// The state of one forward pass. Instances of modules are numbered per class, as in PyTorch.
pub(super) struct Layers<'s> {
    script: &'s mut Script,
    instances: BTreeMap<&'static str, u32>,
}

impl<'s> Layers<'s> {
    /// Creates the state for one forward pass of a script.
    pub(super) fn new(script: &'s mut Script) -> Self {
        Layers { script, instances: BTreeMap::new() }
    }

    /// Runs the stem, the stages, pooling and the classifier.
    pub(super) fn network(&mut self, t: &mut HostThread<'_>) {
        self.module(t, "ResNet", "train.py(41): forward", |layers, t| {
            let stem = Conv { input: IMAGE, weight: [STAGES[0].0, 3, 3, 3], stride: 1 };
            layers.conv(t, &stem);
            layers.norm(t, &stem.output());
            layers.relu(t, &stem.output());
            let mut shape = stem.output();
            for (channels, stride) in STAGES {
                shape = layers.stage(t, shape, channels, stride);
            }
            layers.head(t, shape);
        });
    }

    fn stage(
        &mut self,
        t: &mut HostThread<'_>,
        input: [i64; 4],
        channels: i64,
        stride: i64,
    ) -> [i64; 4] {
        let mut shape = input;
        let container = self.script.line("torch/nn/modules/container.py", 248, 245, "forward");
        self.module(t, "Sequential", &container, |layers, t| {
            for stride in [stride, 1] {
                shape = layers.block(t, shape, channels, stride);
            }
        });
        shape
    }

    fn block(
        &mut self,
        t: &mut HostThread<'_>,
        input: [i64; 4],
        channels: i64,
        stride: i64,
    ) -> [i64; 4] {
        let first = Conv { input, weight: [channels, input[1], 3, 3], stride };
        let output = first.output();
        let second = Conv { input: output, weight: [channels, channels, 3, 3], stride: 1 };
        self.module(t, "BasicBlock", "train.py(24): forward", |layers, t| {
            layers.conv(t, &first);
            layers.norm(t, &output);
            layers.relu(t, &output);
            layers.conv(t, &second);
            layers.norm(t, &output);
            if output != input {
                let shortcut = Conv { input, weight: [channels, input[1], 1, 1], stride };
                layers.conv(t, &shortcut);
                layers.norm(t, &output);
            }
            layers.add(t, &output);
            layers.relu(t, &output);
        });
        output
    }

    fn conv(&mut self, t: &mut HostThread<'_>, conv: &Conv) {
        let forward = self.script.line("torch/nn/modules/conv.py", 554, 547, "forward");
        let call = self.script.line("torch/nn/modules/conv.py", 537, 530, "_conv_forward");
        let builtin = self.builtin("conv2d of type");
        let sequence = self.script.tape.next();
        self.script.tape.push(sequence, Saved::Conv(*conv));
        let arguments = conv.arguments();
        let (args, of_conv2d) = (arguments.list(), arguments.of_conv2d());
        self.module(t, "Conv2d", &forward, |layers, t| {
            t.frame(&call, |t| {
                t.frame(&builtin, |t| {
                    t.op(op("aten::conv2d", &of_conv2d).forward(sequence), |t| {
                        t.op(op("aten::convolution", &args[..9]).forward(sequence), |t| {
                            t.op(op("aten::_convolution", &args), |t| {
                                layers.script.convolve(t, conv)
                            });
                        });
                    });
                });
            });
        });
    }

    fn norm(&mut self, t: &mut HostThread<'_>, shape: &[i64; 4]) {
        let forward = self.script.line("torch/nn/modules/batchnorm.py", 193, 159, "forward");
        let function = self.script.line("torch/nn/functional.py", 2822, 2782, "batch_norm");
        let (add, builtin) = (self.builtin("add_ of Tensor"), self.builtin("batch_norm of type"));
        let sequence = self.script.tape.next();
        self.script.tape.push(sequence, Saved::Norm(*shape));
        let channels = [shape[1]];
        let args = [
            Arg::Tensor(shape),
            Arg::Tensor(&channels),
            Arg::Tensor(&channels),
            Arg::Scalar("True"),
        ];
        self.module(t, "BatchNorm2d", &forward, |layers, t| {
            t.frame(&add, |t| {
                t.op(op("aten::add_", &[Arg::Index(&[]), Arg::Scalar("1")]), |t| {
                    t.kernel(kernels::COUNT, layers.script.gpu.stream(8));
                });
            });
            t.frame(&function, |t| {
                t.frame(&builtin, |t| {
                    t.op(op("aten::batch_norm", &args).forward(sequence), |t| {
                        t.op(op("aten::_batch_norm_impl_index", &args).forward(sequence), |t| {
                            layers.script.normalize(t, shape, sequence);
                        });
                    });
                });
            });
        });
    }

    fn relu(&mut self, t: &mut HostThread<'_>, shape: &[i64; 4]) {
        let forward = self.script.line("torch/nn/modules/activation.py", 144, 140, "forward");
        let function = self.script.line("torch/nn/functional.py", 1702, 1686, "relu");
        let builtin = self.builtin("relu_ of type");
        let sequence = self.script.tape.next();
        self.script.tape.push(sequence, Saved::Relu(*shape));
        self.module(t, "ReLU", &forward, |layers, t| {
            t.frame(&function, |t| {
                t.frame(&builtin, |t| {
                    t.op(op("aten::relu_", &[Arg::Tensor(shape)]).forward(sequence), |t| {
                        t.op(
                            op("aten::clamp_min_", &[Arg::Tensor(shape), Arg::Scalar("0")]),
                            |t| {
                                t.kernel(
                                    kernels::CLAMP,
                                    layers.script.gpu.stream(8 * elements(shape)),
                                );
                            },
                        );
                    });
                });
            });
        });
    }

    fn add(&mut self, t: &mut HostThread<'_>, shape: &[i64; 4]) {
        let sequence = self.script.tape.next();
        self.script.tape.push(sequence, Saved::Add);
        let args = [Arg::Tensor(shape), Arg::Tensor(shape), Arg::Scalar("1")];
        t.op(op("aten::add_", &args).forward(sequence), |t| {
            t.kernel(kernels::ADD, self.script.gpu.stream(12 * elements(shape)));
        });
    }

    fn head(&mut self, t: &mut HostThread<'_>, shape: [i64; 4]) {
        let (pool, flat) = (self.script.tape.next(), self.script.tape.next());
        self.script.tape.push(pool, Saved::Mean(shape));
        let forward = self.script.line("torch/nn/modules/pooling.py", 1500, 1501, "forward");
        let image = Arg::Tensor(&shape);
        self.module(t, "AdaptiveAvgPool2d", &forward, |layers, t| {
            t.op(
                op("aten::adaptive_avg_pool2d", &[image, Arg::List("[1, 1]")]).forward(pool),
                |t| {
                    t.op(op("aten::mean", &[image, Arg::List("[-1, -2]")]).forward(pool), |t| {
                        t.kernel(kernels::MEAN, layers.script.gpu.stream(4 * elements(&shape)));
                    });
                },
            );
        });
        let (pooled, features) = ([shape[0], shape[1], 1, 1], [shape[0], shape[1]]);
        let flatten = [Arg::Tensor(&pooled), Arg::Scalar("1"), Arg::Scalar("-1")];
        t.op(op("aten::flatten", &flatten).forward(flat), |t| {
            t.leaf(op("aten::view", &flatten[..1]).forward(flat));
        });
        self.script.tape.push(flat, Saved::View(pooled));
        if self.script.platform == Platform::Rocm {
            self.copy_features(t, &features);
        }
        self.linear(t, &features);
    }

    /// Copies the features with ops that only the ROCm branch of the script contains.
    fn copy_features(&mut self, t: &mut HostThread<'_>, features: &[i64; 2]) {
        let args = [Arg::Tensor(features), Arg::Nothing];
        t.op(op("aten::clone", &args), |t| {
            t.op(op("aten::empty_like", &args), |t| {
                t.leaf(op("aten::empty_strided", &[Arg::List("[128, 128]")]));
            });
            t.op(op("aten::copy_", &[args[0], args[0]]), |t| {
                t.kernel(kernels::COPY, self.script.gpu.stream(8 * elements(features)));
            });
        });
    }

    fn linear(&mut self, t: &mut HostThread<'_>, features: &[i64; 2]) {
        let forward = self.script.line("torch/nn/modules/linear.py", 125, 134, "forward");
        let builtin = self.builtin("linear of type").replace("method", "function");
        let (transpose, product) = (self.script.tape.next(), self.script.tape.next());
        let (weight, bias) = ([CLASSES, features[1]], [CLASSES]);
        let args = [Arg::Tensor(features), Arg::Tensor(&weight), Arg::Tensor(&bias)];
        self.module(t, "Linear", &forward, |layers, t| {
            t.frame(&builtin, |t| {
                t.op(op("aten::linear", &args).forward(transpose), |t| {
                    layers.script.transpose(t, &weight, Some(transpose));
                    t.op(op("aten::addmm", &[args[2], args[0], args[1]]).forward(product), |t| {
                        layers.script.multiply(t, [features[0], features[1], CLASSES]);
                    });
                });
            });
        });
        self.script.tape.push(transpose, Saved::Transpose);
        self.script.tape.push(product, Saved::Linear(*features));
    }

    fn module(
        &mut self,
        t: &mut HostThread<'_>,
        class: &'static str,
        forward: &str,
        body: impl FnOnce(&mut Self, &mut HostThread<'_>),
    ) {
        let number = self.instances.entry(class).or_insert(0);
        let name = format!("{class}_{number}");
        *number += 1;
        let call = self.script.line("torch/nn/modules/module.py", 1751, 1779, "_call_impl");
        t.module(&name, |t| t.frame(&call, |t| t.frame(forward, |t| body(self, t))));
    }

    fn builtin(&self, what: &str) -> String {
        let address = match self.script.platform {
            Platform::Rocm => "0x7f5310a4d2e0",
            Platform::Cuda => "0x7fb86c1f99a0",
        };
        format!("<built-in method {what} object at {address}>")
    }
}
