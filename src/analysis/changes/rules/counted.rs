//! Counts the calls of a layer by its ops, if the layer itself was recorded on one side only: the other side lacks Python
//! stacks, or compiled code replaced the layer.
//!
//! ```text
//! baseline   3 × Block, each with 5 × aten::mm and 1 × attention, and one more aten::mm    16 mm  3 attention
//! candidate  ?                                                                             21 mm  4 attention
//! ```
//! The candidate calls Block 4 times, because every difference is that of one more Block.

use super::calls::{backend, recomputed};
use crate::analysis::changes::counts::{accumulations, is_accumulation};
use crate::analysis::changes::draft::{Drafts, names};
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::place::Position;
use crate::analysis::changes::scale::Scale;
use crate::analysis::changes::subject::Subject;
use crate::analysis::changes::survey::{COMPILED_MODULE, run_once};
use crate::order::Order as _;
use crate::program::Phase;
use crate::side::{PerSide, Side};
use crate::tree::{AUTOGRAD_PREFIX, CallId, CallKind, ModuleName};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Ops of libraries that compiled code calls as often as the code that it replaced.
const LIBRARY: [&str; 4] = ["aten::_convolution", "aten::addmm", "aten::bmm", "aten::mm"];

/// A layer with fewer library ops, and with fewer different ops, says too little.
const FEWEST: i64 = 2;
const FEWEST_PARTS: usize = 3;

/// The numbers of ops of the forward pass by name.
type Ops<'a> = BTreeMap<&'a str, i64>;

/// A module class that one side alone recorded.
struct Layer<'a> {
    class: &'a str,
    /// The first call.
    first: CallId,
    calls: i64,
    /// The ops of all calls.
    ops: Ops<'a>,
    /// The names of the outermost ops.
    parts: BTreeSet<&'a str>,
}

pub(super) fn claim(drafts: &mut Drafts<'_>) {
    let is_compiled = !drafts.find(ChangeKind::Compilation).is_empty();
    if drafts.is_placed() && !is_compiled {
        return;
    }
    let is_open = |at: &usize| drafts.resolve(*at) == *at;
    if !drafts.find(ChangeKind::Layers).iter().any(is_open)
        && let Some(counts) = count(drafts)
    {
        report(drafts, &counts);
    }
    if is_compiled && drafts.find(ChangeKind::Graphs).is_empty() {
        recomputation(drafts);
    }
}

/// The class whose number of calls both its ops and its modules say, although one side runs compiled code.
pub(super) fn confirmed(drafts: &Drafts<'_>) -> Option<String> {
    let counts = count(drafts)?;
    let calls = drafts.modules.calls(counts.layer.class);
    (calls.baseline > 0 && calls.candidate > 0).then(|| counts.layer.class.to_owned())
}

/// A layer that the ops say is called more or less often.
struct Counts<'a> {
    layer: Layer<'a>,
    /// The side on which the layer was recorded.
    known: Side,
    /// How many more calls the other side has.
    more: i64,
    /// The ops of the forward pass on each side.
    totals: PerSide<Ops<'a>>,
}

/// Finds the layer whose number of calls explains the numbers of library ops.
fn count<'a>(drafts: &Drafts<'a>) -> Option<Counts<'a>> {
    let steps = Scale::of(drafts.wall).steps;
    // The ops of a graph are recorded when it is captured, and not when it runs.
    if !drafts.find(ChangeKind::Graphs).is_empty() || steps.baseline != steps.candidate {
        return None;
    }
    let steps = steps.baseline.cast_signed().max(1);
    let totals = PerSide::from_fn(|side| forward(drafts, side));
    for known in Side::BOTH {
        let mut found: Vec<(Layer<'_>, i64)> = Vec::new();
        for layer in layers(drafts, known).into_values() {
            let Some(more) = more(&layer, known, &totals, steps) else { continue };
            let others = drafts.modules.calls(layer.class)[known.other()].cast_signed();
            // Modules that the other side recorded must not say something else.
            if (others == 0 || others == layer.calls + more) && layer.class != COMPILED_MODULE {
                found.push((layer, more));
            }
        }
        // An outer module contains the ops of those inside.
        found.order_by_key(|(layer, _)| (Reverse(library(&layer.ops) / layer.calls), layer.first));
        if let Some((layer, more)) = found.into_iter().next() {
            return Some(Counts { layer, known, more, totals });
        }
    }
    None
}

/// Reports layers that run again, if compiled code calls as many library ops as the other side without them.
fn recomputation(drafts: &mut Drafts<'_>) {
    let (diff, compared) = (drafts.diff, drafts.compared);
    let is_library_op = |side: Side, call: CallId| {
        let tree = diff.tree(side);
        tree.kind(call) == CallKind::Op && is_library(tree.name(call))
    };
    let count = |side: Side, calls: &mut dyn Iterator<Item = CallId>| {
        let mut ops = Ops::new();
        for call in calls.filter(|&call| is_library_op(side, call)) {
            *ops.entry(diff.tree(side).name(call)).or_default() += 1;
        }
        ops
    };
    let once = PerSide::from_fn(|side| count(side, &mut run_once(diff, compared, side)));
    let all = PerSide::from_fn(|side| {
        let calls = diff.tree(side).calls();
        count(side, &mut calls.filter(|&call| compared.is_compared(diff, side, call)))
    });
    for side in Side::BOTH {
        let names = recomputed(diff, compared, side);
        let is_of_one_side = all[side] != once[side] && all[side.other()] == once[side];
        if !is_of_one_side || names.is_empty() || !drafts.find(ChangeKind::Checkpointing).is_empty()
        {
            continue;
        }
        let at = drafts.draft(ChangeKind::Checkpointing, Subject::Whole);
        drafts.at(at).names[side] = names;
    }
}

/// Reports parameters that only one side has, if compiled code hides which layer has them and nothing else explains
/// them.
pub(super) fn parameters(drafts: &mut Drafts<'_>) {
    const ACCUMULATION: &str = "torch::autograd::AccumulateGrad";
    let runs_graphs = !drafts.find(ChangeKind::Graphs).is_empty();
    if drafts.find(ChangeKind::Compilation).is_empty() || runs_graphs {
        return;
    }
    let counts = accumulations(drafts.diff, drafts.compared);
    let structure = [ChangeKind::Layers, ChangeKind::Ops, ChangeKind::Arguments];
    let is_known = structure.into_iter().flat_map(|kind| drafts.find(kind)).any(|at| {
        let draft = &drafts.all()[at];
        drafts.resolve(at) == at && (draft.has_forward || names(draft).all(is_accumulation))
    });
    let steps = Scale::of(drafts.wall).steps;
    let is_on_both =
        counts.baseline > 0 && counts.candidate > 0 && steps.baseline == steps.candidate;
    if is_known || !is_on_both || counts.baseline == counts.candidate {
        return;
    }
    let at = drafts.draft(ChangeKind::Ops, Subject::Whole);
    for side in Side::BOTH {
        drafts.at(at).names[side].insert(ACCUMULATION.to_owned(), counts[side]);
    }
}

/// By how many calls of a layer the other side differs; `None` if the ops do not say so.
fn more(layer: &Layer<'_>, known: Side, totals: &PerSide<Ops<'_>>, steps: i64) -> Option<i64> {
    let per_call = |name: &str| {
        let ops = layer.ops.get(name).copied().unwrap_or(0);
        (ops % layer.calls == 0).then_some(ops / layer.calls)
    };
    let names: BTreeSet<&str> =
        totals.baseline.keys().chain(totals.candidate.keys()).copied().collect();
    let mut more: Option<i64> = None;
    for name in names.into_iter().filter(|name| is_library(name)) {
        let (differs, each) = (difference(totals, known, name), per_call(name)?);
        match (each, differs, more) {
            (0, 0, _) => {}
            (0, ..) => return None,
            (_, _, None) if differs % each == 0 => more = Some(differs / each),
            (_, _, Some(more)) if differs == more * each => {}
            _ => return None,
        }
    }
    let more = more.filter(|&more| more != 0 && more % steps == 0 && layer.calls + more > 0)?;
    let is_part =
        |name: &&str| difference(totals, known, name) * layer.calls == more * layer.ops[*name];
    let has_parts = || layer.parts.len() >= FEWEST_PARTS && layer.parts.iter().all(&is_part);
    (library(&layer.ops) / layer.calls >= FEWEST || has_parts()).then_some(more)
}

/// How many more ops of a name the side has that did not record the layer.
fn difference(totals: &PerSide<Ops<'_>>, known: Side, name: &str) -> i64 {
    let of = |side: Side| totals[side].get(name).copied().unwrap_or(0);
    of(known.other()) - of(known)
}

fn is_library(name: &str) -> bool {
    LIBRARY.contains(&name) || backend(name).is_some()
}

fn library(ops: &Ops<'_>) -> i64 {
    ops.iter().filter(|(name, _)| is_library(name)).map(|(_, count)| count).sum()
}

/// Reports the number of calls, and merges what only these calls explain into the change.
fn report(drafts: &mut Drafts<'_>, counts: &Counts<'_>) {
    let Counts { layer, totals, .. } = counts;
    let (known, more) = (counts.known, counts.more);
    let at = drafts.draft(ChangeKind::Layers, Subject::Class(layer.class.to_owned()));
    if drafts.at(at).counts.is_some() {
        return;
    }
    let calls = PerSide::from_fn(|side| layer.calls + if side == known { 0 } else { more });
    drafts.at(at).counts = Some(calls.map(|calls| calls as u64));
    let node = drafts.diff.merged().of(known, layer.first);
    drafts.at(at).position = Position::above(drafts.diff, node);
    drafts.at(at).has_forward = true;
    let is_model = drafts.at(at).position.module.is_empty();
    let is_explained = |name: &str| {
        let of = |side: Side| totals[side].get(name).copied().unwrap_or(0);
        let each = layer.ops.get(name).copied().unwrap_or(0);
        let is_repeated =
            of(Side::Baseline) * calls.candidate == of(Side::Candidate) * calls.baseline;
        difference(totals, known, name) * layer.calls == more * each || is_model && is_repeated
    };
    let kinds = [ChangeKind::Ops, ChangeKind::Attention, ChangeKind::InputPipeline];
    for other in kinds.into_iter().flat_map(|kind| drafts.find(kind)).collect::<Vec<usize>>() {
        let draft = &drafts.all()[other];
        if names(draft).next().is_some() && names(draft).all(is_explained) {
            drafts.merge(other, at);
        }
    }
}

/// The ops of the forward pass on one side.
fn forward<'a>(drafts: &Drafts<'a>, side: Side) -> Ops<'a> {
    let mut ops = Ops::new();
    let tree = drafts.diff.tree(side);
    for call in forward_calls(drafts, side) {
        *ops.entry(tree.name(call)).or_default() += 1;
    }
    ops
}

/// The ops in the compared steps that are not part of the backward pass or the optimizer.
fn forward_calls<'a>(drafts: &Drafts<'a>, side: Side) -> impl Iterator<Item = CallId> + use<'a> {
    let (diff, compared) = (drafts.diff, drafts.compared);
    let tree = diff.tree(side);
    let mut end = CallId(0);
    tree.calls().filter(move |&call| {
        if tree.kind(call) != CallKind::Op || call < end {
            return false;
        }
        if tree.name(call).starts_with(AUTOGRAD_PREFIX) {
            end = tree.end(call);
            return false;
        }
        compared.is_compared(diff, side, call)
            && diff.phases(side).phase(call) != Phase::TrainOptimizer
    })
}

/// The module classes that one side recorded, by name.
fn layers<'a>(drafts: &Drafts<'a>, side: Side) -> BTreeMap<&'a str, Layer<'a>> {
    let tree = drafts.diff.tree(side);
    let class = |module: CallId| ModuleName::class_or_name(tree.name(module));
    let mut layers: BTreeMap<&str, Layer<'_>> = BTreeMap::new();
    let mut known: BTreeSet<CallId> = BTreeSet::new();
    for call in forward_calls(drafts, side) {
        let mut classes: BTreeSet<&str> = BTreeSet::new();
        for module in tree.module_stack(call) {
            let layer = layers.entry(class(module)).or_insert_with(|| Layer {
                class: class(module),
                first: module,
                calls: 0,
                ops: Ops::new(),
                parts: BTreeSet::new(),
            });
            layer.calls += i64::from(known.insert(module));
            if classes.insert(class(module)) {
                *layer.ops.entry(tree.name(call)).or_default() += 1;
                if tree.parent(call).is_some_and(|above| tree.kind(above) != CallKind::Op) {
                    layer.parts.insert(tree.name(call));
                }
            }
        }
    }
    layers
}
