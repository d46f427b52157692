//! Computes the work of reductions. A reduction reads all elements, takes one operation per element by default, and
//! writes few results.

use super::super::demand::{Demand, sum};
use super::super::inputs::{Input, Inputs, Tensor};
use super::pointwise::ResultType;
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::analysis::efficiency) struct Reduce {
    input: usize,
    /// The dimensions that the op reduces. If this is `None`, the op reduces all dimensions.
    dims: Option<usize>,
    #[serde(default = "super::one")]
    flops: f64,
    /// Type of the result. If this is `None`, the result has the type of the input.
    result: Option<ResultType>,
    /// Additional bytes written per element of the result, for example for an index.
    #[serde(default)]
    extra_bytes: f64,
}

impl Reduce {
    pub(super) fn demand(&self, inputs: &Inputs) -> Option<Demand> {
        let input = inputs.tensor(self.input)?;
        let results = self.results(inputs, input)?;
        let dtype = self.result.map(ResultType::dtype).or(input.dtype);
        let written = dtype.map(|dtype| results * (f64::from(dtype.bytes) + self.extra_bytes));
        let bytes = sum([input.read(), written]);
        Some(Demand::vector(self.flops * input.elements(), bytes, input.dtype))
    }

    fn results(&self, inputs: &Inputs, input: &Tensor) -> Option<f64> {
        let Some(at) = self.dims else { return Some(1.0) };
        if matches!(inputs.at(at), Input::Tensor(_)) {
            return None;
        }
        // An empty list of dimensions means that the op reduces all dimensions. If no argument values were recorded, it
        // is unknown which dimensions are reduced.
        let gone = match inputs.concrete(at) {
            "" if inputs.positions().len() > at && !inputs.has_values() => return None,
            "" => Vec::new(),
            _ => inputs.integers(at)?,
        };
        if gone.is_empty() {
            return Some(1.0);
        }
        let rank = i64::try_from(input.dims.len()).ok()?;
        let kept = |axis: i64| !gone.iter().any(|&dim| dim == axis || dim + rank == axis);
        let sizes = (0..).zip(&input.dims).filter(|&(axis, _)| kept(axis));
        Some(sizes.map(|(_, &size)| size as f64).product())
    }
}
