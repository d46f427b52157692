//! The kernels of both sides at a node → whether one side fused what the other runs as several ops.
//!
//! The side with fewer kernels is the *short* one. It fused the *long* one if fewer ops (or launches
//! without an op) run there, every op of the long side is explained, and every one of the short
//! side explains something. An op is explained by
//!
//! - its name: all its words stand in the name of the other side's op or kernel, as in the list of
//!   ops that compilers name a kernel after (`aten::mul` ← `triton_poi_fused_add_mul_0`), or
//! - its kind of work: the short side's kind *replaces* those of the long side, all of them being
//!   there (`attention` ← `gemm`, `softmax`, `gemm`); `replaces` in the category rules, or
//! - its shapes: one op of the same name takes inputs that are shared or add up
//!   (`mm [8, 64] [64, 192]` ← three `mm [8, 64] [64, 64]`), or
//! - its place: one op with one kernel stands where the others stood, and its inputs are what those
//!   took from outside.
//!
//! Ops of copies need no explanation: not to copy is what fusing is for.

use super::KernelChange;
use super::pieces::Pieces;
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

/// Why a change is called a fusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FusionEvidence {
    /// Names of ops or kernels list the ops that they replace.
    Names,
    /// A kind of work that is made of the others.
    Kinds,
    /// One op whose inputs are those of several ops of its name put together.
    Shapes,
    /// One op with one kernel where the others stood, on the inputs that they took from outside.
    Place,
}

impl FusionEvidence {
    /// As tables write it: `names`, `kinds`, `shapes`, `place`.
    pub fn label(self) -> &'static str {
        match self {
            FusionEvidence::Names => "names",
            FusionEvidence::Kinds => "kinds",
            FusionEvidence::Shapes => "shapes",
            FusionEvidence::Place => "place",
        }
    }
}

/// What launches: an op, or a GPU event without one.
#[derive(Clone)]
pub(super) struct Leaf<'a> {
    /// Its kernels.
    pub(super) kernels: Vec<CallId>,
    traits: Rc<Traits<'a>>,
}

/// What is known of all leaves that are called alike, take the same inputs and launch kernels of the same names.
pub(super) struct Traits<'a> {
    /// Words of the op without its namespace; of the kernel where there is no op.
    pub(super) op: Words,
    /// Number of these words: leaves are held against each other many times.
    pub(super) op_number: u32,
    /// Words of the op and of its kernels.
    pub(super) all: Words,
    /// The names under which a compiler may know it: its own and those of the ops around it, without
    /// the words for a library.
    pub(super) known_as: Vec<Words>,
    /// Number of elements of each input; `None` where not recorded.
    inputs: Option<Vec<i64>>,
    /// Those of the first three that are tensors.
    tensors: Option<Vec<i64>>,
    /// The shape of each input.
    shapes: Option<Vec<Vec<i64>>>,
    /// Whether it takes tensors, and all of them are single numbers, as counters are.
    takes_numbers: bool,
    /// Whether a compiler named the op or a kernel after what it made it of.
    pub(super) is_generated: bool,
    kind: &'a str,
    /// Whether it is work of its own that serves no other op.
    is_specific: bool,
    replaces: Vec<&'a str>,
}

impl<'a> Deref for Leaf<'a> {
    type Target = Traits<'a>;

    fn deref(&self) -> &Traits<'a> {
        &self.traits
    }
}

impl Leaf<'_> {
    /// Whether both are one op, by its words.
    pub(super) fn is_same_op(&self, other: &Leaf<'_>) -> bool {
        self.op_number == other.op_number
    }

    /// Whether both take inputs of the same sizes; where one side did not record them, that is open.
    pub(super) fn shapes_agree(&self, other: &Leaf<'_>) -> bool {
        match (&self.tensors, &other.tensors) {
            // An output that is given to a product is an input more.
            (Some(mine), Some(theirs)) => {
                mine.iter().zip(theirs).all(|(mine, their)| mine == their)
            }
            (None, _) | (_, None) => true,
        }
    }

    /// Whether a compiler named this after an op, among others.
    pub(super) fn is_named_after(&self, op: &Leaf<'_>) -> bool {
        self.is_generated && op.known_as.iter().any(|name| self.all.contain_all(name))
    }

    /// Whether a compiler can have made this of an op, among others: it is named after it, takes inputs
    /// as large, and adds up if that is all that the op does.
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

/// Ops that make one number of many, which a kernel of pointwise work (`triton_poi_…`) cannot.
const REDUCTIONS: [&str; 9] = ["all", "amax", "amin", "any", "mean", "prod", "std", "sum", "var"];

/// Words that only say whose implementation an op is.
const LIBRARIES: [&str; 5] = ["cudnn", "miopen", "mkldnn", "native", "thnn"];

/// The side with fewer kernels; of equals the candidate.
pub(super) fn short_side(kernels: &PerSide<Vec<CallId>>) -> Side {
    match kernels.baseline.len() < kernels.candidate.len() {
        true => Side::Baseline,
        false => Side::Candidate,
    }
}

/// What the change of the kernel count at a node is.
pub(super) fn change(pieces: &Pieces<'_>, kernels: &PerSide<Vec<CallId>>) -> KernelChange {
    if kernels.baseline.len() == kernels.candidate.len() {
        return KernelChange::Count;
    }
    let short = short_side(kernels);
    let of_short = pieces.leaves.of(short, &kernels[short]);
    let of_long = pieces.leaves.of(short.other(), &kernels[short.other()]);
    if of_short.len() >= of_long.len() {
        return KernelChange::Count;
    }
    match evidence(&of_short, &of_long) {
        Some(evidence) => KernelChange::FusedIn(short, evidence),
        None => KernelChange::Count,
    }
}

/// The leaves of both sides, with what was found out about those that are alike.
pub(super) struct Leaves<'a> {
    analysis: &'a Analysis,
    known: RefCell<Known<'a>>,
}

/// What was found out so far.
#[derive(Default)]
struct Known<'a> {
    traits: FxHashMap<Likeness, Rc<Traits<'a>>>,
    numbers: Numbers,
}

/// Kernels and ops have few names.
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

/// What makes two leaves alike.
#[derive(PartialEq, Eq, Hash)]
struct Likeness {
    side: Side,
    category: CategoryId,
    arguments: Option<ArgumentsId>,
    /// The op and the ops around it.
    ops: Vec<Option<TextId>>,
    kernels: Vec<Option<TextId>>,
}

impl<'a> Leaves<'a> {
    pub(super) fn new(analysis: &'a Analysis) -> Leaves<'a> {
        Leaves { analysis, known: RefCell::default() }
    }

    /// One leaf for each op call, or for each event without an op.
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

/// The ops that a call stands in, the innermost first.
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
    // An op over lists launches many kernels of one name.
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

/// Shape of each input of an op, those of a list of tensors one by one.
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

/// The inputs that are tensors, the first three of them.
fn tensors(inputs: &[i64]) -> Vec<i64> {
    inputs.iter().copied().filter(|&size| size > 0).take(3).collect()
}

/// Number of elements of an input; 0 where it is no tensor.
fn elements(dims: &[i64]) -> i64 {
    match dims {
        [] => 0,
        [..] => dims.iter().fold(1, |product: i64, &dim| product.saturating_mul(dim)),
    }
}

fn evidence(short: &[Leaf<'_>], long: &[Leaf<'_>]) -> Option<FusionEvidence> {
    let by_name = |short: &Leaf<'_>, long: &Leaf<'_>| short.all.contain_all(&long.op);
    let is_named = |leaf: &Leaf<'_>| short.iter().any(|short| by_name(short, leaf));
    // What a copy serves is fused with it, unless a name says more.
    let moves = |leaf: &&Leaf<'_>| leaf.kind == "copy" && !is_named(leaf);
    let to_explain: Vec<&Leaf<'_>> = long.iter().filter(|leaf| !moves(leaf)).collect();
    if to_explain.is_empty() || to_explain.len() <= short.len() {
        return takes_place(short, long).then_some(FusionEvidence::Place);
    }
    let all_named = to_explain.iter().all(|long| short.iter().any(|short| by_name(short, long)))
        && short.iter().all(|short| to_explain.iter().any(|long| by_name(short, long)))
        && to_explain.iter().all(|leaf| runs_no_more_often(leaf, &to_explain, short));
    if put_together(short, long) {
        return Some(FusionEvidence::Shapes);
    }
    if all_named {
        return Some(FusionEvidence::Names);
    }
    if short.iter().all(|short| replaces(short, &to_explain)) {
        return Some(FusionEvidence::Kinds);
    }
    takes_place(short, long).then_some(FusionEvidence::Place)
}

/// Whether one op with one kernel stands where several stood, and takes what they took from outside:
/// each of its inputs is an input of one of them, the first tensor of the first one is among them, and
/// no op of its name is among those that are gone.
fn takes_place(short: &[Leaf<'_>], long: &[Leaf<'_>]) -> bool {
    let [short] = short else { return false };
    let (Some(inputs), [first, ..]) = (&short.shapes, long) else { return false };
    let is_taken = |shape: &&Vec<i64>| {
        long.iter().any(|leaf| leaf.shapes.as_ref().is_some_and(|shapes| shapes.contains(*shape)))
    };
    let tensors: Vec<&Vec<i64>> = inputs.iter().filter(|shape| !shape.is_empty()).collect();
    let begins = first.shapes.as_ref().and_then(|shapes| shapes.iter().find(|s| !s.is_empty()));
    short.kernels.len() == 1
        && long.len() > 1
        && !tensors.is_empty()
        && tensors.iter().all(is_taken)
        && begins.is_some_and(|begins| tensors.contains(&begins))
        && long.iter().all(|leaf| !leaf.is_same_op(short))
}

/// Whether the long side has no more calls of an op than the short one, where that has it too: an op
/// that keeps its name explains one call, not three.
fn runs_no_more_often(leaf: &Leaf<'_>, long: &[&Leaf<'_>], short: &[Leaf<'_>]) -> bool {
    let of_short = short.iter().filter(|other| other.is_same_op(leaf)).count();
    let of_long = long.iter().filter(|other| other.is_same_op(leaf)).count();
    of_short == 0 || of_long <= of_short
}

/// Whether the long side runs one op several times on inputs that the short side takes at once: each
/// input is the same for all, or that of the short side is the sum of the others.
pub(super) fn put_together(short: &[Leaf<'_>], long: &[Leaf<'_>]) -> bool {
    let [short] = short else { return false };
    let Some(whole) = &short.inputs else { return false };
    let parts: Option<Vec<&Vec<i64>>> = long
        .iter()
        .map(|leaf| {
            leaf.inputs.as_ref().filter(|part| leaf.is_same_op(short) && part.len() == whole.len())
        })
        .collect();
    let Some(parts) = parts else { return false };
    let shared = |at: usize| parts.iter().all(|part| part[at] == whole[at]);
    let sum = |at: usize| parts.iter().fold(0, |sum: i64, part| sum.saturating_add(part[at]));
    let summed = |at: usize| sum(at) == whole[at];
    (0..whole.len()).all(|at| shared(at) || summed(at)) && !(0..whole.len()).all(shared)
}

/// Whether the long side has all kinds of work that `short` replaces, and else only such as serves
/// other work: attention may take in a scale and a dropout with its products and its softmax.
fn replaces(short: &Leaf<'_>, long: &[&Leaf<'_>]) -> bool {
    let is_part = |leaf: &&Leaf<'_>| short.replaces.contains(&leaf.kind) || !leaf.is_specific;
    let has = |kind: &&str| long.iter().any(|leaf| leaf.kind == *kind);
    !short.replaces.is_empty() && long.iter().all(is_part) && short.replaces.iter().all(has)
}
