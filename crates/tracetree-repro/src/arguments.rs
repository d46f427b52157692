//! The recorded arguments of a call, as the script writes them.
//!
//! ```text
//! Input type       ["float", "ScalarList", "Scalar", "TensorList", ""]
//! Input Dims       [[8, 64], [], [], [[32], [32]], []]
//! Concrete Inputs  ["", "[1, 1]", "0.5", "", ""]
//!                  tensor    list      value  tensors     absent
//! ```

use crate::grammar::{self, Number};
use crate::neighbor::ListType;
use serde_json::Value;
use std::fmt;
use tracetree::tree::{CallId, CallKind, CallTree};

/// Maximum number of arguments, and of tensors or numbers in a list. Recorded lists have a few hundred.
const LONGEST_LIST: usize = 10_000;

/// Why a script cannot repeat a call, and what the user can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) reason: String,
    pub(crate) remedy: &'static str,
}

const RECORD: &str = "record with record_shapes=True";
const ANOTHER: &str = "choose a call around it, or record again";

fn refused<T>(reason: impl Into<String>, remedy: &'static str) -> Result<T, Refused> {
    Err(Refused { reason: reason.into(), remedy })
}

/// A tensor argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tensor {
    pub(crate) dtype: &'static str,
    pub(crate) dims: Vec<u64>,
    /// `None` if not recorded; the script then assumes a contiguous tensor.
    pub(crate) strides: Option<Vec<u64>>,
}

/// The type of a number whose value was not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Whole,
    Bool,
    Real,
    Any,
    List,
}

/// One argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Argument {
    Tensor(Tensor),
    Tensors(Vec<Tensor>),
    Value(Number),
    List(Vec<Number>),
    /// A number whose value was not recorded.
    Unknown(Kind),
    /// Profilers record nothing for strings, devices, generators, undefined tensors and lists of optional tensors.
    Absent,
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strides = self.strides.as_ref().map_or("None".to_owned(), grammar::list);
        write!(f, "\"{}\", {}, {strides}", self.dtype, grammar::list(&self.dims))
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Tensor(tensor) => write!(f, "(\"tensor\", {tensor})"),
            Argument::Tensors(tensors) => {
                let items = tensors.iter().map(|tensor| format!("({tensor})"));
                write!(f, "(\"tensors\", {})", grammar::list(items))
            }
            Argument::Value(number) => write!(f, "(\"value\", {number})"),
            Argument::List(numbers) => write!(f, "(\"list\", {})", grammar::list(numbers)),
            Argument::Unknown(kind) => {
                let kind = match kind {
                    Kind::Whole => "int",
                    Kind::Bool => "bool",
                    Kind::Real => "float",
                    Kind::Any => "number",
                    Kind::List => "list",
                };
                write!(f, "(\"unknown\", \"{kind}\")")
            }
            Argument::Absent => f.write_str("(\"absent\",)"),
        }
    }
}

/// The four recorded lists that describe the arguments of a call.
struct Lists {
    dims: Vec<Value>,
    types: Vec<Value>,
    strides: Vec<Value>,
    concrete: Vec<Value>,
}

impl Lists {
    fn of(tree: &CallTree, call: CallId) -> Result<Lists, Refused> {
        let Some(arguments) = tree.arguments(call) else {
            return refused("its arguments are not recorded", RECORD);
        };
        let list = |id| serde_json::from_str::<Vec<Value>>(tree.trace().text(id)).ok();
        let Some(dims) = list(arguments.dims) else {
            return refused("its shapes are not recorded", RECORD);
        };
        let Some(types) = list(arguments.types) else {
            return refused("its element types are not recorded", RECORD);
        };
        if types.len() > LONGEST_LIST || types.is_empty() && !dims.is_empty() {
            return refused("its element types are not recorded", RECORD);
        }
        let strides = list(arguments.strides).unwrap_or_default();
        Ok(Lists { dims, types, strides, concrete: list(arguments.concrete).unwrap_or_default() })
    }
}

/// The recorded arguments of a call.
pub(crate) fn of_call(
    tree: &CallTree,
    call: CallId,
    lists: &ListType,
) -> Result<Vec<Argument>, Refused> {
    if tree.kind(call) != CallKind::Op || !grammar::is_op(tree.name(call)) {
        return refused("it is not a PyTorch op", "choose the op that launches it");
    }
    let recorded = Lists::of(tree, call)?;
    let nothing = Value::Null;
    let at = |list: &'_ [Value], at: usize| list.get(at).cloned().unwrap_or_default();
    let parse = |(index, kind): (usize, &Value)| {
        argument(&Recorded {
            index,
            kind: kind.as_str().unwrap_or_default(),
            dims: recorded.dims.get(index).unwrap_or(&nothing),
            strides: recorded.strides.get(index).unwrap_or(&nothing),
            concrete: at(&recorded.concrete, index).as_str().unwrap_or_default(),
            list_type: lists.dtype(),
        })
    };
    recorded.types.iter().enumerate().map(parse).collect()
}

/// What a trace contains about one argument.
struct Recorded<'a> {
    index: usize,
    kind: &'a str,
    dims: &'a Value,
    strides: &'a Value,
    concrete: &'a str,
    list_type: &'static str,
}

fn argument(recorded: &Recorded<'_>) -> Result<Argument, Refused> {
    let Recorded { index, kind, concrete, .. } = *recorded;
    let value =
        |kind: Kind| Number::parse(concrete).map_or(Argument::Unknown(kind), Argument::Value);
    if let Some(dtype) = grammar::element_type(kind) {
        // 2021: lower-case names are element types, and numbers are `Int`, `Bool` and `Double`.
        return match tensor(dtype, recorded.dims, recorded.strides) {
            Some(tensor) => Ok(Argument::Tensor(tensor)),
            None => refused(format!("the shape of argument {index} is not readable"), ANOTHER),
        };
    }
    match kind {
        "" => Ok(Argument::Absent),
        "Scalar" => Ok(value(Kind::Any)),
        "Int" => Ok(value(Kind::Whole)),
        "Bool" => Ok(value(Kind::Bool)),
        "Double" => Ok(value(Kind::Real)),
        "TensorList" => tensors(recorded),
        "GenericList" if is_nested(recorded.dims) => tensors(recorded),
        "ScalarList" | "GenericList" => numbers(index, concrete),
        other => refused(
            format!("the type of argument {index} is unknown: {}", grammar::text(other)),
            "choose a call around it or inside it",
        ),
    }
}

fn is_nested(dims: &Value) -> bool {
    dims.as_array().is_some_and(|list| list.iter().any(Value::is_array))
}

fn tensors(recorded: &Recorded<'_>) -> Result<Argument, Refused> {
    let index = recorded.index;
    let items = recorded.dims.as_array().filter(|items| !items.is_empty());
    let Some(items) = items.filter(|items| items.len() <= LONGEST_LIST) else {
        let reason = format!("the shapes of the tensor list in argument {index} are not recorded");
        return refused(reason, "profilers leave out long lists; choose a call inside it");
    };
    let strides = |at: usize| recorded.strides.get(at).unwrap_or(&Value::Null);
    let parsed = items
        .iter()
        .enumerate()
        .map(|(at, dims)| tensor(recorded.list_type, dims, strides(at)))
        .collect::<Option<Vec<Tensor>>>();
    match parsed {
        Some(tensors) => Ok(Argument::Tensors(tensors)),
        None => refused(format!("a shape in argument {index} is not readable"), ANOTHER),
    }
}

fn numbers(index: usize, concrete: &str) -> Result<Argument, Refused> {
    let Some(inner) = concrete.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))
    else {
        return Ok(Argument::Unknown(Kind::List));
    };
    if inner.trim().is_empty() {
        return Ok(Argument::List(Vec::new()));
    }
    let numbers = inner.split(',').take(LONGEST_LIST).map(Number::parse).collect();
    match numbers {
        Some(numbers) => Ok(Argument::List(numbers)),
        None => refused(format!("the list in argument {index} is not readable"), ANOTHER),
    }
}

fn sizes(list: &Value) -> Option<Vec<u64>> {
    list.as_array()?.iter().map(grammar::size).collect()
}

fn tensor(dtype: &'static str, dims: &Value, strides: &Value) -> Option<Tensor> {
    let dims = sizes(dims)?;
    let strides = sizes(strides).filter(|strides| strides.len() == dims.len());
    // A tensor without dimensions has no strides to assume.
    let strides = strides.or_else(|| dims.is_empty().then(Vec::new));
    Some(Tensor { dtype, dims, strides })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn one(kind: &str, dims: &Value, concrete: &str) -> Result<Argument, Refused> {
        let strides = &Value::Null;
        argument(&Recorded { index: 0, kind, dims, strides, concrete, list_type: "float32" })
    }

    #[test]
    fn each_kind_of_argument_is_a_literal() {
        let cases = [
            ("float", json!([2, 3]), "", "(\"tensor\", \"float32\", [2, 3], None)"),
            ("double", json!([]), "", "(\"tensor\", \"float64\", [], [])"),
            ("Scalar", json!([]), "1.5", "(\"value\", 1.5)"),
            ("Scalar", json!([]), "", "(\"unknown\", \"number\")"),
            ("Bool", json!([]), "", "(\"unknown\", \"bool\")"),
            ("ScalarList", json!([]), "[1, 2]", "(\"list\", [1, 2])"),
            ("ScalarList", json!([]), "[]", "(\"list\", [])"),
            ("GenericList", json!([]), "", "(\"unknown\", \"list\")"),
            (
                "TensorList",
                json!([[2], [3]]),
                "",
                "(\"tensors\", [(\"float32\", [2], None), (\"float32\", [3], None)])",
            ),
            ("", json!([]), "", "(\"absent\",)"),
        ];
        for (kind, dims, concrete, literal) in cases {
            assert_eq!(
                one(kind, &dims, concrete).map(|argument| argument.to_string()).as_deref(),
                Ok(literal)
            );
        }
    }

    #[test]
    fn hostile_arguments_are_refused_or_unknown() {
        for dims in [
            json!([-1]),
            json!([1_u64 << 60]),
            json!(["2"]),
            json!([2.5]),
            json!([true]),
            json!({"a": 1}),
        ] {
            assert!(one("float", &dims, "").is_err(), "{dims}");
        }
        for (kind, concrete) in
            [("os.system", "x"), ("ScalarList", "[1, __import__('os')]"), ("TensorList", "")]
        {
            assert!(one(kind, &json!([]), concrete).is_err(), "{kind}");
        }
        for concrete in ["__import__('os')", "1;2", "0x10"] {
            assert_eq!(one("Scalar", &json!([]), concrete), Ok(Argument::Unknown(Kind::Any)));
        }
    }
}
