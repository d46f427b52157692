//! Compares what the ops inside a change state, although the ops themselves are not matched.
//!
//! A compiler fuses and removes ops, but it keeps the element types, settings and parameters of the library ops that it
//! still calls. An op that replaces another one has parameters, too, and a layer that runs again still passes its
//! tensors.

use super::arguments::{list, plain_type, recorded, start_apart, switched};
use super::calls::backend;
use super::parameters;
use crate::analysis::changes::draft::Drafts;
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::subject::Subject;
use crate::diff::{MergedId, RegionKind};
use crate::side::{PerSide, Side};
use crate::trace::{Argument, Recorder};
use crate::tree::{CallId, CallKind};
use std::collections::{BTreeMap, BTreeSet};

/// Ops that eager and compiled code call in the same way. Their inputs and parameters are not chosen by a compiler.
const KEPT: [&str; 5] =
    ["aten::_convolution", "aten::_embedding_bag", "aten::addmm", "aten::bmm", "aten::mm"];

/// Parameters of these ops: the op, the position of the argument, and its name.
const PARAMETERS: [(&str, usize, &str); 2] =
    [("aten::_convolution", 8, "groups"), ("aten::_embedding_bag", 4, "mode")];

/// Something that a library op states: its element type, or the value of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fact {
    Type,
    Argument(&'static str, usize),
    /// A parameter that determines the sizes of weights.
    Weights(&'static str),
}

/// The values of each fact on one side, and the calls that state it.
#[derive(Debug, Default)]
struct Facts {
    values: BTreeMap<Fact, BTreeSet<String>>,
    calls: BTreeMap<Fact, Vec<CallId>>,
    /// The implementations of attention, each with the op that names it.
    backends: BTreeMap<&'static str, String>,
}

pub(super) fn claim(drafts: &mut Drafts<'_>) {
    in_regions(drafts);
    in_fusions(drafts);
    for at in drafts.find(ChangeKind::Ops) {
        in_replaced(drafts, at);
    }
    if !drafts.find(ChangeKind::Checkpointing).is_empty() {
        in_repeated(drafts);
    }
}

/// Reports an element type that only one side of two XLA programs uses. XLA fuses ops of other types in other ways, so
/// few of these ops are matched.
fn in_fusions(drafts: &mut Drafts<'_>) {
    let diff = drafts.diff;
    let is_xla = |side: Side| diff.tree(side).trace().header().recorder == Recorder::Xla;
    if !Side::BOTH.into_iter().all(is_xla) || !drafts.find(ChangeKind::Precision).is_empty() {
        return;
    }
    let calls = PerSide::from_fn(|side| {
        let tree = diff.tree(side);
        let mut calls: BTreeMap<&str, Vec<MergedId>> = BTreeMap::new();
        for call in tree.calls().filter(|&call| drafts.compared.is_compared(diff, side, call)) {
            for name in list(recorded(tree, call, Argument::Type))
                .iter()
                .filter_map(|name| plain_type(name))
            {
                calls.entry(name).or_default().push(diff.merged().of(side, call));
            }
        }
        calls
    });
    for side in Side::BOTH {
        let (own, others) = (&calls[side], &calls[side.other()]);
        let Some((name, nodes)) = own.iter().find(|(name, _)| !others.contains_key(*name)) else {
            continue;
        };
        let Some((other, _)) = others.iter().max_by_key(|(_, nodes)| nodes.len()) else { continue };
        let values = PerSide::seen_from(side, *name, *other);
        let subject = Subject::types(values.baseline, values.candidate);
        let mut nodes = nodes.clone();
        nodes.dedup();
        if let Some(at) = start_apart(drafts, ChangeKind::Precision, subject, &nodes) {
            drafts.at(at).pair(values.baseline, values.candidate);
            return;
        }
    }
}

/// Reports the parameters that differ between an op and the op that replaced it, such as those of an LSTM and a GRU.
fn in_replaced(drafts: &mut Drafts<'_>, at: usize) {
    let diff = drafts.diff;
    let draft = &drafts.all()[at];
    if drafts.resolve(at) != at || draft.names.candidate.is_empty() {
        return;
    }
    let (nodes, position) = (draft.nodes.clone(), draft.position.clone());
    let mut facts: PerSide<Facts> = PerSide::default();
    for (side, outer) in nodes.iter().flat_map(|&node| diff.merged().node(node).calls()) {
        let tree = diff.tree(side);
        for call in tree.subtree(outer).filter(|&call| tree.kind(call) == CallKind::Op) {
            for (position, value) in
                list(recorded(tree, call, Argument::Concrete)).into_iter().enumerate()
            {
                let name = parameters::name(tree.name(call), position);
                if let Some(name) = name.filter(|name| parameters::OF_WEIGHTS.contains(name)) {
                    facts[side].state(Fact::Weights(name), value, call);
                }
            }
        }
    }
    let name = |side: Side, call: CallId| diff.tree(side).name(call).to_owned();
    for (fact, one) in &facts.baseline.values {
        let (Fact::Weights(parameter), Some(two)) = (*fact, facts.candidate.values.get(fact))
        else {
            continue;
        };
        let Some((one, two)) = other_values(*fact, one, two) else { continue };
        let [a, b] = Side::BOTH.map(|side| name(side, facts[side].calls[fact][0]));
        let subject = Subject::Argument(format!("{b} {parameter}"));
        let calls = facts.candidate.calls[fact].iter();
        let sites: Vec<MergedId> =
            calls.map(|&call| diff.merged().of(Side::Candidate, call)).collect();
        let Some(found) = start_apart(drafts, ChangeKind::Arguments, subject, &sites) else {
            continue;
        };
        let draft = drafts.at(found);
        draft.pair(one, two);
        draft.name(Side::Baseline, &if a == b { b } else { format!("{b} (before: {a})") });
        draft.parameter = Some(parameter);
        draft.position = position.clone();
    }
}

/// Reports an optional tensor that only one side passes to the ops of layers that run again. These ops are not always
/// matched with those of the same pass.
fn in_repeated(drafts: &mut Drafts<'_>) {
    const WEIGHTS: usize = 2;
    let diff = drafts.diff;
    let of_nodes = |nodes: &[MergedId]| {
        let calls = nodes.iter().flat_map(|&node| diff.merged().node(node).calls());
        let mut ops: BTreeMap<&str, PerSide<Vec<MergedId>>> = BTreeMap::new();
        for (side, outer) in calls {
            let tree = diff.tree(side);
            let is_weighted =
                |call: &CallId| parameters::operand(tree.name(*call), WEIGHTS) == Some("bias");
            for call in tree.subtree(outer).filter(is_weighted) {
                ops.entry(tree.name(call)).or_default()[side].push(diff.merged().of(side, call));
            }
        }
        ops
    };
    let kinds =
        [ChangeKind::Checkpointing, ChangeKind::Layers, ChangeKind::Ops, ChangeKind::Python];
    let unmatched = kinds.into_iter().flat_map(|kind| drafts.find(kind));
    let unmatched: Vec<MergedId> =
        unmatched.flat_map(|at| drafts.all()[at].nodes.iter().copied()).collect();
    for (op, nodes) in of_nodes(&unmatched) {
        let passes = PerSide::from_fn(|side| {
            let tree = diff.tree(side);
            let mut calls = tree.calls().filter(|&call| tree.name(call) == op);
            calls.any(|call| {
                let types = list(recorded(tree, call, Argument::Type));
                types.get(WEIGHTS).is_some_and(|name| !name.is_empty())
            })
        });
        let is_on_both = Side::BOTH.iter().all(|&side| !nodes[side].is_empty());
        if !is_on_both || passes.baseline == passes.candidate {
            continue;
        }
        let side = if passes.candidate { Side::Candidate } else { Side::Baseline };
        if let Some(found) =
            start_apart(drafts, ChangeKind::Arguments, Subject::Tensors, &nodes[side])
        {
            drafts.at(found).name(side, op);
        }
    }
}

fn in_regions(drafts: &mut Drafts<'_>) {
    let diff = drafts.diff;
    let mut facts: PerSide<Facts> = PerSide::default();
    let mut has_backend = false;
    for region in diff.regions().iter().filter(|region| region.kind == RegionKind::Compiled) {
        if !drafts.compared.is_compared(diff, region.side, region.call) {
            continue;
        }
        facts[region.side].add(drafts, region.side, region.call);
        has_backend |= !facts[region.side].backends.is_empty();
        for &call in &region.replaced {
            facts[region.side.other()].add(drafts, region.side.other(), call);
        }
    }
    let known: Vec<Fact> = facts.baseline.values.keys().copied().collect();
    for fact in known {
        let values = facts.as_ref().map(|facts| facts.values.get(&fact));
        let (Some(one), Some(two)) = (values.baseline, values.candidate) else { continue };
        if let Some(values) = other_values(fact, one, two) {
            claim_fact(drafts, fact, values, &facts.baseline.calls[&fact]);
        }
    }
    let has_attention = !drafts.find(ChangeKind::Attention).is_empty();
    let differs = facts.baseline.backends.keys().ne(facts.candidate.backends.keys());
    if has_backend && differs && !has_attention {
        let at = drafts.draft(ChangeKind::Attention, Subject::Whole);
        for side in Side::BOTH {
            for name in facts[side].backends.values() {
                drafts.at(at).name(side, name);
            }
        }
    }
}

impl Facts {
    fn add(&mut self, drafts: &Drafts<'_>, side: Side, outer: CallId) {
        let tree = drafts.diff.tree(side);
        for call in tree.subtree(outer).filter(|&call| tree.kind(call) == CallKind::Op) {
            let name = tree.name(call);
            if let Some(backend) = backend(name) {
                self.backends.entry(backend).or_insert_with(|| name.to_owned());
            }
            let Some(&op) = KEPT.iter().find(|op| **op == name) else { continue };
            let types = list(recorded(tree, call, Argument::Type));
            if let Some(name) = types.iter().find_map(|name| plain_type(name)) {
                self.state(Fact::Type, name.to_owned(), call);
            }
            for (position, value) in
                list(recorded(tree, call, Argument::Concrete)).into_iter().enumerate()
            {
                let is_kept = switched(op, position).is_some() || parameter(op, position).is_some();
                if is_kept && !value.is_empty() {
                    self.state(Fact::Argument(op, position), value, call);
                }
            }
        }
    }

    fn state(&mut self, fact: Fact, value: String, call: CallId) {
        self.values.entry(fact).or_default().insert(value);
        self.calls.entry(fact).or_default().push(call);
    }
}

/// The name of the parameter of a kept op at a position.
fn parameter(op: &str, position: usize) -> Option<&'static str> {
    let found = PARAMETERS.iter().find(|(known, at, _)| (*known, *at) == (op, position));
    found.map(|(.., name)| *name)
}

/// A value of each side that shows that a fact changed. Types and settings must differ for all ops; a parameter may
/// differ for some ops only.
fn other_values<'a>(
    fact: Fact,
    one: &'a BTreeSet<String>,
    two: &'a BTreeSet<String>,
) -> Option<(&'a str, &'a str)> {
    let is_of_all = match fact {
        Fact::Type | Fact::Weights(_) => true,
        Fact::Argument(op, position) => parameter(op, position).is_none(),
    };
    if one == two || is_of_all && (one.len() > 1 || two.len() > 1) {
        return None;
    }
    let first = |of: &'a BTreeSet<String>, other: &'a BTreeSet<String>| {
        of.difference(other).chain(of).next()
    };
    Some((first(one, two)?, first(two, one)?))
}

fn claim_fact(drafts: &mut Drafts<'_>, fact: Fact, (one, two): (&str, &str), calls: &[CallId]) {
    let merged = drafts.diff.merged();
    let nodes: Vec<_> = calls.iter().map(|&call| merged.of(Side::Baseline, call)).collect();
    match fact {
        Fact::Type => {
            let subject = Subject::types(one, two);
            if let Some(at) = start_apart(drafts, ChangeKind::Precision, subject, &nodes) {
                drafts.at(at).pair(one, two);
            }
        }
        Fact::Argument(op, position) => {
            let name = switched(op, position);
            let subject = name.map_or_else(|| format!("{op} {position}"), str::to_owned);
            let subject = Subject::Argument(subject);
            let Some(at) = start_apart(drafts, ChangeKind::Arguments, subject, &nodes) else {
                return;
            };
            let draft = drafts.at(at);
            let parameter = parameter(op, position);
            let shown = |text| parameter.map_or(text, |name| parameters::value(op, name, text));
            draft.pair(shown(one), shown(two));
            draft.name(Side::Baseline, op);
            draft.parameter = name.or(parameter);
        }
        Fact::Weights(_) => {}
    }
}
