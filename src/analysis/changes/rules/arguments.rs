//! Creates the changes for matched ops whose arguments differ between the sides: changes of precision, shapes, memory
//! format, optional tensors, or other argument values.

use super::parameters;
use crate::analysis::changes::draft::{Drafts, Operand, Switched};
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::place::either;
use crate::analysis::changes::subject::Subject;
use crate::analysis::changes::survey::{autograd_node, is_in_optimizer};
use crate::analysis::wall::Wall;
use crate::diff::{MergedId, TraceDiff};
use crate::program::StepId;
use crate::side::{PerSide, Side};
use crate::trace::Argument;
use crate::tree::{CallId, CallTree};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// The name of the parameter whose values are element types.
pub(super) const SCALAR_TYPE: &str = "dtype";

/// Names of ops that allocate or rearrange tensors; the `_` suffix of in-place variants is omitted. The
/// argument values of allocating and rearranging ops follow from the sizes of other tensors.
const ARRANGING: [&str; 26] = [
    "aten::_reshape_alias",
    "aten::_unsafe_view",
    "aten::arange",
    "aten::as_strided",
    "aten::chunk",
    "aten::detach",
    "aten::empty",
    "aten::empty_like",
    "aten::empty_strided",
    "aten::expand",
    "aten::fill",
    "aten::full",
    "aten::narrow",
    "aten::new_zeros",
    "aten::permute",
    "aten::reshape",
    "aten::resize",
    "aten::select",
    "aten::set",
    "aten::slice",
    "aten::split",
    "aten::transpose",
    "aten::unbind",
    "aten::unsqueeze",
    "aten::view",
    "aten::zeros",
];

pub(super) fn claim(drafts: &mut Drafts<'_>, node: MergedId, other: &[Argument], values: &Values) {
    let diff = drafts.diff;
    let texts = |which| PerSide::from_fn(|side| text(diff, node, side, which));
    let has = |which: &Argument| other.contains(which);
    let types = has(&Argument::Type).then(|| other_type(&texts(Argument::Type))).flatten();
    let covering = drafts.covering(node);
    if let Some(at) = covering {
        let is_of_shapes = drafts.all()[at].kind == ChangeKind::Shapes;
        if !is_of_shapes || types.is_none() {
            drafts.add_site(at, node);
            // A consequence explains other kernels, but never another setting that was recorded.
            let settings = values.lasting(node).filter(|value| value.switched().is_some());
            settings.for_each(|value| claim_value(drafts, node, value));
            return;
        }
    }
    // A changed model parameter, such as the number of layers, explains why sizes differ.
    let explains_sizes = |value: &&Value| {
        value.parameter().is_some_and(|parameter| parameters::OF_WEIGHTS.contains(&parameter))
    };
    let sizing = has(&Argument::Shape).then(|| values.lasting(node).find(explains_sizes)).flatten();
    if let Some(value) = sizing {
        claim_value(drafts, node, value);
        if let Some(types) = &types {
            claim_types(drafts, node, types);
        }
        return;
    }
    let is_claimed = claim_tensors(drafts, node, other, types.as_ref());
    let other = values.lasting(node).filter(|value| !is_claimed || value.is_of_its_own());
    other.for_each(|value| claim_value(drafts, node, value));
}

/// If the types, shapes or memory formats of an op's tensors differ, assigns the op to a change and returns true.
fn claim_tensors(
    drafts: &mut Drafts<'_>,
    node: MergedId,
    other: &[Argument],
    types: Option<&(String, String)>,
) -> bool {
    let texts = |which| PerSide::from_fn(|side| text(drafts.diff, node, side, which));
    let has = |which: &Argument| other.contains(which);
    if let Some(types) = types {
        claim_types(drafts, node, types);
    }
    let is_of_types = types.is_some();
    let sizes =
        if has(&Argument::Shape) { other_sizes(&texts(Argument::Shape)) } else { Vec::new() };
    if is_of_types && sizes.is_empty() {
        return true;
    }
    let tensor = has(&Argument::Type).then(|| other_tensor(&texts(Argument::Type))).flatten();
    let is_updating = is_in_optimizer(drafts.diff, node);
    if has(&Argument::Shape) && (tensor.is_none() || !sizes.is_empty()) {
        let subject = match (is_updating, sizes.is_empty() && is_reshaped(&texts(Argument::Shape)))
        {
            (true, _) => Subject::Optimizer,
            (false, true) => Subject::Reshaped,
            (false, false) => Subject::Whole,
        };
        let at = start(drafts, ChangeKind::Shapes, subject, node);
        if drafts.at(at).nodes.len() == 1 {
            let op = op_name(drafts.diff, node);
            drafts.at(at).operand = other_operand(&op, &texts(Argument::Shape));
        }
        for &size in &sizes {
            *drafts.at(at).sizes.entry(size).or_default() += 1;
        }
    }
    if let Some(side) = tensor.filter(|_| sizes.is_empty() || !is_updating) {
        let at = start(drafts, ChangeKind::Arguments, Subject::Tensors, node);
        let name = op_name(drafts.diff, node);
        drafts.at(at).name(side, &name);
        return true;
    }
    if has(&Argument::Shape) {
        return true;
    }
    if has(&Argument::Strides)
        && let Some((one, two)) = other_format(&texts(Argument::Shape), &texts(Argument::Strides))
    {
        let at = start(drafts, ChangeKind::MemoryFormat, Subject::Whole, node);
        drafts.at(at).pair(one, two);
    } else {
        return false;
    }
    true
}

fn claim_types(drafts: &mut Drafts<'_>, node: MergedId, (one, two): &(String, String)) {
    let at = start(drafts, ChangeKind::Precision, Subject::types(one, two), node);
    drafts.at(at).pair(one, two);
}

fn claim_value(drafts: &mut Drafts<'_>, node: MergedId, value: &Value) {
    // Several ops record the same setting.
    let subject = value.switched().map_or_else(
        || format!("{} {}", value.op, value.position),
        |switched| switched.name.to_owned(),
    );
    let at = start(drafts, ChangeKind::Arguments, Subject::Argument(subject), node);
    let draft = drafts.at(at);
    let name = |text| match value.parameter() {
        _ if value.is_type => parameters::scalar_type(text),
        Some(parameter) => parameters::value(&value.op, parameter, text),
        None => text,
    };
    draft.pair(name(&value.one), name(&value.two));
    draft.name(Side::Baseline, &value.op);
    draft.parameter = if value.is_type { Some(SCALAR_TYPE) } else { value.parameter() };
    draft.switched = value.switched();
}

/// Finds the first optional tensor that only one side passes, and returns this side.
fn other_tensor(texts: &PerSide<&str>) -> Option<Side> {
    let [one, two] = Side::BOTH.map(|side| list(texts[side]));
    let is_tensor = |text: &str| !text.is_empty() && !text.contains("Scalar");
    if one.len() != two.len() {
        return None;
    }
    one.iter().zip(&two).find_map(|(one, two)| match (one.as_str(), two.as_str()) {
        (one, "") if is_tensor(one) => Some(Side::Baseline),
        ("", two) if is_tensor(two) => Some(Side::Candidate),
        _ => None,
    })
}

fn op_name(diff: &TraceDiff, node: MergedId) -> String {
    let (side, call) = either(diff, node);
    diff.tree(side).name(call).to_owned()
}

/// An argument value that differs between the two sides of a matched op.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Value {
    op: String,
    position: usize,
    /// Whether the value is the number of an element type.
    is_type: bool,
    one: String,
    two: String,
}

/// The argument values that differ, each with the steps in which it differs. Many values vary from step to step or by
/// chance, so a value counts as changed only if it differs in the same way in every compared step.
#[derive(Debug, Default)]
pub(super) struct Values {
    of_nodes: BTreeMap<MergedId, Vec<Value>>,
    steps: BTreeMap<Value, BTreeSet<Option<StepId>>>,
    compared: u64,
}

impl Values {
    pub(super) fn of(diff: &TraceDiff, wall: &Wall, facts: &[(MergedId, Vec<Argument>)]) -> Values {
        let compared = wall.totals(Side::Baseline).steps;
        let mut values = Values { compared, ..Values::default() };
        for (node, other) in facts {
            let is_like = !other.contains(&Argument::Shape) && !other.contains(&Argument::Type);
            if !other.contains(&Argument::Concrete) || is_in_optimizer(diff, *node) {
                continue;
            }
            let call = diff.merged().node(*node).call(Side::Baseline);
            let step = call.and_then(|call| diff.steps(Side::Baseline).step(call));
            let mut other = Values::all(diff, *node);
            // If sizes or types differ, they explain all other argument values that differ, except the values of known
            // model parameters.
            other.retain(|value| is_like || value.is_of_its_own());
            for value in &other {
                values.steps.entry(value.clone()).or_default().insert(step);
            }
            values.of_nodes.insert(*node, other);
        }
        values
    }

    /// The argument values that differ between the two sides of a matched op.
    fn all(diff: &TraceDiff, node: MergedId) -> Vec<Value> {
        let op = op_name(diff, node);
        if ARRANGING.contains(&op.trim_end_matches('_')) {
            return Vec::new();
        }
        let [one, two] = Side::BOTH.map(|side| list(text(diff, node, side, Argument::Concrete)));
        let count = one.len();
        let size = head_size(&op, text(diff, node, Side::Baseline, Argument::Shape));
        let pairs = one.into_iter().zip(two).enumerate();
        let other = pairs.filter(|(position, (one, two))| {
            let is_scale = || parameters::name(&op, *position) == Some("scale");
            one != two && !(is_scale() && is_same_scale(one, two, size))
        });
        let value = |(position, (one, two))| {
            let is_type = parameters::is_scalar_type(&op, position, count);
            Value { op: op.clone(), position, is_type, one, two }
        };
        other.map(value).collect()
    }

    /// The argument values that differ between the two sides of a matched op in every compared step. If only one step
    /// is compared, it is unknown which numbers vary from step to step, so a number counts only if it is the value of a
    /// known model parameter.
    fn lasting(&self, node: MergedId) -> impl Iterator<Item = &Value> {
        let is_number = |text: &str| text.parse::<f64>().is_ok();
        let is_lasting = move |value: &&Value| match self.compared {
            0 | 1 => {
                value.is_of_its_own()
                    || value.is_type
                    || !(is_number(&value.one) && is_number(&value.two))
            }
            compared => self.steps[*value].len() as u64 >= compared,
        };
        self.of_nodes.get(&node).into_iter().flatten().filter(is_lasting)
    }
}

impl Value {
    /// Whether the value never follows from the sizes or types of the tensors: a parameter of the model, or a setting.
    fn is_of_its_own(&self) -> bool {
        self.parameter().is_some() || self.switched().is_some()
    }

    fn parameter(&self) -> Option<&'static str> {
        parameters::name(&self.op, self.position)
    }

    /// The library setting that this argument value comes from, if any. Convolutions record some library settings as
    /// arguments.
    fn switched(&self) -> Option<Switched> {
        let name = switched(&self.op, self.position)?;
        Some(Switched { name, values: PerSide::new(self.one.clone(), self.two.clone()) })
    }
}

/// The library setting that an op records as the argument at a position, if any.
pub(super) fn switched(op: &str, position: usize) -> Option<&'static str> {
    Some(match (op, position) {
        ("aten::_convolution", 9) | ("aten::cudnn_convolution", 6) => "cudnn.benchmark",
        ("aten::_convolution", 10) | ("aten::cudnn_convolution", 7) => "cudnn.deterministic",
        ("aten::_convolution", 11) => "cudnn.enabled",
        ("aten::_convolution", 12) | ("aten::cudnn_convolution", 8) => "cudnn.allow_tf32",
        _ => return None,
    })
}

/// Starts a change at ops whose cost belongs to another change; `None` if the change is already known.
pub(super) fn start_apart(
    drafts: &mut Drafts<'_>,
    kind: ChangeKind,
    subject: Subject,
    nodes: &[MergedId],
) -> Option<usize> {
    let at = drafts.draft(kind, subject);
    if drafts.resolve(at) != at || !drafts.at(at).nodes.is_empty() {
        return None;
    }
    drafts.at(at).nodes = nodes.to_vec();
    drafts.at(at).has_forward = true;
    Some(at)
}

fn start(drafts: &mut Drafts<'_>, kind: ChangeKind, subject: Subject, node: MergedId) -> usize {
    let diff = drafts.diff;
    let at = drafts.draft(kind, subject);
    if drafts.at(at).nodes.is_empty() {
        drafts.at(at).position = drafts.position_at(node);
    }
    let is_backward = autograd_node(diff, node).is_some();
    drafts.at(at).has_forward |= !is_backward;
    drafts.at(at).has_backward |= is_backward;
    drafts.add_site(at, node);
    at
}

fn text(diff: &TraceDiff, node: MergedId, side: Side, which: Argument) -> &str {
    let tree = diff.tree(side);
    let call = diff.merged().node(node).call(side);
    call.map_or("", |call| recorded(tree, call, which))
}

/// What was recorded about the arguments of a call; empty if nothing was.
pub(super) fn recorded(tree: &CallTree, call: CallId, which: Argument) -> &str {
    let arguments = tree.arguments(call);
    arguments.map_or("", |arguments| tree.trace().text(arguments.text(which)))
}

/// The texts of a recorded list; none if the text is not such a list.
pub(super) fn list(text: &str) -> Vec<String> {
    serde_json::from_str(text).unwrap_or_default()
}

/// Finds the first argument whose floating-point type differs between the sides, and returns both types.
fn other_type(texts: &PerSide<&str>) -> Option<(String, String)> {
    let [one, two] = Side::BOTH.map(|side| list(texts[side]));
    let mut pairs =
        one.iter().zip(&two).filter_map(|(a, b)| Some((plain_type(a)?, plain_type(b)?)));
    pairs.find(|(a, b)| a != b).map(|(a, b)| (a.to_owned(), b.to_owned()))
}

/// `c10::BFloat16` → `bfloat16`; `None` for types that are not floating-point numbers.
pub(in crate::analysis::changes) fn plain_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "float" => "float32",
        "double" => "float64",
        "c10::Half" => "float16",
        "c10::BFloat16" => "bfloat16",
        name if name.starts_with("c10::Float8") => "float8",
        name if name.starts_with("c10::Float4") => "float4",
        _ => return None,
    })
}

/// The dimensions whose sizes differ, each with its sizes on both sides. Two tensors with a different number of
/// dimensions are ignored.
fn other_sizes(texts: &PerSide<&str>) -> Vec<(usize, u64, u64)> {
    let [one, two] = Side::BOTH.map(|side| tensors(texts[side]));
    let sizes = one
        .iter()
        .zip(&two)
        .filter(|(a, b)| a.len() == b.len() && !is_same_size(a, b))
        .flat_map(|(a, b)| a.iter().zip(b).enumerate());
    // A size of 0 is ignored: it means an empty tensor, which counts as a missing tensor.
    let other = sizes.filter(|(_, (a, b))| a != b && **a > 0 && **b > 0);
    other.map(|(at, (&a, &b))| (at, a as u64, b as u64)).collect()
}

/// Whether one shape becomes the other if dimensions are permuted, or dimensions of size 1 are inserted or removed.
fn is_same_size(one: &[i64], two: &[i64]) -> bool {
    let plain = |sizes: &[i64]| {
        let mut sizes: Vec<i64> = sizes.iter().copied().filter(|&size| size != 1).collect();
        sizes.sort_unstable();
        sizes
    };
    plain(one) == plain(two)
}

/// Whether each tensor has the same size on both sides, but in other dimensions.
fn is_reshaped(texts: &PerSide<&str>) -> bool {
    let [one, two] = Side::BOTH.map(|side| tensors(texts[side]));
    one.len() == two.len() && one.iter().zip(&two).all(|(one, two)| is_same_size(one, two))
}

/// The first operand with a known name whose size differs, if all operands before it have the same size.
fn other_operand(op: &str, texts: &PerSide<&str>) -> Option<Operand> {
    let of = |side: Side| -> Option<Vec<Vec<i64>>> { serde_json::from_str(texts[side]).ok() };
    let (one, two) = (of(Side::Baseline)?, of(Side::Candidate)?);
    let mut pairs = one.iter().zip(&two).enumerate();
    let (at, (one, two)) = pairs.find(|(_, (one, two))| one != two)?;
    let name = parameters::operand(op, at)?;
    // Only the size of a kernel differs in the last dimensions of its weight.
    let is_kernel = one.len() > 2 && one.len() == two.len() && one[..2] == two[..2];
    let shown = |sizes: &[i64]| {
        let sizes = if is_kernel { &sizes[2..] } else { sizes };
        sizes.iter().map(i64::to_string).collect::<Vec<String>>().join("×")
    };
    Some(Operand { name, is_kernel, sizes: PerSide::new(shown(one), shown(two)) })
}

/// The size of an attention head: the last dimension of the query.
fn head_size(op: &str, shapes: &str) -> Option<f64> {
    let is_attention = op.contains("scaled_dot_product");
    let query = tensors(shapes).into_iter().next().filter(|_| is_attention)?;
    query.last().map(|&size| size as f64)
}

/// Whether two scales of attention are the same: without a scale, attention divides by the root of the head size.
fn is_same_scale(one: &str, two: &str, head_size: Option<f64>) -> bool {
    let usual = head_size.map(|size| size.sqrt().recip());
    let scale = |text: &str| if text.is_empty() { usual } else { text.parse().ok() };
    scale(one).zip(scale(two)).is_some_and(|(one, two)| (one - two).abs() < 1e-9)
}

/// The sizes or strides of each tensor, including the tensors in lists.
fn tensors(text: &str) -> Vec<Vec<i64>> {
    fn collect(value: &Json, all: &mut Vec<Vec<i64>>) {
        let Some(list) = value.as_array() else { return };
        match list.iter().map(Json::as_i64).collect::<Option<Vec<i64>>>() {
            Some(sizes) => all.push(sizes),
            None => list.iter().for_each(|value| collect(value, all)),
        }
    }
    let mut all = Vec::new();
    collect(&serde_json::from_str(text).unwrap_or_default(), &mut all);
    all
}

/// Finds the first tensor with at least three dimensions whose order of strides differs between the sides, and returns
/// both memory formats.
fn other_format(
    shapes: &PerSide<&str>,
    strides: &PerSide<&str>,
) -> Option<(&'static str, &'static str)> {
    let of = |side: Side| -> Vec<Option<&'static str>> {
        let (shapes, strides) = (tensors(shapes[side]), tensors(strides[side]));
        shapes.iter().zip(&strides).map(|(sizes, strides)| format(sizes, strides)).collect()
    };
    let (one, two) = (of(Side::Baseline), of(Side::Candidate));
    let mut pairs = one.into_iter().zip(two).filter_map(|(a, b)| Some((a?, b?)));
    pairs.find(|(a, b)| a != b)
}

fn format(sizes: &[i64], strides: &[i64]) -> Option<&'static str> {
    if sizes.len() != strides.len() || sizes.len() < 2 {
        return None;
    }
    let is_dense = |order: &[usize]| {
        let mut expected = 1;
        order.iter().all(|&at| {
            let is_next = strides[at] == expected || sizes[at] == 1;
            expected *= sizes[at];
            is_next
        })
    };
    let rows: Vec<usize> = (0..sizes.len()).rev().collect();
    if is_dense(&rows) {
        return Some("contiguous");
    }
    let channels: Vec<usize> =
        std::iter::once(1).chain((2..sizes.len()).rev()).chain([0]).collect();
    if sizes.len() >= 4 && is_dense(&channels) { Some("channels_last") } else { Some("strided") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_compared_by_position() {
        let texts = PerSide::new(
            r#"["Scalar", "float", "long int"]"#,
            r#"["Scalar", "c10::BFloat16", "long int"]"#,
        );
        assert_eq!(other_type(&texts), Some(("float32".to_owned(), "bfloat16".to_owned())));
        assert_eq!(other_type(&PerSide::new(r#"["long int"]"#, r#"["float"]"#)), None);
    }

    #[test]
    fn an_optional_tensor_is_passed_by_one_side_only() {
        let texts = PerSide::new(r#"["float", "float", ""]"#, r#"["float", "float", "float"]"#);
        assert_eq!(other_tensor(&texts), Some(Side::Candidate));
        assert_eq!(other_tensor(&texts.swap()), Some(Side::Baseline));
        assert_eq!(other_tensor(&PerSide::new(r#"["", ""]"#, r#"["", "Scalar"]"#)), None);
        assert_eq!(other_tensor(&PerSide::new(r#"[""]"#, r#"["", "float"]"#)), None);
    }

    #[test]
    fn sizes_are_compared_by_dimension() {
        let texts = PerSide::new("[[8, 64], [], [[3]]]", "[[16, 64], [], [[4]]]");
        assert_eq!(other_sizes(&texts), [(0, 8, 16), (0, 3, 4)]);
        assert_eq!(other_sizes(&PerSide::new("[[8, 64]]", "[[8]]")), []);
    }

    #[test]
    fn a_size_in_other_dimensions_is_a_reshape() {
        let texts = PerSide::new("[[1, 1, 24]]", "[[1, 24, 1]]");
        assert_eq!((other_sizes(&texts), is_reshaped(&texts)), (Vec::new(), true));
        let texts = PerSide::new("[[1, 2, 24]]", "[[1, 24, 4]]");
        assert_eq!((other_sizes(&texts).len(), is_reshaped(&texts)), (2, false));
    }

    #[test]
    fn the_operand_whose_size_differs_is_named() {
        let of = |one, two| other_operand("aten::conv2d", &PerSide::new(one, two));
        let weight = of("[[8, 3, 9, 9], [4, 3, 3, 3]]", "[[8, 3, 9, 9], [4, 3, 5, 5]]");
        let weight = weight.expect("the weight differs");
        let sizes = PerSide::new("3×3".to_owned(), "5×5".to_owned());
        assert_eq!((weight.name, weight.is_kernel, weight.sizes), ("weight", true, sizes));
        assert!(of("[[8, 3, 9, 9], [4, 3, 3, 3]]", "[[16, 3, 9, 9], [4, 3, 3, 3]]").is_none());
    }

    #[test]
    fn the_usual_scale_of_attention_equals_none() {
        assert!(is_same_scale("", "0.125", Some(64.0)));
        assert!(!is_same_scale("", "0.25", Some(64.0)));
        assert!(!is_same_scale("", "0.125", None));
    }

    #[test]
    fn a_format_is_the_order_of_the_strides() {
        assert_eq!(format(&[2, 3, 4, 5], &[60, 20, 5, 1]), Some("contiguous"));
        assert_eq!(format(&[2, 3, 4, 5], &[60, 1, 15, 3]), Some("channels_last"));
        assert_eq!(format(&[4, 5], &[1, 4]), Some("strided"));
        assert_eq!(format(&[4], &[1]), None);
    }
}
