//! Computes the minimum work of an op from its arguments: floating-point operations and bytes moved.
//!
//! The number of bytes is a minimum: each input is read once and each output is written once. Caches, and copies made
//! by libraries, are ignored. If data that a formula needs is missing, the formula returns nothing instead of guessing.

mod attention;
mod convolution;
mod matmul;
mod pointwise;
mod pool;
mod reduce;
mod stream;
#[cfg(test)]
mod tests;
mod triton;

use super::demand::Demand;
use super::dtype::Dtype;
use super::inputs::Inputs;
use crate::program::Lengths;
use serde::Deserialize;

/// Weight of an op, which determines whether an op or an op nested in it is counted. An op is not counted if a nested
/// op has the same or a greater weight, because the nested op does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::analysis::efficiency) enum Weight {
    /// Weight of copies and fills.
    Move,
    /// Weight of pointwise work.
    Light,
    /// Weight of reductions, normalization and indexing.
    Medium,
    /// Weight of matrix products, convolutions and attention.
    Heavy,
}

/// The formula that computes the minimum work of an op. All position numbers in a formula refer to the arguments of the
/// op.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Formula {
    Matmul(matmul::Matmul),
    Convolution(convolution::Convolution),
    ConvolutionBackward(convolution::ConvolutionBackward),
    Attention(attention::Attention),
    AttentionBackward(attention::AttentionBackward),
    PagedAttention(attention::PagedAttention),
    Pointwise(pointwise::Pointwise),
    Reduce(reduce::Reduce),
    Stream(stream::Stream),
    Select(stream::Select),
    Lists(stream::Lists),
    Pool(pool::Pool),
    Resize(pool::Resize),
    Triton(triton::Triton),
}

/// The number of operations per element, unless a model states another.
fn one() -> f64 {
    1.0
}

pub(super) struct Op<'a> {
    pub(super) name: &'a str,
    pub(super) inputs: &'a Inputs,
    /// Element type of the op's tensor lists. The profiler does not record this type, so it is taken from a kernel
    /// name.
    pub(super) list_dtype: Option<Dtype>,
    /// Lengths of the requests that the op processes, if an annotation records them.
    pub(super) lengths: Option<Lengths>,
}

impl Formula {
    /// The minimum work of the op; `None` if its arguments do not determine the work.
    pub(super) fn demand(&self, op: &Op<'_>) -> Option<Demand> {
        let demand = match self {
            Formula::Matmul(formula) => formula.demand(op.inputs),
            Formula::Convolution(formula) => formula.demand(op.inputs),
            Formula::ConvolutionBackward(formula) => formula.demand(op.inputs),
            Formula::Attention(formula) => formula.demand(op.inputs),
            Formula::AttentionBackward(formula) => formula.demand(op.inputs),
            Formula::PagedAttention(formula) => formula.demand(op.inputs, op.lengths),
            Formula::Pointwise(formula) => formula.demand(op.inputs),
            Formula::Reduce(formula) => formula.demand(op.inputs),
            Formula::Stream(formula) => formula.demand(op.inputs),
            Formula::Select(formula) => formula.demand(op.inputs),
            Formula::Lists(formula) => formula.demand(op.inputs, op.list_dtype),
            Formula::Pool(formula) => formula.demand(op.inputs),
            Formula::Resize(formula) => formula.demand(op.inputs),
            Formula::Triton(formula) => formula.demand(op.name, op.inputs),
        };
        demand.filter(|demand| demand.flops.is_finite() && demand.bytes.is_none_or(f64::is_finite))
    }

    pub(super) fn weight(&self) -> Weight {
        match self {
            Formula::Matmul(_)
            | Formula::Convolution(_)
            | Formula::ConvolutionBackward(_)
            | Formula::Attention(_)
            | Formula::AttentionBackward(_)
            | Formula::PagedAttention(_) => Weight::Heavy,
            Formula::Reduce(_)
            | Formula::Stream(_)
            | Formula::Select(_)
            | Formula::Lists(_)
            | Formula::Pool(_)
            | Formula::Resize(_)
            | Formula::Triton(_) => Weight::Medium,
            Formula::Pointwise(formula) if formula.flops == 0.0 => Weight::Move,
            Formula::Pointwise(_) => Weight::Light,
        }
    }

    /// Whether the op takes lists of tensors. Their types may be known only from kernel names.
    pub(super) fn takes_lists(&self) -> bool {
        matches!(self, Formula::Lists(_))
    }

    /// Whether the minimum work depends on request lengths, which are recorded in annotations.
    pub(super) fn takes_lengths(&self) -> bool {
        matches!(self, Formula::PagedAttention(_))
    }
}
