//! Computes the work of matrix products. A product takes `2·B·M·N·K` operations, plus `B·M·N` if another tensor is
//! added to it.
//!
//! Source: each of the `B·M·N` elements of the result is a sum of `K` products.

use super::super::demand::{Demand, broadcast, read, sum};
use super::super::dtype::Dtype;
use super::super::inputs::{Inputs, Tensor, product};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::analysis::efficiency) struct Matmul {
    /// First factor with dimensions `[…, M, K]` or `[K]`.
    a: usize,
    /// Second factor with dimensions `[…, K, N]` or `[K]`, or `[…, N, K]` if it is passed transposed.
    b: usize,
    #[serde(default)]
    b_transposed: bool,
    add: Option<usize>,
    /// The tensor that receives the product, if one is passed.
    out: Option<usize>,
    /// A scalar that specifies the type of the result. If neither this scalar nor `out` is passed, the
    /// result has the type of `a`.
    out_dtype: Option<usize>,
}

#[derive(Debug, PartialEq)]
struct Sizes {
    batch: f64,
    m: f64,
    n: f64,
    k: f64,
}

impl Matmul {
    pub(super) fn demand(&self, inputs: &Inputs) -> Option<Demand> {
        let (a, b) = (inputs.tensor(self.a)?, inputs.tensor(self.b)?);
        let sizes = self.sizes(a, b)?;
        let results = sizes.batch * sizes.m * sizes.n;
        let added = self.add.and_then(|at| inputs.tensor(at)).map_or(0.0, |_| results);
        let packed = f64::from(a.dtype.map_or(1, |dtype| dtype.values));
        let flops = 2.0 * results * sizes.k * packed + added;
        let out = self.out_dtype(inputs, a).map(|dtype| results * f64::from(dtype.bytes));
        let addend = self.add.map_or(Some(0.0), |at| read(inputs, at));
        Some(Demand::matrix(flops, sum([a.read(), b.read(), out, addend]), a.dtype))
    }

    fn sizes(&self, a: &Tensor, b: &Tensor) -> Option<Sizes> {
        let (a_batch, m, k) = match a.dims.as_slice() {
            [k] => (&[][..], 1, *k),
            [batch @ .., m, k] => (batch, *m, *k),
            [] => return None,
        };
        let (b_batch, rows, columns) = match b.dims.as_slice() {
            [k] => (&[][..], *k, 1),
            [batch @ .., rows, columns] => (batch, *rows, *columns),
            [] => return None,
        };
        let (b_k, n) =
            if self.b_transposed && b.dims.len() > 1 { (columns, rows) } else { (rows, columns) };
        let batch = broadcast([a_batch, b_batch])?;
        (k == b_k).then(|| Sizes { batch: product(&batch), m: m as f64, n: n as f64, k: k as f64 })
    }

    fn out_dtype(&self, inputs: &Inputs, a: &Tensor) -> Option<Dtype> {
        let out = self.out.and_then(|at| inputs.tensor(at)).and_then(|out| out.dtype);
        let named = || Dtype::of_number(inputs.integer(self.out_dtype?)?);
        out.or_else(named).or(a.dtype)
    }
}
