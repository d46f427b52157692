//! Computes the work of ops that read or write whole tensors, such as norms.

use super::super::demand::{Demand, read, sum, written};
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
