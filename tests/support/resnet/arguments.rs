//! Builds ops with the shapes, strides, types and values that PyTorch records.

use crate::support::trace_builder::Op;

/// One argument to an op.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arg<'a> {
    /// A contiguous tensor of type `float`.
    Tensor(&'a [i64]),
    /// A contiguous tensor of type `long int`.
    Index(&'a [i64]),
    /// A list argument, as a string.
    List(&'a str),
    /// A number or flag argument, as a string.
    Scalar(&'a str),
    /// An optional tensor that is not passed.
    Nothing,
}

impl Arg<'_> {
    fn dims(&self) -> &[i64] {
        match self {
            Arg::Tensor(dims) | Arg::Index(dims) => dims,
            Arg::List(_) | Arg::Scalar(_) | Arg::Nothing => &[],
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Arg::Tensor(_) => "float",
            Arg::Index(_) => "long int",
            Arg::List(_) => "ScalarList",
            Arg::Scalar(_) => "Scalar",
            Arg::Nothing => "",
        }
    }

    fn value(&self) -> &str {
        match self {
            Arg::List(text) | Arg::Scalar(text) => text,
            Arg::Tensor(_) | Arg::Index(_) | Arg::Nothing => "",
        }
    }
}

/// Creates an op with the given arguments.
pub(super) fn op(name: &str, args: &[Arg<'_>]) -> Op {
    let strides: Vec<Vec<i64>> = args.iter().map(|arg| contiguous(arg.dims())).collect();
    let strides: Vec<&[i64]> = strides.iter().map(Vec::as_slice).collect();
    let dims: Vec<&[i64]> = args.iter().map(Arg::dims).collect();
    let kinds: Vec<&str> = args.iter().map(Arg::kind).collect();
    let values: Vec<&str> = args.iter().map(Arg::value).collect();
    Op::new(name).dims(&dims).strides(&strides).types(&kinds).concrete(&values)
}

/// The strides of a contiguous tensor.
fn contiguous(dims: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; dims.len()];
    for at in (1..dims.len()).rev() {
        strides[at - 1] = strides[at] * dims[at];
    }
    strides
}
