//! Compares the library ops that run inside compiled regions with the ops that the regions replaced. A compiler fuses
//! and removes ops, but it keeps the element types, settings and parameters of the library ops that it still calls.

use super::arguments::{plain_type, start_apart, switched};
use super::calls::backend;
use crate::analysis::changes::draft::Drafts;
use crate::analysis::changes::kind::ChangeKind;
use crate::diff::RegionKind;
use crate::side::{PerSide, Side};
use crate::trace::Argument;
use crate::tree::{CallId, CallKind};
use std::collections::{BTreeMap, BTreeSet};

/// Ops that eager and compiled code call in the same way. Their inputs and parameters are not chosen by a compiler.
const KEPT: [&str; 4] = ["aten::_convolution", "aten::addmm", "aten::bmm", "aten::mm"];

/// The op and the position of the argument that is the number of groups of a convolution.
const GROUPS: (&str, usize) = ("aten::_convolution", 8);

/// Something that a library op states: its element type, or the value of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fact {
    Type,
    Argument(&'static str, usize),
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
        let at = drafts.draft(ChangeKind::Attention, "");
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
            let Some(arguments) = tree.arguments(call) else { continue };
            let list = |which| {
                let text = tree.trace().text(arguments.text(which));
                serde_json::from_str::<Vec<String>>(text).unwrap_or_default()
            };
            let types = list(Argument::Type);
            if let Some(name) = types.iter().find_map(|name| plain_type(name)) {
                self.state(Fact::Type, name.to_owned(), call);
            }
            for (position, value) in list(Argument::Concrete).into_iter().enumerate() {
                let is_kept = switched(op, position).is_some() || (op, position) == GROUPS;
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

/// A value of each side that shows that a fact changed. Types and settings must differ for all ops; the number of groups
/// may differ for some convolutions only.
fn other_values<'a>(
    fact: Fact,
    one: &'a BTreeSet<String>,
    two: &'a BTreeSet<String>,
) -> Option<(&'a str, &'a str)> {
    let is_of_all = fact != Fact::Argument(GROUPS.0, GROUPS.1);
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
            let subject = if one < two { format!("{one} {two}") } else { format!("{two} {one}") };
            if let Some(at) = start_apart(drafts, ChangeKind::Precision, &subject, &nodes) {
                drafts.at(at).pair(one, two);
            }
        }
        Fact::Argument(op, position) => {
            let name = switched(op, position);
            let subject = name.map_or_else(|| format!("{op} {position}"), str::to_owned);
            let Some(at) = start_apart(drafts, ChangeKind::Arguments, &subject, &nodes) else {
                return;
            };
            let draft = drafts.at(at);
            draft.pair(one, two);
            draft.name(Side::Baseline, op);
            draft.parameter = name.or(Some("groups"));
        }
    }
}
