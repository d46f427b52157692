//! Describes an op with its arguments and its position in the autograd graph.

use serde_json::{Map, Value, json};

/// A `cpu_op` under construction. A `&str` converts to an op with that name and no arguments.
#[derive(Debug, Clone)]
pub struct Op {
    pub(super) name: String,
    pub(super) args: Map<String, Value>,
}

impl Op {
    /// An op without arguments.
    pub fn new(name: &str) -> Self {
        Op { name: name.to_owned(), args: Map::new() }
    }

    /// Sets the shapes of the inputs; use `&[]` for a scalar or a list.
    #[must_use]
    pub fn dims(self, dims: &[&[i64]]) -> Self {
        self.arg("Input Dims", json!(dims))
    }

    /// Sets the strides of the inputs.
    #[must_use]
    pub fn strides(self, strides: &[&[i64]]) -> Self {
        self.arg("Input Strides", json!(strides))
    }

    /// Sets the types of the inputs, in PyTorch's notation (`float`, `Scalar`, `ScalarList`).
    #[must_use]
    pub fn types(self, types: &[&str]) -> Self {
        self.arg("Input type", json!(types))
    }

    /// Sets the values of the inputs that are not tensors; `""` for all other inputs.
    #[must_use]
    pub fn concrete(self, values: &[&str]) -> Self {
        self.arg("Concrete Inputs", json!(values))
    }

    /// Makes the op a forward op with this sequence number.
    #[must_use]
    pub fn forward(self, sequence: i64) -> Self {
        self.arg("Sequence number", json!(sequence)).arg("Fwd thread id", json!(0))
    }

    /// Makes the op a backward op. The corresponding forward op has this sequence number and runs on thread 1.
    #[must_use]
    pub fn backward(self, sequence: i64) -> Self {
        self.arg("Sequence number", json!(sequence)).arg("Fwd thread id", json!(1))
    }

    /// Sets any argument by its key; use this method for arguments that no other method sets.
    #[must_use]
    pub fn arg(mut self, key: &str, value: Value) -> Self {
        self.args.insert(key.to_owned(), value);
        self
    }
}

impl From<&str> for Op {
    fn from(name: &str) -> Self {
        Op::new(name)
    }
}

impl From<&Op> for Op {
    fn from(op: &Op) -> Self {
        op.clone()
    }
}
