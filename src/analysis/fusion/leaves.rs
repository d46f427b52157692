//! Groups kernels by the op that launches them, with the properties that decide whether ops explain each
//! other.

use crate::analysis::categories::kernel_name;
use crate::analysis::{Analysis, CategoryId};
use crate::diff::is_fused;
use crate::program::Words;
use crate::side::{PerSide, Side};
use crate::trace::{ArgumentsId, TextId};
use crate::tree::{CallId, CallKind, CallTree};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::rc::Rc;

/// A leaf: an op that launches kernels, or a GPU event without an op.
#[derive(Clone)]
pub(super) struct Leaf<'a> {
    pub(super) kernels: Vec<CallId>,
    traits: Rc<Traits<'a>>,
}

/// Properties shared by all leaves with the same op, inputs and kernel names.
pub(super) struct Traits<'a> {
    /// Words of the op without its namespace, or of the kernel if there is no op.
    pub(super) op: Words,
    /// Id of the words in `op`, because leaves are compared many times.
    pub(super) op_number: u32,
    /// Words of the op and of its kernels.
    pub(super) all: Words,
    /// The names that a compiler may use for the op: its own name and those of the enclosing ops, without
    /// library words.
    pub(super) known_as: Vec<Words>,
    /// Number of elements of each input; `None` if not recorded.
    pub(super) inputs: Option<Vec<i64>>,
    /// Number of elements of the first three tensor inputs.
    tensors: Option<Vec<i64>>,
    pub(super) shapes: Option<Vec<Vec<i64>>>,
    /// Whether the op takes tensors, all of which are scalars such as counters.
    takes_numbers: bool,
    /// Whether a compiler named the op or a kernel after the ops fused into it.
    pub(super) is_generated: bool,
    pub(super) kind: &'a str,
    /// Whether the op does work in its own right, rather than auxiliary work for other ops.
    pub(super) is_specific: bool,
    pub(super) replaces: Vec<&'a str>,
}

impl<'a> Deref for Leaf<'a> {
    type Target = Traits<'a>;

    fn deref(&self) -> &Traits<'a> {
        &self.traits
    }
}

impl Leaf<'_> {
    /// Whether both leaves have the same op, by its words.
    pub(super) fn is_same_op(&self, other: &Leaf<'_>) -> bool {
        self.op_number == other.op_number
    }

    /// Whether both leaves take inputs of the same sizes; true if either side did not record the sizes.
    pub(super) fn shapes_agree(&self, other: &Leaf<'_>) -> bool {
        match (&self.tensors, &other.tensors) {
            // Only shared inputs are compared: a matrix product that writes to a preallocated output has
            // that output as an additional input.
            (Some(mine), Some(theirs)) => {
                mine.iter().zip(theirs).all(|(mine, their)| mine == their)
            }
            (None, _) | (_, None) => true,
        }
    }

    /// Whether a compiler named this leaf after several ops, including `op`.
    pub(super) fn is_named_after(&self, op: &Leaf<'_>) -> bool {
        self.is_generated && op.known_as.iter().any(|name| self.all.contain_all(name))
    }

    /// Whether a compiler may have fused `op` into this leaf: the name contains the op, the inputs are at
    /// least as large, and the kernel can reduce if the op is a reduction.
    pub(super) fn is_made_of(&self, op: &Leaf<'_>) -> bool {
        let adds_up = || op.op.all(|word| REDUCTIONS.contains(&word));
        self.is_named_after(op) && self.has_room_for(op) && !(self.all.has("poi") && adds_up())
    }

    fn has_room_for(&self, op: &Leaf<'_>) -> bool {
        let (Some(mine), Some(theirs)) = (&self.inputs, &op.inputs) else { return true };
        let largest = |inputs: &[i64]| inputs.iter().copied().max().unwrap_or(0);
        match op.takes_numbers {
            true => largest(mine) == 0,
            false => largest(mine) >= largest(theirs),
        }
    }
}

/// Names of reductions, which a pointwise kernel (`triton_poi_…`) cannot do.
const REDUCTIONS: [&str; 9] = ["all", "amax", "amin", "any", "mean", "prod", "std", "sum", "var"];

/// Words that only identify the library that implements an op.
const LIBRARIES: [&str; 5] = ["cudnn", "miopen", "mkldnn", "native", "thnn"];

/// The leaves of both sides, with cached traits.
pub(super) struct Leaves<'a> {
    analysis: &'a Analysis,
    known: RefCell<Known<'a>>,
}

#[derive(Default)]
struct Known<'a> {
    traits: FxHashMap<Likeness, Rc<Traits<'a>>>,
    numbers: Numbers,
}

/// Caches stems and op words, since kernels and ops have few distinct names.
#[derive(Default)]
struct Numbers {
    stems: PerSide<FxHashMap<TextId, Rc<str>>>,
    ops: FxHashMap<Words, u32>,
}

impl Numbers {
    fn stem(&mut self, tree: &CallTree, side: Side, kernel: CallId) -> Rc<str> {
        let stem = || kernel_name::stem(tree.name(kernel)).into();
        match tree.event(kernel) {
            Some(event) => {
                self.stems[side].entry(tree.trace().name_id(event)).or_insert_with(stem).clone()
            }
            None => stem(),
        }
    }

    fn op(&mut self, words: &Words) -> u32 {
        if let Some(&number) = self.ops.get(words) {
            return number;
        }
        let number = self.ops.len() as u32;
        self.ops.insert(words.clone(), number);
        number
    }
}

/// Key of the trait cache: leaves with equal keys have the same traits.
#[derive(PartialEq, Eq, Hash)]
struct Likeness {
    side: Side,
    category: CategoryId,
    arguments: Option<ArgumentsId>,
    /// The names of the op and the enclosing ops.
    ops: Vec<Option<TextId>>,
    kernels: Vec<Option<TextId>>,
}

impl<'a> Leaves<'a> {
    pub(super) fn new(analysis: &'a Analysis) -> Leaves<'a> {
        Leaves { analysis, known: RefCell::default() }
    }

    /// Returns one leaf for each op call, and for each event without an op.
    pub(super) fn of(&self, side: Side, kernels: &[CallId]) -> Vec<Leaf<'a>> {
        let mut groups: BTreeMap<CallId, Vec<CallId>> = BTreeMap::new();
        for &kernel in kernels {
            let call = self.analysis.op_of(side, kernel).unwrap_or(kernel);
            groups.entry(call).or_default().push(kernel);
        }
        let leaf = |(call, kernels): (CallId, Vec<CallId>)| {
            let traits = self.traits(side, call, &kernels);
            Leaf { kernels, traits }
        };
        groups.into_iter().map(leaf).collect()
    }

    fn traits(&self, side: Side, call: CallId, kernels: &[CallId]) -> Rc<Traits<'a>> {
        let tree = self.analysis.tree(side);
        let name = |call: CallId| tree.event(call).map(|event| tree.trace().name_id(event));
        let likeness = Likeness {
            side,
            category: self.analysis.category(side, kernels[0]).id,
            arguments: tree.event(call).and_then(|event| tree.trace().arguments_id(event)),
            ops: [call].into_iter().chain(ops_around(tree, call)).map(name).collect(),
            kernels: kernels.iter().map(|&kernel| name(kernel)).collect(),
        };
        let Known { traits, numbers } = &mut *self.known.borrow_mut();
        let find = || Rc::new(traits_of(self.analysis, side, call, kernels, numbers));
        traits.entry(likeness).or_insert_with(find).clone()
    }
}

/// The enclosing ops of a call, innermost first.
fn ops_around(tree: &CallTree, call: CallId) -> impl Iterator<Item = CallId> {
    tree.ancestors(call).take_while(|&above| tree.kind(above) == CallKind::Op)
}

fn traits_of<'a>(
    analysis: &'a Analysis,
    side: Side,
    call: CallId,
    kernels: &[CallId],
    numbers: &mut Numbers,
) -> Traits<'a> {
    let tree = analysis.tree(side);
    let first = numbers.stem(tree, side, kernels[0]);
    // An op on tensor lists launches many kernels with the same name.
    let name = |kernel: &CallId| tree.event(*kernel).map(|event| tree.trace().name_id(event));
    let mut distinct = kernels.to_vec();
    distinct.sort_unstable_by_key(|kernel| (name(kernel), *kernel));
    distinct.dedup_by_key(|kernel| name(kernel));
    let stems: Vec<Rc<str>> =
        distinct.iter().map(|&kernel| numbers.stem(tree, side, kernel)).collect();
    let op = match tree.kind(call) {
        CallKind::Op => tree.name(call).rsplit("::").next().unwrap_or_default(),
        CallKind::Gpu
        | CallKind::Thread
        | CallKind::Unlinked
        | CallKind::Frame
        | CallKind::Runtime => &first,
    };
    let category = analysis.category(side, kernels[0]).id;
    let shapes = shapes(analysis, side, call);
    let names = ops_around(tree, call)
        .map(|above| tree.name(above).rsplit("::").next().unwrap_or_default());
    let is_generated =
        is_fused(tree.name(call)) || distinct.iter().any(|&kernel| is_fused(tree.name(kernel)));
    let words = Words::of(op);
    let inputs: Option<Vec<i64>> =
        shapes.as_ref().map(|shapes| shapes.iter().map(|dims| elements(dims)).collect());
    Traits {
        is_generated,
        op_number: numbers.op(&words),
        op: words,
        all: Words::of(&format!("{op} {}", stems.join(" "))),
        known_as: [op]
            .into_iter()
            .chain(names)
            .map(|name| Words::of(name).without(&LIBRARIES))
            .collect(),
        takes_numbers: shapes.as_ref().is_some_and(|shapes| shapes.iter().all(Vec::is_empty))
            && takes_tensors(analysis, side, call),
        tensors: inputs.as_ref().map(|inputs| tensors(inputs)),
        inputs,
        shapes,
        kind: analysis.options().categories.name(category),
        is_specific: analysis.options().categories.is_specific(category),
        replaces: analysis.options().categories.replaced_by(category),
    }
}

/// The shape of each input of an op; a list of tensors contributes one shape per tensor.
pub(in crate::analysis) fn shapes(
    analysis: &Analysis,
    side: Side,
    call: CallId,
) -> Option<Vec<Vec<i64>>> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Input {
        Tensor(Vec<i64>),
        List(Vec<Vec<i64>>),
    }
    let tree = analysis.tree(side);
    let dims = tree.trace().text(tree.arguments(call)?.dims);
    let inputs: Vec<Input> = serde_json::from_str(dims).ok()?;
    let shapes = inputs.into_iter().flat_map(|input| match input {
        Input::Tensor(dims) => vec![dims],
        Input::List(list) => list,
    });
    Some(shapes.collect())
}

/// Whether an op has inputs that are neither plain numbers nor missing.
fn takes_tensors(analysis: &Analysis, side: Side, call: CallId) -> bool {
    let tree = analysis.tree(side);
    let types = tree.arguments(call).map_or("", |arguments| tree.trace().text(arguments.types));
    let types: Vec<&str> = serde_json::from_str(types).unwrap_or_default();
    types.iter().any(|name| !["", "Scalar", "ScalarList"].contains(name))
}

fn tensors(inputs: &[i64]) -> Vec<i64> {
    inputs.iter().copied().filter(|&size| size > 0).take(3).collect()
}

/// Number of elements of an input; 0 if it is not a tensor.
fn elements(dims: &[i64]) -> i64 {
    match dims {
        [] => 0,
        [..] => dims.iter().fold(1, |product: i64, &dim| product.saturating_mul(dim)),
    }
}
