//! Computes the work of ops on lists of tensors: `cat`, `_foreach_*`, fused optimizers.

use super::super::demand::{Demand, sum};
use super::super::dtype::Dtype;
use super::super::inputs::{Inputs, Tensor};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::analysis::efficiency) struct Lists {
    /// Number of operations for each tensor element in the first list that the op reads.
    #[serde(default)]
    flops: f64,
    /// Tensor lists that the op reads; absent arguments are ignored.
    reads: Vec<usize>,
    /// Tensor lists that the op overwrites. If the op creates new tensors instead, the entry names a list whose tensors
    /// have the shapes of the new ones.
    writes: Vec<usize>,
}

impl Lists {
    pub(super) fn demand(&self, inputs: &Inputs, dtype: Option<Dtype>) -> Option<Demand> {
        let first = inputs.tensors(*self.reads.first()?)?;
        let elements: f64 = first.iter().map(Tensor::elements).sum();
        let known = |at: &usize| {
            let tensors = inputs.tensors(*at).unwrap_or_default();
            tensors.iter().map(|tensor| tensor.or_dtype(dtype)).collect::<Vec<_>>()
        };
        let read = self.reads.iter().flat_map(known).map(|tensor| tensor.read());
        let written = self.writes.iter().flat_map(known).map(|tensor| tensor.written());
        let bytes = sum(read.chain(written));
        Some(Demand::vector(self.flops * elements, bytes, dtype.or(first.first()?.dtype)))
    }
}
