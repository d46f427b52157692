//! Computes the work of ops that mostly read and write: whole tensors (such as norms), lists of tensors (`cat`,
//! `_foreach_*`, fused optimizers), or parts of a table that an index selects.

use super::super::demand::{Demand, read, sum, written};
use super::super::dtype::Dtype;
use super::super::inputs::{Input, Inputs, Tensor, product};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::analysis::efficiency) struct Stream {
    /// The tensors for whose elements operations are counted. Statistics, such as a mean, are computed over the first
    /// of these tensors.
    elements: Vec<usize>,
    /// Operations per element.
    #[serde(default)]
    flops: f64,
    /// Tensors that the op reads; absent arguments are ignored.
    #[serde(default)]
    reads: Vec<usize>,
    /// Tensors that the op writes.
    #[serde(default)]
    writes: Vec<usize>,
    /// Tensors that have the same shapes and types as the new tensors that the op creates.
    #[serde(default)]
    like: Vec<usize>,
    /// Pairs of tensors, one pair for each new tensor that the op creates. The new tensor has the shape of the first
    /// tensor in the pair, and the type of the second.
    #[serde(default)]
    as_type: Vec<[usize; 2]>,
    /// Pairs of an index and a table: one row of the table is read for each element of the index.
    #[serde(default)]
    rows_of: Vec<[usize; 2]>,
    /// The elements that one statistic covers.
    statistic: Option<Statistic>,
    #[serde(default)]
    statistic_flops: f64,
    /// Number of values that the op writes per statistic. Each value has at least 32 bits.
    #[serde(default)]
    statistics_saved: f64,
}

/// The elements that one statistic, such as a mean, covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Statistic {
    /// A statistic covers all elements of a channel (the second dimension).
    Channel,
    /// A statistic covers all elements along the last dimension.
    Row,
    /// A statistic covers all elements along the last dimensions. The given argument contains the sizes
    /// of these dimensions.
    Shape(usize),
    /// A statistic covers a group of channels in one sample; the number of groups is in the given argument.
    Group(usize),
}

impl Stream {
    pub(super) fn demand(&self, inputs: &Inputs) -> Option<Demand> {
        let tensors = self.elements.iter().map(|&at| inputs.tensor(at));
        let tensors = tensors.collect::<Option<Vec<&Tensor>>>()?;
        let counted = *tensors.first()?;
        let used = self.reads.iter().chain(&self.writes).chain(&self.like);
        if used.clone().any(|&at| *inputs.at(at) == Input::Unknown) {
            return None;
        }
        let statistics = self.statistics(inputs, counted)?;
        let moved = self.reads.iter().map(|&at| read(inputs, at));
        let made = self.writes.iter().chain(&self.like).map(|&at| written(inputs, at));
        let typed = self.as_type.iter().map(|&[shape, dtype]| {
            Some(inputs.tensor(shape)?.elements() * bytes_of(inputs.tensor(dtype)?)?)
        });
        let rows = self.rows_of.iter().map(|&[index, table]| {
            let table = inputs.tensor(table)?;
            let row = product(table.dims.get(1..).unwrap_or_default());
            Some(inputs.tensor(index)?.elements() * row * bytes_of(table)?)
        });
        // Statistics are stored in 32 bits, or in the input type if the input type is wider.
        let wide = counted.dtype.map_or(4.0, |dtype| f64::from(dtype.bytes).max(4.0));
        let saved = Some(self.statistics_saved * statistics * wide);
        let bytes = sum(moved.chain(made).chain(typed).chain(rows).chain([saved]));
        let elements: f64 = tensors.iter().map(|tensor| tensor.elements()).sum();
        let flops = self.flops * elements + self.statistic_flops * statistics;
        Some(Demand::vector(flops, bytes, counted.dtype))
    }

    fn statistics(&self, inputs: &Inputs, counted: &Tensor) -> Option<f64> {
        let per = |size: f64| if size > 0.0 { counted.elements() / size } else { 0.0 };
        match self.statistic {
            None => Some(0.0),
            Some(Statistic::Channel) => Some(*counted.dims.get(1)? as f64),
            Some(Statistic::Row) => Some(per(*counted.dims.last()? as f64)),
            Some(Statistic::Shape(at)) => {
                let sizes = inputs.integers(at).unwrap_or_default();
                // If no argument values were recorded, the statistic is assumed to cover the last dimension,
                // as in almost every norm.
                let size = if sizes.is_empty() {
                    *counted.dims.last()? as f64
                } else {
                    sizes.iter().map(|&size| size as f64).product()
                };
                Some(per(size))
            }
            Some(Statistic::Group(at)) => {
                Some(*counted.dims.first()? as f64 * inputs.integer(at)? as f64)
            }
        }
    }
}

fn bytes_of(tensor: &Tensor) -> Option<f64> {
    Some(f64::from(tensor.dtype?.bytes))
}

/// An op on lists of tensors.
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

/// An op that reads an index and the elements of a table that it selects, and writes these elements.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::analysis::efficiency) struct Select {
    table: usize,
    index: usize,
    /// The elements that one index selects.
    takes: Takes,
}

/// The elements that one index selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Takes {
    /// One index selects all elements along the dimensions after the first.
    Row,
    /// One index selects all elements along all dimensions except one. The number of that dimension is in the argument
    /// at this position.
    Along(usize),
    /// One index selects a single element.
    Element,
}

impl Select {
    pub(super) fn demand(&self, inputs: &Inputs) -> Option<Demand> {
        let (table, index) = (inputs.tensor(self.table)?, inputs.tensor(self.index)?);
        let each = match self.takes {
            Takes::Row => product(table.dims.get(1..)?),
            Takes::Element => 1.0,
            Takes::Along(at) => {
                let dim = inputs.integer(at)?;
                let rank = i64::try_from(table.dims.len()).ok()?;
                let dim = usize::try_from(if dim < 0 { dim + rank } else { dim }).ok()?;
                product(table.dims.get(..dim)?) * product(table.dims.get(dim + 1..)?)
            }
        };
        let selected = index.elements() * each;
        let rows = table.dtype.map(|dtype| 2.0 * selected * f64::from(dtype.bytes));
        Some(Demand::vector(0.0, sum([index.read(), rows]), table.dtype))
    }
}
