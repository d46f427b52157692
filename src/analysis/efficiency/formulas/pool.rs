//! Computes the work of pooling and resizing. The shape of the result follows from the pooling window or
//! from the requested sizes.

use super::super::demand::{Demand, sum};
use super::super::inputs::{Inputs, Tensor, product};
use serde::Deserialize;

/// A pooling window that slides over the last dimensions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::analysis::efficiency) struct Pool {
    input: usize,
    kernel: usize,
    stride: usize,
    padding: usize,
    dilation: Option<usize>,
    /// The flag for ceiling mode, in which incomplete windows at the end also produce a result.
    ceil: Option<usize>,
    /// Additional bytes written per element of the result, for example for an index.
    #[serde(default)]
    extra_bytes: f64,
}

impl Pool {
    pub(super) fn demand(&self, inputs: &Inputs) -> Option<Demand> {
        let input = inputs.tensor(self.input)?;
        let kernel = inputs.integers(self.kernel).filter(|kernel| !kernel.is_empty())?;
        let axes = kernel.len();
        let outer = input.dims.len().checked_sub(axes)?;
        let mut results = product(&input.dims[..outer]);
        for (axis, &size) in input.dims[outer..].iter().enumerate() {
            results *= self.results(inputs, axis, i64::try_from(size).ok()?)? as f64;
        }
        let window: f64 = kernel.iter().map(|&size| size as f64).product();
        Some(demand(input, results, window, self.extra_bytes))
    }

    fn results(&self, inputs: &Inputs, axis: usize, size: i64) -> Option<i64> {
        let kernel = value(inputs, self.kernel, axis)?;
        // An empty stride argument means that the stride equals the kernel size.
        let stride = value(inputs, self.stride, axis).unwrap_or(kernel);
        let dilation = self.dilation.and_then(|at| value(inputs, at, axis)).unwrap_or(1);
        let span = dilation.checked_mul(kernel.checked_sub(1)?)?.checked_add(1)?;
        let padded = value(inputs, self.padding, axis)?.checked_mul(2)?.checked_add(size)?;
        let room = padded.checked_sub(span).filter(|&room| room >= 0)?;
        let up = self.ceil.and_then(|at| inputs.flag(at)).unwrap_or(false);
        let rounded = if up { room.checked_add(stride)?.checked_sub(1)? } else { room };
        Some(rounded.checked_div(stride)? + 1)
    }
}

/// Resizes the last dimensions to the given sizes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::analysis::efficiency) struct Resize {
    input: usize,
    size: usize,
    #[serde(default = "super::one")]
    flops: f64,
}

impl Resize {
    pub(super) fn demand(&self, inputs: &Inputs) -> Option<Demand> {
        let input = inputs.tensor(self.input)?;
        let sizes = inputs.integers(self.size).filter(|sizes| !sizes.is_empty())?;
        let outer = input.dims.len().checked_sub(sizes.len())?;
        let inner: f64 = sizes.iter().map(|&size| size as f64).product();
        let results = product(&input.dims[..outer]) * inner;
        Some(demand(input, results, self.flops, 0.0))
    }
}

fn demand(input: &Tensor, results: f64, flops: f64, extra_bytes: f64) -> Demand {
    let written = input.dtype.map(|dtype| results * (f64::from(dtype.bytes) + extra_bytes));
    Demand::vector(results * flops, sum([input.read(), written]), input.dtype)
}

fn value(inputs: &Inputs, at: usize, axis: usize) -> Option<i64> {
    let values = inputs.integers(at)?;
    values.get(axis).or_else(|| values.first()).copied()
}
