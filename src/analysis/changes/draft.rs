//! Groups facts and calls into drafts. Each draft later becomes a change or is folded into one.

use super::identity::frames;
use super::kind::ChangeKind;
use super::place::{Position, either};
use super::subject::Subject;
use super::survey::{Marks, Modules, autograd_node, is_in_optimizer};
use crate::analysis::account::Ledger;
use crate::analysis::categories::CategoryTable;
use crate::analysis::comparability::Comparability;
use crate::analysis::steps::StepPairs;
use crate::analysis::wall::Wall;
use crate::diff::{MergedId, MergedNode, TraceDiff};
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

const NONE: u32 = u32::MAX;

/// A *draft* is a change whose facts are still being collected.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) kind: ChangeKind,
    pub(super) subject: Subject,
    /// The calls that changed: matched ops whose arguments or kernels differ, and the outermost
    /// unmatched calls.
    pub(super) nodes: Vec<MergedId>,
    /// The calls of other drafts that were folded into this draft as consequences, and the fold that did it.
    pub(super) consequences: Vec<(MergedId, &'static str)>,
    /// Names that the sentence about the change mentions, with their counts, for each side.
    pub(super) names: PerSide<BTreeMap<String, u64>>,
    /// Functions that contain the added or removed calls, with counts, for each side.
    pub(super) functions: PerSide<BTreeMap<String, u64>>,
    /// Values that changed, as pairs of a baseline value and a candidate value, with counts.
    pub(super) pairs: BTreeMap<(String, String), u64>,
    /// Sizes that changed, as a dimension and its sizes on both sides, with counts.
    pub(super) sizes: BTreeMap<(usize, u64, u64), u64>,
    /// How often something is called or used on each side, if the change is about this number.
    pub(super) counts: Option<PerSide<u64>>,
    /// Position in the program where the change first occurs.
    pub(super) position: Position,
    /// Number of cheap changes in Python code at other positions that were combined with this change.
    pub(super) other_positions: u64,
    /// Whether the change includes calls in the forward pass.
    pub(super) has_forward: bool,
    /// Whether the change includes calls in the backward pass.
    pub(super) has_backward: bool,
    /// The name of the parameter whose value changed, if known.
    pub(super) parameter: Option<&'static str>,
    /// The library setting that changed, if known.
    pub(super) switched: Option<Switched>,
    /// The operand whose size differs at the first op, if its name is known and it is not an input of the op.
    pub(super) operand: Option<Operand>,
    /// For a change that the profiles state about a compiled program, the setting or code that usually causes it. The
    /// subject of the draft is the sentence.
    pub(super) stated: Option<&'static str>,
    /// What the unmatched calls on each side do, as far as their names reveal it.
    pub(super) marks: PerSide<Marks>,
    /// The draft that explains this draft, if any.
    cause: Option<usize>,
}

/// A library setting that affects which kernels run, and the values of the setting on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Switched {
    pub(super) name: &'static str,
    pub(super) values: PerSide<String>,
}

/// An operand of an op, and the sizes of its dimensions on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Operand {
    pub(super) name: &'static str,
    /// Whether only the size of a convolution's kernel differs.
    pub(super) is_kernel: bool,
    pub(super) sizes: PerSide<String>,
}

impl Draft {
    pub(super) fn name(&mut self, side: Side, name: &str) {
        *self.names[side].entry(name.to_owned()).or_default() += 1;
    }

    /// Whether the changed values include the given one, on any side.
    pub(super) fn has_value(&self, value: &str) -> bool {
        self.pairs.keys().any(|(one, two)| one == value || two == value)
    }

    pub(super) fn pair(&mut self, baseline: &str, candidate: &str) {
        *self.pairs.entry((baseline.to_owned(), candidate.to_owned())).or_default() += 1;
    }
}

/// All drafts, and the draft to which each changed call was added.
pub(super) struct Drafts<'a> {
    pub(super) diff: &'a TraceDiff,
    pub(super) ledger: &'a Ledger,
    pub(super) compared: &'a StepPairs,
    pub(super) wall: &'a Wall,
    pub(super) categories: &'a CategoryTable,
    pub(super) comparability: &'a Comparability,
    /// How often each module is called.
    pub(super) modules: &'a Modules<'a>,
    /// The name of the fold that runs; empty if none does.
    pub(super) folding: &'static str,
    list: Vec<Draft>,
    index: BTreeMap<(ChangeKind, Subject), usize>,
    /// For each outermost unmatched call, the draft to which it was added; indexed by merged node.
    of_root: Vec<u32>,
    /// For each matched op that changed, the draft to which it was added; indexed by merged node.
    of_site: Vec<u32>,
    /// Whether positions distinguish changes. If only one side recorded frames, they do not, because the same call would
    /// have a position on one side only.
    is_placed: bool,
    /// For each compiled program whose inputs have other sizes or types, by name, the change that states this.
    of_programs: PerSide<BTreeMap<String, usize>>,
    /// For each outermost op of the backward pass, the op of the forward pass to which it belongs.
    forward: PerSide<FxHashMap<CallId, CallId>>,
}

impl<'a> Drafts<'a> {
    pub(super) fn new(
        diff: &'a TraceDiff,
        ledger: &'a Ledger,
        compared: &'a StepPairs,
        wall: &'a Wall,
        categories: &'a CategoryTable,
        comparability: &'a Comparability,
        modules: &'a Modules<'a>,
    ) -> Drafts<'a> {
        let nodes = diff.merged().len();
        let frames = frames(diff);
        Drafts {
            diff,
            ledger,
            compared,
            wall,
            categories,
            comparability,
            modules,
            folding: "",
            list: Vec::new(),
            index: BTreeMap::new(),
            of_root: vec![NONE; nodes],
            of_site: vec![NONE; nodes],
            is_placed: frames.baseline == frames.candidate,
            of_programs: PerSide::default(),
            forward: diff.forward_of_backward(),
        }
    }

    /// Returns the draft with the given kind and subject, creating it if it does not exist yet.
    pub(super) fn draft(&mut self, kind: ChangeKind, subject: Subject) -> usize {
        let next = self.list.len();
        let at = *self.index.entry((kind, subject.clone())).or_insert(next);
        if at == next {
            self.list.push(Draft {
                kind,
                subject,
                nodes: Vec::new(),
                consequences: Vec::new(),
                names: PerSide::default(),
                functions: PerSide::default(),
                pairs: BTreeMap::new(),
                sizes: BTreeMap::new(),
                counts: None,
                position: Position::default(),
                other_positions: 0,
                has_forward: false,
                has_backward: false,
                parameter: None,
                switched: None,
                operand: None,
                stated: None,
                marks: PerSide::default(),
                cause: None,
            });
        }
        at
    }

    /// Finds the backward op at or above `node` or, if `node` is not in the backward pass, the first backward op below
    /// `node`. Returns the forward op that belongs to it.
    pub(super) fn forward_of(&self, node: MergedId) -> Option<MergedId> {
        let found = autograd_node(self.diff, node);
        let (side, backward) = found.unwrap_or_else(|| either(self.diff, node));
        let mut calls = self.diff.tree(side).subtree(backward);
        let forward = calls.find_map(|call| self.forward[side].get(&call))?;
        Some(self.diff.merged().of(side, *forward))
    }

    /// Position of a node in the program. The position of a node in the backward pass is the position of
    /// its forward op.
    pub(super) fn position_at(&self, node: MergedId) -> Position {
        let node = match autograd_node(self.diff, node) {
            None => Some(node),
            Some(_) => self.forward_of(node),
        };
        node.filter(|_| self.is_placed)
            .map_or_else(Position::default, |node| Position::at(self.diff, node))
    }

    /// The position of the call directly above a node.
    pub(super) fn position_above(&self, node: MergedId) -> Position {
        if self.is_placed { Position::above(self.diff, node) } else { Position::default() }
    }

    /// Whether positions distinguish changes.
    pub(super) fn is_placed(&self) -> bool {
        self.is_placed
    }

    /// The position of a change in words. Frames that only one side recorded still say where its first call is.
    pub(super) fn place(&self, draft: &Draft) -> String {
        let is_unknown = !self.is_placed && draft.position == Position::default();
        let first = draft.nodes.first().filter(|_| is_unknown);
        first
            .map_or_else(|| draft.position.clone(), |&node| Position::above(self.diff, node))
            .words()
    }

    /// The draft of the nearest enclosing op that is unmatched or changed. Differences inside such an op are
    /// consequences of the op's change.
    pub(super) fn covering(&self, node: MergedId) -> Option<usize> {
        let merged = self.diff.merged();
        let mut above = merged.parent(node);
        while let Some(here) = above {
            let (side, call) = either(self.diff, here);
            if self.diff.tree(side).kind(call) != CallKind::Op {
                return None;
            }
            let known = [self.of_root[here.index()], self.of_site[here.index()]];
            if let Some(draft) = known.into_iter().find(|&draft| draft != NONE) {
                return Some(draft as usize);
            }
            above = merged.parent(here);
        }
        None
    }

    pub(super) fn find(&self, kind: ChangeKind) -> Vec<usize> {
        self.index.iter().filter(|((of, _), _)| *of == kind).map(|(_, &at)| at).collect()
    }

    pub(super) fn at(&mut self, at: usize) -> &mut Draft {
        &mut self.list[at]
    }

    /// Adds an unmatched call, with everything below it, to a draft.
    pub(super) fn add_root(&mut self, at: usize, node: MergedId) {
        self.of_root[node.index()] = at as u32;
        self.list[at].nodes.push(node);
    }

    /// Adds a matched op to a draft. An op that is added to several drafts is a call site of each of them, but its cost
    /// is attributed only to the first.
    pub(super) fn add_site(&mut self, at: usize, node: MergedId) {
        let of_site = &mut self.of_site[node.index()];
        if *of_site == NONE {
            *of_site = at as u32;
        } else if *of_site == at as u32 {
            return;
        }
        self.list[at].nodes.push(node);
    }

    /// The draft that contains the innermost module around a node, if this module is unmatched and has no submodules.
    /// All calls in such a module belong to the module's change, even if some frames in the module are matched.
    pub(super) fn unmatched_module(&self, node: MergedId) -> Option<usize> {
        let merged = self.diff.merged();
        let (side, call) = either(self.diff, node);
        let tree = self.diff.tree(side);
        let module = merged.of(side, tree.module(tree.parent(call)?)?);
        let draft = self.of_root[module.index()];
        let is_leaf = |(side, module): (Side, CallId)| {
            let tree = self.diff.tree(side);
            tree.subtree(module).skip(1).all(|below| !tree.is_module(below))
        };
        (draft != NONE && merged.node(module).calls().all(is_leaf)).then_some(draft as usize)
    }

    /// The draft that contains the call at or above a node that is unmatched, or matched with a call of another name.
    pub(super) fn of_calls(&self, node: MergedId) -> Option<usize> {
        let merged = self.diff.merged();
        let mut at = Some(node);
        while let Some(here) = at {
            let draft = self.of_root[here.index()];
            if draft != NONE {
                return Some(draft as usize);
            }
            let node = merged.node(here);
            let is_matched = matches!(node, MergedNode::Both(..)) && !self.diff.is_difference(node);
            let is_region = {
                let (side, call) = either(self.diff, here);
                self.diff.compiled_region_of(side, call).is_some()
            };
            if is_matched && !is_region {
                return None;
            }
            at = merged.parent(here);
        }
        None
    }

    /// If the node is a matched call that only one side replays from a graph, the draft of the graph change.
    pub(super) fn replayed_by(&self, node: MergedId) -> Option<usize> {
        let diff = self.diff;
        let is_replayed = diff.is_captured_on_one_side(diff.merged().node(node));
        is_replayed.then(|| self.find(ChangeKind::Graphs).first().copied()).flatten()
    }

    /// If the node is a matched call in the optimizer, the draft of the optimizer change. Matched calls in an optimizer
    /// may do different amounts of work: one call may update a single tensor, while its counterpart updates several
    /// tensors.
    pub(super) fn optimizer_of(&self, node: MergedId) -> Option<usize> {
        let optimizer = self.find(ChangeKind::Optimizer).first().copied()?;
        is_in_optimizer(self.diff, node).then_some(optimizer)
    }

    pub(super) fn of_site(&self, node: MergedId) -> Option<usize> {
        let draft = self.of_site[node.index()];
        (draft != NONE).then_some(draft as usize)
    }

    /// Records that all calls of a compiled program process data of other sizes or types.
    pub(super) fn add_program(&mut self, side: Side, program: &str, at: usize) {
        self.of_programs[side].entry(program.to_owned()).or_insert(at);
    }

    /// The change that states that the compiled program around a node processes data of other sizes or types.
    pub(super) fn of_program(&self, node: MergedId) -> Option<usize> {
        if self.of_programs.baseline.is_empty() {
            return None;
        }
        let (side, call) = either(self.diff, node);
        let tree = self.diff.tree(side);
        let mut above = tree.ancestors(call).filter(|&above| tree.kind(above) == CallKind::Frame);
        above.find_map(|above| self.of_programs[side].get(tree.name(above)).copied())
    }

    /// Makes a draft a consequence of another draft, unless the first draft already has a cause, or the profiles state it.
    pub(super) fn fold(&mut self, consequence: usize, cause: usize) {
        let cause = self.resolve(cause);
        let draft = &self.list[consequence];
        if consequence != cause && draft.cause.is_none() && draft.stated.is_none() {
            self.list[consequence].cause = Some(cause);
            let nodes = std::mem::take(&mut self.list[consequence].nodes);
            let more = std::mem::take(&mut self.list[consequence].consequences);
            let nodes = nodes.into_iter().map(|node| (node, self.folding));
            self.list[cause].consequences.extend(nodes.chain(more));
        }
    }

    /// Merges a draft into another draft whose calls changed in the same way.
    pub(super) fn merge(&mut self, part: usize, whole: usize) {
        let whole = self.resolve(whole);
        if part == whole || self.list[part].cause.is_some() || self.list[part].stated.is_some() {
            return;
        }
        let nodes = std::mem::take(&mut self.list[part].nodes);
        self.list[whole].nodes.extend(nodes);
        self.fold(part, whole);
    }

    /// Merges a draft into another draft, including the names that its sentence mentions.
    pub(super) fn merge_named(&mut self, part: usize, whole: usize) {
        let Draft { names, functions, has_forward, has_backward, .. } = &self.list[part];
        let (names, functions) = (names.clone(), functions.clone());
        let (has_forward, has_backward) = (*has_forward, *has_backward);
        let target = self.at(whole);
        target.has_forward |= has_forward;
        target.has_backward |= has_backward;
        for side in Side::BOTH {
            for (name, count) in &names[side] {
                *target.names[side].entry(name.clone()).or_default() += count;
            }
            for (function, count) in &functions[side] {
                *target.functions[side].entry(function.clone()).or_default() += count;
            }
        }
        self.merge(part, whole);
    }

    /// Returns the draft into which a draft was finally folded, or the draft itself if it was not folded.
    pub(super) fn resolve(&self, mut at: usize) -> usize {
        while let Some(cause) = self.list[at].cause {
            at = cause;
        }
        at
    }

    pub(super) fn all(&self) -> &[Draft] {
        &self.list
    }
}

/// The first change of the first kind in `kinds` for which there is a change.
pub(super) fn first(drafts: &Drafts<'_>, kinds: &[ChangeKind]) -> Option<usize> {
    kinds.iter().find_map(|&kind| drafts.find(kind).first().copied())
}

/// Folds all changes whose kind is in `kinds` and for which `follows` returns true into `cause`. Changes that already
/// have a cause are skipped.
pub(super) fn fold_where(
    drafts: &mut Drafts<'_>,
    cause: usize,
    kinds: &[ChangeKind],
    follows: impl Fn(&Draft) -> bool,
) {
    for at in kinds.iter().flat_map(|&kind| drafts.find(kind)).collect::<Vec<usize>>() {
        if follows(&drafts.all()[at]) {
            drafts.fold(at, cause);
        }
    }
}

/// The names that the sentence about a change mentions, from both sides.
pub(super) fn names(draft: &Draft) -> impl Iterator<Item = &str> {
    Side::BOTH.into_iter().flat_map(|side| draft.names[side].keys()).map(String::as_str)
}

/// The functions that the sentence about a change mentions, from both sides.
pub(super) fn functions(draft: &Draft) -> impl Iterator<Item = &str> {
    let all = Side::BOTH.into_iter().flat_map(|side| draft.functions[side].keys());
    all.map(String::as_str).filter(|function| !function.is_empty())
}
