//! Computes the work of convolutions with any number of dimensions. An output element takes two operations for each
//! weight that contributes to it.
//!
//! Source: an output element is a sum over `C_in / groups` channels and all positions of the kernel. In a transposed
//! convolution, input and output are swapped. Each gradient in the backward pass is a convolution with as many
//! operations as the forward pass. All libraries use separate kernels for the gradients of input and weight, and each
//! of these kernels reads the gradient of the output.

use super::super::demand::{Demand, sum};
use super::super::inputs::{Inputs, Tensor, flag_of, product};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::analysis::efficiency) struct Convolution {
    /// Input with dimensions `[N, C, …]`.
    input: usize,
    /// Weight with dimensions `[C_out, C_in / groups, …]`, or `[C_in, C_out / groups, …]` if transposed.
    weight: usize,
    bias: Option<usize>,
    stride: usize,
    padding: usize,
    dilation: Option<usize>,
    groups: Option<usize>,
    /// Flag that makes the convolution transposed.
    transposed: Option<usize>,
    output_padding: Option<usize>,
    /// Whether the op is always a transposed convolution.
    #[serde(default)]
    is_transposed: bool,
}

impl Convolution {
    pub(super) fn demand(&self, inputs: &Inputs) -> Option<Demand> {
        let (input, weight) = (inputs.tensor(self.input)?, inputs.tensor(self.weight)?);
        let transposed = match self.transposed {
            Some(at) => inputs.flag(at)?,
            None => self.is_transposed,
        };
        let output = if transposed {
            self.output_transposed(inputs, input, weight)?
        } else {
            self.output(inputs, input, weight)?
        };
        let meets = if transposed { input.elements() } else { product(&output) };
        let bias = self.bias.and_then(|at| inputs.tensor(at));
        let added = bias.map_or(0.0, |_| product(&output));
        let out = input.dtype.map(|dtype| product(&output) * f64::from(dtype.bytes));
        let bias_bytes = bias.map_or(Some(0.0), Tensor::read);
        let bytes = sum([input.read(), weight.read(), bias_bytes, out]);
        Some(Demand::matrix(meets * per_element(weight)? + added, bytes, input.dtype))
    }

    fn output(&self, inputs: &Inputs, input: &Tensor, weight: &Tensor) -> Option<Vec<u64>> {
        let mut dims = vec![*input.dims.first()?, *weight.dims.first()?];
        for (axis, (&size, &kernel)) in axes(input, weight)?.enumerate() {
            let span = self.dilation(inputs, axis)?.checked_mul(kernel.checked_sub(1)?)?;
            let padded = value(inputs, self.padding, axis)?.checked_mul(2)?.checked_add(size)?;
            let room = padded.checked_sub(span)?.checked_sub(1)?;
            dims.push(room.checked_div(value(inputs, self.stride, axis)?)? + 1);
        }
        Some(dims)
    }

    fn output_transposed(
        &self,
        inputs: &Inputs,
        input: &Tensor,
        weight: &Tensor,
    ) -> Option<Vec<u64>> {
        let groups = u64::try_from(inputs.integer(self.groups?)?).ok()?;
        let mut dims = vec![*input.dims.first()?, weight.dims.get(1)?.checked_mul(groups)?];
        for (axis, (&size, &kernel)) in axes(input, weight)?.enumerate() {
            let extra = self.output_padding.map_or(Some(0), |at| value(inputs, at, axis))?;
            let span = self.dilation(inputs, axis)?.checked_mul(kernel.checked_sub(1)?)?;
            let reach = size.checked_sub(1)?.checked_mul(value(inputs, self.stride, axis)?)?;
            let full = reach.checked_add(span)?.checked_add(extra)?.checked_add(1)?;
            dims.push(full.checked_sub(value(inputs, self.padding, axis)?.checked_mul(2)?)?);
        }
        Some(dims)
    }

    fn dilation(&self, inputs: &Inputs, axis: usize) -> Option<u64> {
        self.dilation.map_or(Some(1), |at| value(inputs, at, axis))
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::analysis::efficiency) struct ConvolutionBackward {
    /// Gradient of the convolution's output.
    grad: usize,
    input: Option<usize>,
    weight: Option<usize>,
    /// Flag that makes the convolution transposed.
    transposed: Option<usize>,
    /// A mask of three flags: whether the gradients of input, weight and bias are requested. If the mask is not
    /// recorded, the gradients of input and weight are assumed to be requested.
    mask: Option<usize>,
}

impl ConvolutionBackward {
    pub(super) fn demand(&self, inputs: &Inputs) -> Option<Demand> {
        let grad = inputs.tensor(self.grad)?;
        match (self.input, self.weight) {
            (Some(input), Some(weight)) => {
                self.both(inputs, grad, inputs.tensor(input)?, inputs.tensor(weight)?)
            }
            // The shape of the input is not recorded, so the number of bytes is unknown. The number of operations
            // depends only on the shapes of the output gradient and the weight.
            (None, Some(weight)) => {
                let flops = grad.elements() * per_element(inputs.tensor(weight)?)?;
                Some(Demand::matrix(flops, None, grad.dtype))
            }
            (Some(_) | None, None) => None,
        }
    }

    fn both(
        &self,
        inputs: &Inputs,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
    ) -> Option<Demand> {
        let transposed = match self.transposed.and_then(|at| inputs.flag(at)) {
            Some(transposed) => transposed,
            None => transposed_by_channels(grad, input, weight)?,
        };
        let meets = if transposed { input.elements() } else { grad.elements() };
        let one = meets * per_element(weight)?;
        let (mut flops, mut bytes) = (0.0, Some(0.0));
        let [for_input, for_weight, for_bias] = self.mask(inputs)?;
        if for_input {
            flops += one;
            bytes = sum([bytes, grad.read(), weight.read(), input.written()]);
        }
        if for_weight {
            flops += one;
            bytes = sum([bytes, grad.read(), input.read(), weight.written()]);
        }
        if for_bias {
            // No bytes are added: the bias gradient is small, and the output gradient is already read for the weight
            // gradient.
            flops += grad.elements();
        }
        Some(Demand::matrix(flops, bytes, grad.dtype))
    }

    fn mask(&self, inputs: &Inputs) -> Option<[bool; 3]> {
        let recorded = self.mask.map_or("", |at| inputs.concrete(at));
        // Traces from before 2023 record no scalar values. For these traces, the gradients of input and
        // weight are assumed to be requested, which is true for every layer except the first.
        if recorded.is_empty() {
            return Some([true, true, false]);
        }
        let text = recorded.trim_matches(['[', ']']);
        let flags: Option<Vec<bool>> = text.split(',').map(|flag| flag_of(flag.trim())).collect();
        flags?.try_into().ok()
    }
}

/// If a trace does not record the flag, infers from the numbers of channels whether a convolution is transposed. The
/// first dimension of a weight is the number of output channels or, in a transposed convolution, the number of input
/// channels. Returns `None` if the channels match neither case, or if they match both cases and the amount of work
/// depends on the case.
fn transposed_by_channels(grad: &Tensor, input: &Tensor, weight: &Tensor) -> Option<bool> {
    let first = weight.dims.first()?;
    match (grad.dims.get(1)? == first, input.dims.get(1)? == first) {
        (true, false) => Some(false),
        (false, true) => Some(true),
        (true, true) => (grad.elements() == input.elements()).then_some(false),
        (false, false) => None,
    }
}

/// Number of operations per output element or, in a transposed convolution, per input element: twice the product of all
/// dimensions of the weight except the first.
fn per_element(weight: &Tensor) -> Option<f64> {
    Some(2.0 * product(weight.dims.get(1..)?))
}

/// The input size and the kernel size of each axis.
fn axes<'a>(
    input: &'a Tensor,
    weight: &'a Tensor,
) -> Option<impl Iterator<Item = (&'a u64, &'a u64)>> {
    let same = input.dims.len() == weight.dims.len() && input.dims.len() > 2;
    same.then(|| input.dims[2..].iter().zip(&weight.dims[2..]))
}

/// The value of an argument for one axis; an argument with a single value applies to all axes.
fn value(inputs: &Inputs, at: usize, axis: usize) -> Option<u64> {
    let values = inputs.integers(at)?;
    let value = values.get(axis).or_else(|| values.first().filter(|_| values.len() == 1))?;
    u64::try_from(*value).ok()
}
