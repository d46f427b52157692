//! Runs the ops in the backward pass on the autograd thread, using data saved by the forward pass.

use super::arguments::{Arg, op};
use super::lowering::{Conv, elements};
use super::{BATCH, CLASSES, Script, kernels};
use crate::support::trace_builder::HostThread;

/// The data that a forward op saved for the corresponding backward op.
#[derive(Debug, Clone, Copy)]
pub(super) enum Saved {
    Conv(Conv),
    Norm([i64; 4]),
    Relu([i64; 4]),
    Add,
    Mean([i64; 4]),
    View([i64; 4]),
    Transpose,
    Linear([i64; 2]),
    Softmax,
    Loss,
}

/// The forward ops recorded so far, in order, with their sequence numbers.
#[derive(Debug)]
pub(super) struct Tape {
    saved: Vec<(i64, Saved)>,
    last: i64,
}

impl Tape {
    /// An empty tape.
    pub(super) fn new() -> Self {
        Tape { saved: Vec::new(), last: 0 }
    }

    /// Increments the sequence number, and returns it.
    pub(super) fn next(&mut self) -> i64 {
        self.last += 1;
        self.last
    }

    /// Adds a forward op to the tape.
    pub(super) fn push(&mut self, sequence: i64, saved: Saved) {
        self.saved.push((sequence, saved));
    }

    /// Adds the two ops that compute the loss to the tape.
    pub(super) fn loss(&mut self, softmax: i64, loss: i64) {
        self.push(softmax, Saved::Softmax);
        self.push(loss, Saved::Loss);
    }
}

impl Script {
    /// Runs the backward ops for the forward ops on the tape, in reverse order.
    pub(super) fn run_tape(&mut self, t: &mut HostThread<'_>) {
        while let Some((sequence, saved)) = self.tape.saved.pop() {
            self.node(t, sequence, saved);
            t.idle(1.3);
        }
    }

    fn node(&mut self, t: &mut HostThread<'_>, sequence: i64, saved: Saved) {
        let name = self.name_of(saved);
        let engine = format!("autograd::engine::evaluate_function: {name}");
        t.op(op(&engine, &[]).backward(sequence), |t| {
            t.op(op(name, &[]).backward(sequence), |t| self.gradient(t, saved));
            if let Saved::Linear([_, inner]) = saved {
                self.sum_bias(t, inner);
            }
        });
        for parameter in parameters_of(saved) {
            accumulate(t, &parameter);
        }
    }

    fn name_of(&self, saved: Saved) -> &'static str {
        match saved {
            Saved::Conv(_) => "ConvolutionBackward0",
            Saved::Norm(_) => self.batch_norm_node(),
            Saved::Relu(_) => "ReluBackward0",
            Saved::Add => "AddBackward0",
            Saved::Mean(_) => "MeanBackward1",
            Saved::View(_) => "ViewBackward0",
            Saved::Transpose => "TBackward0",
            Saved::Linear(_) => "AddmmBackward0",
            Saved::Softmax => "LogSoftmaxBackward0",
            Saved::Loss => "NllLossBackward0",
        }
    }

    fn gradient(&mut self, t: &mut HostThread<'_>, saved: Saved) {
        let logits = [BATCH, CLASSES];
        match saved {
            Saved::Conv(conv) => {
                let output = conv.output();
                let arguments = conv.arguments();
                let mut args = vec![Arg::Tensor(&output)];
                args.extend(arguments.of_backward());
                t.op(op("aten::convolution_backward", &args), |t| self.convolve_backward(t, &conv));
            }
            Saved::Norm(shape) => self.normalize_backward(t, &shape),
            Saved::Relu(shape) => {
                let args = [Arg::Tensor(&shape), Arg::Tensor(&shape), Arg::Scalar("0")];
                t.op(op("aten::threshold_backward", &args), |t| {
                    t.kernel(kernels::THRESHOLD, self.gpu.stream(12 * elements(&shape)));
                });
            }
            Saved::Add => {}
            Saved::Mean(shape) => self.spread_mean(t, &shape),
            Saved::View(shape) => t.op(op("aten::reshape", &[Arg::Tensor(&shape)]), |t| {
                t.leaf(op("aten::view", &[Arg::Tensor(&shape)]));
            }),
            Saved::Transpose => self.transpose(t, &logits, None),
            Saved::Linear(features) => self.multiply_backward(t, features),
            Saved::Softmax => {
                t.op(op("aten::_log_softmax_backward_data", &[Arg::Tensor(&logits)]), |t| {
                    t.kernel(kernels::SOFTMAX_BACKWARD, self.gpu.stream(12 * elements(&logits)));
                });
            }
            Saved::Loss => t.op(op("aten::nll_loss_backward", &[Arg::Tensor(&logits)]), |t| {
                t.op(op("aten::zero_", &[Arg::Tensor(&logits)]), |t| {
                    t.op(op("aten::fill_", &[Arg::Tensor(&logits), Arg::Scalar("0")]), |t| {
                        t.kernel(kernels::FILL, self.gpu.stream(4 * elements(&logits)));
                    });
                });
                t.kernel(kernels::NLL_BACKWARD, self.gpu.stream(8 * elements(&logits)));
            }),
        }
    }

    fn spread_mean(&mut self, t: &mut HostThread<'_>, shape: &[i64; 4]) {
        let pooled = [shape[0], shape[1], 1, 1];
        t.op(op("aten::expand", &[Arg::Tensor(&pooled), Arg::List("[]")]), |t| {
            t.leaf(op("aten::as_strided", &[Arg::Tensor(&pooled), Arg::List("[]")]));
        });
        t.op(op("aten::div", &[Arg::Tensor(shape), Arg::Scalar("64")]), |t| {
            t.op(op("aten::div", &[Arg::Tensor(shape), Arg::Tensor(&[])]), |t| {
                t.kernel(kernels::DIVIDE, self.gpu.stream(8 * elements(shape)));
            });
        });
    }

    fn multiply_backward(&mut self, t: &mut HostThread<'_>, [rows, inner]: [i64; 2]) {
        let (weight, logits, features) = ([CLASSES, inner], [rows, CLASSES], [rows, inner]);
        self.transpose(t, &weight, None);
        t.op(op("aten::mm", &[Arg::Tensor(&logits), Arg::Tensor(&weight)]), |t| {
            self.multiply(t, [rows, CLASSES, inner]);
        });
        self.transpose(t, &logits, None);
        t.op(op("aten::mm", &[Arg::Tensor(&[CLASSES, rows]), Arg::Tensor(&features)]), |t| {
            self.multiply(t, [CLASSES, rows, inner]);
        });
        self.transpose(t, &weight, None);
    }

    fn sum_bias(&mut self, t: &mut HostThread<'_>, inner: i64) {
        let logits = [BATCH, CLASSES];
        t.op(op("aten::sum", &[Arg::Tensor(&logits), Arg::List("[0]")]), |t| {
            t.kernel(kernels::SUM, self.gpu.stream(4 * BATCH * inner));
        });
        t.leaf(op("aten::view", &[Arg::Tensor(&[1, CLASSES]), Arg::List("[10]")]));
    }

    /// Runs `aten::t` on a matrix. If the op is a forward op, `forward` is its sequence number.
    pub(super) fn transpose(&self, t: &mut HostThread<'_>, dims: &[i64], forward: Option<i64>) {
        let matrix = [Arg::Tensor(dims), Arg::Scalar("0"), Arg::Scalar("1")];
        let outer = op("aten::t", &matrix[..1]);
        let outer = forward.map_or(outer.clone(), |sequence| outer.forward(sequence));
        t.op(outer, |t| {
            t.op(op("aten::transpose", &matrix), |t| {
                t.leaf(op("aten::as_strided", &matrix[..1]));
            });
        });
    }
}

/// Shapes of the parameters for which an autograd node computes gradients.
fn parameters_of(saved: Saved) -> Vec<Vec<i64>> {
    match saved {
        Saved::Conv(conv) => vec![conv.weight.to_vec(), vec![conv.weight[0]]],
        Saved::Norm(shape) => vec![vec![shape[1]], vec![shape[1]]],
        Saved::Linear([_, inner]) => vec![vec![CLASSES, inner], vec![CLASSES]],
        Saved::Relu(_)
        | Saved::Add
        | Saved::Mean(_)
        | Saved::View(_)
        | Saved::Transpose
        | Saved::Softmax
        | Saved::Loss => Vec::new(),
    }
}

fn accumulate(t: &mut HostThread<'_>, dims: &[i64]) {
    let gradient = [Arg::Tensor(dims)];
    let engine = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
    t.op(op(engine, &[]), |t| {
        t.op(op("torch::autograd::AccumulateGrad", &gradient), |t| {
            t.op(op("aten::detach", &gradient), |t| t.leaf(op("detach", &gradient)));
        });
    });
}
