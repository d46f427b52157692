//! Defines the minimum work of an op, which is its *demand*, and helpers that several formulas use.

use super::dtype::Dtype;
use super::inputs::{Inputs, Tensor};
use crate::analysis::precision::Precision;

/// The kind of hardware unit that runs an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum Unit {
    /// The op runs on tensor cores or matrix cores.
    Matrix,
    /// The op runs on units other than tensor or matrix cores.
    Vector,
}

/// The minimum work of an op.
#[derive(Debug, Clone, Copy, PartialEq)]
#[doc(hidden)]
pub struct Demand {
    /// Floating-point operations; a multiply-add counts as two.
    pub flops: f64,
    /// Number of bytes that must be moved to read each input once and write each output once; `None` if a type is
    /// unknown.
    pub bytes: Option<f64>,
    /// The kind of hardware unit that runs the op.
    pub unit: Unit,
    /// The precision of the operands; `None` if their type is unknown or has no published peak rate.
    pub precision: Option<Precision>,
}

impl Demand {
    pub(super) fn matrix(flops: f64, bytes: Option<f64>, dtype: Option<Dtype>) -> Demand {
        Demand { flops, bytes, unit: Unit::Matrix, precision: dtype.and_then(|d| d.precision) }
    }

    /// Creates a demand for vector units. These units compute in 32 bits even if the type is narrower.
    pub(super) fn vector(flops: f64, bytes: Option<f64>, dtype: Option<Dtype>) -> Demand {
        let wide = dtype.is_some_and(|dtype| dtype.precision == Some(Precision::Fp64));
        let precision = if wide { Precision::Fp64 } else { Precision::Fp32 };
        Demand { flops, bytes, unit: Unit::Vector, precision: Some(precision) }
    }
}

/// The sum of all terms; `None` if any term is unknown.
pub(super) fn sum(parts: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    parts.into_iter().sum()
}

/// Number of bytes moved to read all tensors of an argument once; 0 if the argument contains no tensors.
pub(super) fn read(inputs: &Inputs, at: usize) -> Option<f64> {
    sum(inputs.tensors(at).unwrap_or_default().iter().map(Tensor::read))
}

/// Number of bytes moved to write all tensors of an argument once, or to write new tensors with the same shapes and
/// types.
pub(super) fn written(inputs: &Inputs, at: usize) -> Option<f64> {
    sum(inputs.tensors(at).unwrap_or_default().iter().map(Tensor::written))
}

/// The shape that results from broadcasting the given shapes; `None` if the shapes are
/// incompatible.
pub(super) fn broadcast<'a>(shapes: impl IntoIterator<Item = &'a [u64]>) -> Option<Vec<u64>> {
    let mut all: Vec<u64> = Vec::new();
    for shape in shapes {
        let missing = shape.len().saturating_sub(all.len());
        all.splice(0..0, std::iter::repeat_n(1, missing));
        let offset = all.len() - shape.len();
        for (known, &size) in all[offset..].iter_mut().zip(shape) {
            match (*known, size) {
                (1, size) => *known = size,
                (known, size) if known == size || size == 1 => {}
                (_, _) => return None,
            }
        }
    }
    Some(all)
}
