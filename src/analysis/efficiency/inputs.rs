//! Parses the argument strings of an op into tensors (shapes, strides, types) and scalar values.
//!
//! ```text
//! Input Dims       [[8, 64], [[32], [32]], [], []]
//! Input type       ["float", "TensorList", "double", "Scalar"]
//! Concrete Inputs  ["", "", "", "-1"]
//!                  tensor    list        0-dim      value
//! ```
//! If an argument contains an unreadable value, such as a symbolic size or a list instead of a number, only this
//! argument is unknown. An efficiency model that needs an unknown argument returns nothing.

use super::dtype::Dtype;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tensor {
    pub(super) dims: Vec<u64>,
    /// Stride of each dimension; `None` if not recorded.
    strides: Option<Vec<i64>>,
    /// Element type; `None` if unknown.
    pub(super) dtype: Option<Dtype>,
}

impl Tensor {
    /// Number of elements. The result is a float, because the product of the sizes may exceed 64 bits.
    pub(super) fn elements(&self) -> f64 {
        product(&self.dims)
    }

    /// Number of distinct elements in memory. A broadcast dimension (stride 0) counts as a single element. If parts of
    /// the tensor overlap, as in a sliding window, the result is at most the number of elements that the tensor spans
    /// in memory.
    pub(super) fn distinct(&self) -> f64 {
        let Some(strides) = &self.strides else { return self.elements() };
        let pairs = || self.dims.iter().zip(strides);
        let moved: f64 =
            pairs().filter(|(_, stride)| **stride != 0).map(|(d, _)| *d as f64).product();
        let span: f64 =
            pairs().map(|(d, stride)| (*d as f64 - 1.0) * stride.unsigned_abs() as f64).sum();
        if self.elements() == 0.0 { 0.0 } else { moved.min(span + 1.0) }
    }

    /// Number of bytes moved to read the tensor once; `None` if the type is unknown.
    pub(super) fn read(&self) -> Option<f64> {
        Some(self.distinct() * f64::from(self.dtype?.bytes))
    }

    /// Number of bytes moved to write all elements of the tensor once; `None` if the type is unknown.
    pub(super) fn written(&self) -> Option<f64> {
        Some(self.elements() * f64::from(self.dtype?.bytes))
    }

    /// A copy of the tensor. If the type of the tensor is unknown, the copy has the type `dtype`.
    pub(super) fn or_dtype(&self, dtype: Option<Dtype>) -> Tensor {
        Tensor { dtype: self.dtype.or(dtype), ..self.clone() }
    }
}

pub(super) fn product(dims: &[u64]) -> f64 {
    dims.iter().map(|&size| size as f64).product()
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Input {
    Tensor(Tensor),
    List(Vec<Tensor>),
    /// An argument that is a scalar, a list of scalars, or absent.
    Value,
    /// A tensor argument whose shape is unreadable.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Inputs {
    list: Vec<Input>,
    concrete: Vec<String>,
}

impl Inputs {
    /// Parses the four strings that a trace records about the arguments of an op. Each string is a JSON list or empty.
    /// Returns `None` if no shapes were recorded.
    pub(super) fn parse(dims: &str, types: &str, strides: &str, concrete: &str) -> Option<Inputs> {
        let dims = json_list(dims).filter(|dims| !dims.is_empty())?;
        let types = json_list(types).unwrap_or_default();
        let strides = json_list(strides).unwrap_or_default();
        let list = dims
            .iter()
            .enumerate()
            .map(|(at, dims)| input(dims, types.get(at), strides.get(at)))
            .collect();
        let concrete = json_list(concrete).unwrap_or_default();
        Some(Inputs { list, concrete: concrete.iter().map(text).collect() })
    }

    pub(super) fn at(&self, at: usize) -> &Input {
        self.list.get(at).unwrap_or(&Input::Value)
    }

    /// The tensor at an argument position; `None` if the argument is not a tensor.
    pub(super) fn tensor(&self, at: usize) -> Option<&Tensor> {
        match self.at(at) {
            Input::Tensor(tensor) => Some(tensor),
            Input::List(_) | Input::Value | Input::Unknown => None,
        }
    }

    /// The tensors of a list argument, or a single tensor argument; `None` if the argument is neither.
    pub(super) fn tensors(&self, at: usize) -> Option<&[Tensor]> {
        match self.at(at) {
            Input::Tensor(tensor) => Some(std::slice::from_ref(tensor)),
            Input::List(tensors) => Some(tensors),
            Input::Value | Input::Unknown => None,
        }
    }

    pub(super) fn positions(&self) -> std::ops::Range<usize> {
        0..self.list.len()
    }

    /// The recorded value of an argument; empty if no value was recorded.
    pub(super) fn concrete(&self, at: usize) -> &str {
        self.concrete.get(at).map_or("", String::as_str)
    }

    /// The integers in an argument, which is a list or a single integer.
    pub(super) fn integers(&self, at: usize) -> Option<Vec<i64>> {
        let text = self.concrete(at).trim_matches(['[', ']']).trim();
        let numbers = text.split(',').map(str::trim).filter(|number| !number.is_empty());
        let numbers: Option<Vec<i64>> = numbers.map(|number| number.parse().ok()).collect();
        numbers.filter(|_| !self.concrete(at).is_empty())
    }

    /// Whether scalar values were recorded, which is not the case in traces from before 2023.
    pub(super) fn has_values(&self) -> bool {
        !self.concrete.is_empty()
    }

    pub(super) fn integer(&self, at: usize) -> Option<i64> {
        self.concrete(at).parse().ok()
    }

    /// The value of the flag at an argument position. A number, such as `custom_mask_type`, counts as a flag that is
    /// set unless the number is 0.
    pub(super) fn flag(&self, at: usize) -> Option<bool> {
        flag_of(self.concrete(at)).or_else(|| self.integer(at).map(|number| number != 0))
    }
}

pub(super) fn flag_of(text: &str) -> Option<bool> {
    match text {
        "True" | "true" => Some(true),
        "False" | "false" => Some(false),
        _ => None,
    }
}

fn json_list(text: &str) -> Option<Vec<Value>> {
    match serde_json::from_str(text).ok()? {
        Value::Array(list) => Some(list),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            None
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn input(dims: &Value, dtype: Option<&Value>, strides: Option<&Value>) -> Input {
    let list: &[Value] = dims.as_array().map_or(&[], Vec::as_slice);
    let name = dtype.and_then(Value::as_str).unwrap_or_default();
    if list.iter().any(Value::is_array) {
        let at = |list: Option<&'_ Value>, at: usize| list.and_then(|list| list.get(at)).cloned();
        let tensors = list
            .iter()
            .enumerate()
            .map(|(item, dims)| tensor(dims, at(dtype, item).as_ref(), at(strides, item).as_ref()));
        return tensors.collect::<Option<Vec<Tensor>>>().map_or(Input::Unknown, Input::List);
    }
    // If the type is a tensor type, an empty list of sizes means a tensor without dimensions. Otherwise, it means a
    // scalar, or a list of tensors that was not recorded.
    if list.is_empty() && Dtype::parse(name).is_none() {
        return if name == "TensorList" { Input::Unknown } else { Input::Value };
    }
    tensor(dims, dtype, strides).map_or(Input::Unknown, Input::Tensor)
}

fn tensor(dims: &Value, dtype: Option<&Value>, strides: Option<&Value>) -> Option<Tensor> {
    let dims: Vec<u64> = dims.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
    let strides = strides.and_then(Value::as_array);
    let strides: Option<Vec<i64>> =
        strides.and_then(|list| list.iter().map(Value::as_i64).collect());
    Some(Tensor {
        strides: strides.filter(|strides| strides.len() == dims.len()),
        dims,
        dtype: dtype.and_then(Value::as_str).and_then(Dtype::parse),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(dims: &str, types: &str, strides: &str) -> Inputs {
        Inputs::parse(dims, types, strides, "").expect("shapes")
    }

    #[test]
    fn calls_without_shapes_have_no_inputs() {
        for dims in ["", "[]", "{}", "null", "[[1, 2"] {
            assert_eq!(Inputs::parse(dims, "[]", "[]", "[]"), None, "{dims}");
        }
    }

    #[test]
    fn nested_lists_are_lists_of_tensors() {
        let inputs =
            read("[[[2, 3], [4]], []]", r#"["TensorList", "Scalar"]"#, "[[[3, 1], [1]], []]");
        let sizes: Vec<f64> =
            inputs.tensors(0).expect("a list").iter().map(Tensor::elements).collect();
        assert_eq!(sizes, [6.0, 4.0]);
        assert_eq!((inputs.tensor(0), inputs.at(1)), (None, &Input::Value));
        // No op takes a list of lists of tensors.
        assert_eq!(read("[[[[1]]]]", r#"["TensorList"]"#, "").at(0), &Input::Unknown);
    }

    #[test]
    fn a_symbolic_size_makes_only_its_own_argument_unknown() {
        let inputs = read(r#"[["s0", 4], [-1, 4], [4, 4]]"#, r#"["float", "float", "float"]"#, "");
        assert_eq!((inputs.at(0), inputs.at(1)), (&Input::Unknown, &Input::Unknown));
        assert_eq!(inputs.tensor(2).map(Tensor::elements), Some(16.0));
    }

    #[test]
    fn a_tensor_without_dimensions_has_one_element_and_a_scalar_is_not_a_tensor() {
        let inputs = read("[[], [], []]", r#"["double", "Scalar", "Int"]"#, "");
        assert_eq!(inputs.tensor(0).map(Tensor::elements), Some(1.0));
        assert_eq!((inputs.at(1), inputs.at(2)), (&Input::Value, &Input::Value));
    }

    #[test]
    fn a_broadcast_dimension_is_read_once() {
        let inputs =
            read("[[10, 512, 7, 7], [4, 3]]", r#"["float", "float"]"#, "[[512, 1, 0, 0], [1, 1]]");
        let broadcast = inputs.tensor(0).expect("a tensor");
        assert_eq!((broadcast.elements(), broadcast.distinct()), (250_880.0, 5120.0));
        assert_eq!(inputs.tensor(1).map(Tensor::distinct), Some(6.0), "overlapping windows");
    }

    #[test]
    fn an_unknown_type_has_elements_and_no_bytes() {
        let inputs = read("[[4, 4]]", r#"["my::Type"]"#, "");
        let tensor = inputs.tensor(0).expect("a tensor");
        assert_eq!((tensor.elements(), tensor.read()), (16.0, None));
    }

    #[test]
    fn sizes_beyond_64_bits_do_not_wrap() {
        let inputs = read("[[4294967296, 4294967296, 4294967296]]", r#"["float"]"#, "");
        let elements = inputs.tensor(0).map(Tensor::elements);
        assert_eq!(elements, Some(2.0_f64.powi(96)));
    }

    #[test]
    fn values_are_read_as_numbers_lists_and_flags() {
        let concrete = r#"["[1, -2]", "3", "True", "", "[]", "1.5"]"#;
        let inputs = Inputs::parse("[[1]]", "[]", "[]", concrete).expect("shapes");
        assert_eq!(inputs.integers(0), Some(vec![1, -2]));
        assert_eq!((inputs.integers(1), inputs.integers(3)), (Some(vec![3]), None));
        assert_eq!((inputs.integers(4), inputs.integers(5)), (Some(vec![]), None));
        assert_eq!(
            (inputs.flag(2), inputs.flag(1), inputs.flag(3)),
            (Some(true), Some(true), None)
        );
    }
}
