//! Computes the work of pointwise ops: each element of the result depends on one element of each input.

use super::super::demand::{Demand, broadcast, sum};
use super::super::dtype::{Class, Dtype};
use super::super::inputs::{Input, Inputs, Tensor, product};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::analysis::efficiency) struct Pointwise {
    /// Operations per element of the result.
    #[serde(default = "super::one")]
    pub(super) flops: f64,
    /// Tensors that the op reads. If this is `None`, the op reads all tensors except `out`.
    reads: Option<Vec<usize>>,
    /// The tensor that the op overwrites. If this is `None`, the op creates a new tensor.
    into: Option<usize>,
    /// A tensor passed as `out=`, which receives the result.
    out: Option<usize>,
    /// Type of a new result. If this is `None`, the result has the type to which the inputs are promoted.
    result: Option<ResultType>,
    /// An argument that is a flag or a type number. If it is set, the new result consists of 32-bit floats.
    widens: Option<usize>,
    /// Number of additional bytes that the op writes per element of the result, for example for a mask.
    #[serde(default)]
    extra_bytes: f64,
}

/// A result type that does not depend on the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ResultType {
    Bool,
    Int64,
}

impl ResultType {
    pub(super) fn dtype(self) -> Dtype {
        match self {
            ResultType::Bool => Dtype::BOOL,
            ResultType::Int64 => Dtype::LONG,
        }
    }
}

impl Pointwise {
    pub(super) fn demand(&self, inputs: &Inputs) -> Option<Demand> {
        let reads = self.reads(inputs)?;
        let dims = reads.iter().map(|tensor| tensor.dims.as_slice());
        let target = self.into.or(self.out).and_then(|at| inputs.tensor(at));
        let dtype = promoted(&reads);
        let (elements, result) = match (target, self.into) {
            (Some(target), _) => (target.elements(), target.written()),
            (None, Some(_)) => return None,
            (None, None) if reads.is_empty() => return None,
            (None, None) => {
                let elements = product(&broadcast(dims)?);
                let dtype = self.result.map(ResultType::dtype).or(self.widened(inputs, dtype));
                (elements, dtype.map(|dtype| elements * f64::from(dtype.bytes)))
            }
        };
        let extra = Some(self.extra_bytes * elements);
        let bytes = sum(reads.iter().map(|tensor| tensor.read()).chain([result, extra]));
        Some(Demand::vector(self.flops * elements, bytes, dtype))
    }

    /// The tensors that the op reads. Returns `None` if a shape is unreadable, or if an argument is
    /// a list instead of a tensor.
    fn reads<'i>(&self, inputs: &'i Inputs) -> Option<Vec<&'i Tensor>> {
        let positions: Vec<usize> = match &self.reads {
            Some(positions) => positions.clone(),
            None => inputs.positions().filter(|&at| Some(at) != self.out).collect(),
        };
        let mut tensors = Vec::new();
        for at in positions {
            match inputs.at(at) {
                Input::Tensor(tensor) => tensors.push(tensor),
                Input::Value => {}
                Input::List(_) | Input::Unknown => return None,
            }
        }
        Some(tensors)
    }

    fn widened(&self, inputs: &Inputs, dtype: Option<Dtype>) -> Option<Dtype> {
        let widens = self.widens.and_then(|at| inputs.flag(at)).unwrap_or(false);
        if widens { Some(Dtype::FLOAT) } else { dtype }
    }
}

/// The common type to which tensors are promoted. Tensors with dimensions take precedence over tensors without
/// dimensions, floats over integers, integers over booleans, and wider types over narrower types.
fn promoted(tensors: &[&Tensor]) -> Option<Dtype> {
    let types: Option<Vec<(bool, Class, u8, Dtype)>> = tensors
        .iter()
        .map(|tensor| {
            let dtype = tensor.dtype?;
            Some((!tensor.dims.is_empty(), dtype.class, dtype.bytes, dtype))
        })
        .collect();
    let widest = types?.into_iter().max_by_key(|&(sized, class, bytes, _)| (sized, class, bytes));
    widest.map(|(.., dtype)| dtype)
}
