//! The element type of the tensors in a list, which profilers do not record: the type of the nearest recorded tensor.

use crate::grammar;
use serde_json::Value;
use tracetree::tree::{CallId, CallKind, CallTree};

/// How many calls before the call are searched.
const NEAR: usize = 64;

/// The element type of tensors in lists, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListType {
    /// The user gave the type.
    Given(&'static str),
    /// The nearest floating-point tensor has this type; it is an argument of the named op.
    Neighbor(&'static str, String),
    /// No tensor near the call was recorded.
    Unknown,
}

impl ListType {
    /// Finds the type that the tensor lists of a call most likely have: that of the other arguments, of the calls
    /// inside, of the calls around, and of the calls before, in this order.
    pub(crate) fn near(tree: &CallTree, call: CallId) -> ListType {
        let inside = tree.subtree(call).take(NEAR);
        let before = (0..call.index()).rev().take(NEAR).filter_map(|index| tree.call_id(index));
        let all = inside.chain(tree.ancestors(call)).chain(before);
        let mut ops = all.filter(|&call| tree.kind(call) == CallKind::Op);
        ops.find_map(|op| {
            Some(ListType::Neighbor(of_arguments(tree, op)?, tree.name(op).to_owned()))
        })
        .unwrap_or(ListType::Unknown)
    }

    pub(crate) fn dtype(&self) -> &'static str {
        match self {
            ListType::Given(dtype) | ListType::Neighbor(dtype, _) => dtype,
            ListType::Unknown => "float32",
        }
    }

    /// What the script prints about the assumption; `None` if the user gave the type.
    pub(crate) fn assumption(&self) -> Option<String> {
        let dtype = self.dtype();
        match self {
            ListType::Given(_) => None,
            ListType::Neighbor(_, op) => Some(format!("{dtype} tensors in lists, as in {op}")),
            ListType::Unknown => Some(format!("{dtype} tensors in lists")),
        }
    }
}

/// The type of the first floating-point tensor with dimensions among the arguments of a call. Scalars are Python
/// numbers, which are always float64.
fn of_arguments(tree: &CallTree, call: CallId) -> Option<&'static str> {
    let arguments = tree.arguments(call)?;
    let list = |id| serde_json::from_str::<Vec<Value>>(tree.trace().text(id)).ok();
    let (types, dims) = (list(arguments.types)?, list(arguments.dims)?);
    let of = |(kind, dims): (&Value, &Value)| {
        let dtype = grammar::element_type(kind.as_str()?)?;
        let is_wide = dims.as_array().is_some_and(|dims| !dims.is_empty());
        (is_wide && dtype.contains("float")).then_some(dtype)
    };
    types.iter().zip(&dims).find_map(of)
}
