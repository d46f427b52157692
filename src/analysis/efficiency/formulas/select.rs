//! Computes the work of ops that select parts of a table by index. Such an op reads the index and the selected
//! elements, and writes these elements.

use super::super::demand::{Demand, sum};
use super::super::inputs::{Inputs, product};
use serde::Deserialize;

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
