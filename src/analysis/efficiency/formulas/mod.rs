//! The arguments of one op → what it must do at least: floating-point operations, and bytes moved.
//!
//! Bytes are the least possible: every input read once, every output written once, whatever caches
//! hold and libraries copy. A formula gives nothing where it would have to guess.

mod attention;
mod convolution;
mod lists;
mod matmul;
mod pointwise;
mod pool;
mod reduce;
mod select;
mod stream;
#[cfg(test)]
mod tests;
mod triton;

use super::dtype::{Dtype, Precision};
use super::inputs::{Inputs, Tensor};
use serde::Deserialize;

/// Which units of a device compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Tensor cores, matrix cores.
    Matrix,
    /// Everything else.
    Vector,
}

/// What an op must do at least.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Floating-point operations; a multiplication and an addition are two.
    pub flops: f64,
    /// Bytes that must move: inputs read once, outputs written once; `None` where a type is not known.
    pub bytes: Option<f64>,
    /// The units that compute it.
    pub unit: Unit,
    /// The precision of its operands; `None` where the type is not known or has no peak.
    pub precision: Option<Precision>,
}

impl Demand {
    pub(super) fn matrix(flops: f64, bytes: Option<f64>, dtype: Option<Dtype>) -> Demand {
        Demand { flops, bytes, unit: Unit::Matrix, precision: dtype.and_then(|d| d.precision) }
    }

    /// Pointwise kernels compute narrow types in 32 bits.
    pub(super) fn vector(flops: f64, bytes: Option<f64>, dtype: Option<Dtype>) -> Demand {
        let wide = dtype.is_some_and(|dtype| dtype.precision == Some(Precision::Fp64));
        let precision = if wide { Precision::Fp64 } else { Precision::Fp32 };
        Demand { flops, bytes, unit: Unit::Vector, precision: Some(precision) }
    }
}

/// How much of the work below an op a model accounts for: an op whose work is done by an op below
/// it that has a model of the same weight, or a greater one, is not counted itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::analysis::efficiency) enum Weight {
    /// Copies and fills.
    Move,
    /// Pointwise work.
    Light,
    /// Reductions, normalisation, indexing.
    Medium,
    /// Products, convolutions, attention.
    Heavy,
}

/// How the demand of an op follows from its arguments. The numbers are positions of arguments.
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
    Select(select::Select),
    Lists(lists::Lists),
    Pool(pool::Pool),
    Resize(pool::Resize),
    Triton(triton::Triton),
}

/// An op as a formula sees it.
pub(super) struct Op<'a> {
    pub(super) name: &'a str,
    pub(super) inputs: &'a Inputs,
    /// What its kernels' names say of the elements of tensor lists, whose types are not recorded.
    pub(super) list_dtype: Option<Dtype>,
    /// Lengths of the requests that it works on, where an annotation says them.
    pub(super) lengths: Option<Lengths>,
}

/// Sums over the requests of one forward pass, prompts and generation apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// Query tokens of prompts, and of generation.
    pub queries: [u64; 2],
    /// Tokens that are attended to: the query and what came before it.
    pub keys: [u64; 2],
    /// Squares of the query tokens.
    pub queries_squared: [u64; 2],
    /// Products of query and key tokens.
    pub products: [u64; 2],
}

impl Formula {
    /// What the op must do at least; `None` where its arguments do not tell.
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

    /// Whether the types of its tensors may stand in the names of its kernels alone.
    pub(super) fn takes_lists(&self) -> bool {
        matches!(self, Formula::Lists(_))
    }

    /// Whether it depends on the lengths of requests, which annotations tell.
    pub(super) fn takes_lengths(&self) -> bool {
        matches!(self, Formula::PagedAttention(_))
    }
}

/// The sum of what is known of all parts; `None` where one is not.
fn sum(parts: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    parts.into_iter().sum()
}

/// Bytes that reading the tensors of an argument moves: none where there is no tensor.
fn read(inputs: &Inputs, at: usize) -> Option<f64> {
    sum(inputs.tensors(at).unwrap_or_default().iter().map(Tensor::read))
}

/// Bytes that writing the tensors of an argument, or new ones like them, moves.
fn written(inputs: &Inputs, at: usize) -> Option<f64> {
    sum(inputs.tensors(at).unwrap_or_default().iter().map(Tensor::written))
}

/// The shape that dimensions broadcast to; `None` where they do not.
fn broadcast<'a>(shapes: impl IntoIterator<Item = &'a [u64]>) -> Option<Vec<u64>> {
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
