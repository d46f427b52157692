//! Reports differences in driver allocations, loading of GPU code, waits for the GPU, and the number of streams.

use crate::analysis::account::{Row, RowKind};
use crate::analysis::changes::draft::Drafts;
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::place::Position;
use crate::analysis::changes::subject::Subject;
use crate::analysis::steps::StepPairs;
use crate::diff::{MergedId, TraceDiff};
use crate::program::{Measure, is_synchronisation};
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind};
use std::collections::{BTreeMap, BTreeSet};

/// Runtime calls that allocate or free device memory through the driver.
const ALLOCATIONS: [&str; 4] = ["cudaMalloc", "cudaFree", "hipMalloc", "hipFree"];
/// If both sides allocate memory through the driver, the numbers of calls are compared only if each side has at least
/// this many steps.
const FEWEST_STEPS: u64 = 2;
/// Runtime calls that load GPU code, which usually happens when a kernel runs for the first time.
const LOADS: [&str; 7] = [
    "cuLibraryLoadData",
    "cuModuleLoad",
    "cuModuleLoadData",
    "cuModuleLoadDataEx",
    "hipModuleLoad",
    "hipModuleLoadData",
    "hipModuleLoadDataEx",
];

/// Reports differences in driver allocations, loaded GPU code, waits for the GPU, and streams. `of_rows` contains the
/// attribution rows whose kernels differ between the sides, with their changes.
pub(in crate::analysis::changes) fn claim(drafts: &mut Drafts<'_>, of_rows: &[(usize, usize)]) {
    let compared = drafts.compared;
    let diff = drafts.diff;
    if drafts.ledger.measure() == Measure::GpuTime {
        let allocations = named(diff, compared, &ALLOCATIONS);
        only_on_one_side(drafts, ChangeKind::Allocator, &allocations);
        more_allocations(drafts, &allocations);
        let loads = named(diff, compared, &LOADS);
        only_on_one_side(drafts, ChangeKind::WarmUp, &loads);
        synchronizations(drafts);
        streams(drafts, of_rows);
    }
}

/// The runtime calls in compared steps whose names are in `names`.
fn named(diff: &TraceDiff, compared: &StepPairs, names: &[&str]) -> PerSide<Vec<CallId>> {
    PerSide::from_fn(|side| {
        let tree = diff.tree(side);
        let is_counted = |call: &CallId| {
            tree.kind(*call) == CallKind::Runtime
                && names.contains(&tree.name(*call))
                && compared.is_compared(diff, side, *call)
        };
        tree.calls().filter(is_counted).collect()
    })
}

/// Reports that one side calls the driver more often to allocate or free memory, if every step on this side makes more
/// of these calls than any step on the other side.
fn more_allocations(drafts: &mut Drafts<'_>, calls: &PerSide<Vec<CallId>>) {
    // For each side, the smallest and the largest number of calls in a step.
    let range = |side: Side| {
        let mut counts: BTreeMap<_, u64> = BTreeMap::new();
        for &call in &calls[side] {
            *counts.entry(drafts.diff.steps(side).step(call)?).or_default() += 1;
        }
        let steps = drafts.wall.totals(side).steps;
        let most = counts.values().copied().max()?;
        let least = counts.values().copied().min().filter(|_| counts.len() as u64 == steps);
        (steps >= FEWEST_STEPS).then_some((least.unwrap_or(0), most))
    };
    let PerSide { baseline: Some(one), candidate: Some(two) } = PerSide::from_fn(range) else {
        return;
    };
    let (more, less, side) = match (one.0 > two.1, two.0 > one.1) {
        (true, _) => (one, two, Side::Baseline),
        (_, true) => (two, one, Side::Candidate),
        (false, false) => return,
    };
    let sentence = format!(
        "The {} calls the driver more often to allocate or free device memory: at least {} times per step instead of \
         at most {}",
        side.word(),
        more.0,
        less.1
    );
    let at = drafts.draft(ChangeKind::Allocator, Subject::Sentence(sentence));
    for side in Side::BOTH {
        for &call in &calls[side] {
            if drafts.diff.counterpart(side, call).is_none() {
                drafts.add_root(at, drafts.diff.merged().of(side, call));
            }
        }
    }
}

/// Reports runtime calls that only one side makes. Driver allocations are reported only if they occur in every step,
/// because a single one may occur by chance.
fn only_on_one_side(drafts: &mut Drafts<'_>, kind: ChangeKind, calls: &PerSide<Vec<CallId>>) {
    let diff = drafts.diff;
    for side in Side::BOTH {
        let steps: BTreeSet<_> =
            calls[side].iter().map(|&call| diff.steps(side).step(call)).collect();
        let in_each = steps.len() as u64 >= drafts.wall.totals(side).steps.max(1);
        let counts = in_each || kind != ChangeKind::Allocator;
        if calls[side].is_empty() || !calls[side.other()].is_empty() || !counts {
            continue;
        }
        let at = drafts.draft(kind, Subject::Whole);
        for &call in &calls[side] {
            drafts.add_root(at, diff.merged().of(side, call));
            drafts.at(at).name(side, diff.tree(side).name(call));
        }
    }
}

/// Reports unmatched calls that wait for the GPU, except calls below an op that is itself unmatched or changed. A wait
/// is reported only if it occurs in every step, because a single wait may occur by chance.
fn synchronizations(drafts: &mut Drafts<'_>) {
    let diff = drafts.diff;
    let merged = diff.merged();
    let mut found: BTreeMap<(Side, Position), Vec<CallId>> = BTreeMap::new();
    for side in Side::BOTH {
        let tree = diff.tree(side);
        let is_alone = |call: &CallId| {
            tree.kind(*call) == CallKind::Runtime
                && !tree.is_gpu_path(*call)
                && diff.counterpart(side, *call).is_none()
                && is_synchronisation(tree.name(*call))
                && drafts.compared.is_compared(diff, side, *call)
        };
        for call in tree.calls().filter(is_alone) {
            let node = merged.of(side, call);
            let is_consequence = drafts.of_calls(node).is_some() || drafts.covering(node).is_some();
            if !is_consequence && diff.compiled_region_of(side, call).is_none() {
                let position = drafts.position_above(node);
                found.entry((side, position)).or_default().push(call);
            }
        }
    }
    for ((side, position), calls) in found {
        let steps: BTreeSet<_> = calls.iter().map(|&call| diff.steps(side).step(call)).collect();
        if (steps.len() as u64) < drafts.wall.totals(side).steps.max(1) {
            continue;
        }
        // Without stacks on one side, calls in a function have no counterpart, so only their number counts.
        let name = diff.tree(side).name(calls[0]);
        let count = named(diff, drafts.compared, &[name]).map(|calls| calls.len());
        if !drafts.is_placed() && count.baseline == count.candidate {
            continue;
        }
        let at = drafts.draft(ChangeKind::Synchronization, Subject::At(position.clone()));
        for call in calls {
            drafts.add_root(at, merged.of(side, call));
            drafts.at(at).name(side, diff.tree(side).name(call));
        }
        drafts.at(at).position = position;
    }
}

/// Reports that the two sides use different numbers of streams. Attribution rows whose kernels differ between the sides
/// are ignored, because a library may run its kernels on different streams. A graph runs on the streams on which the
/// program captured it, so its rows count, and its kernels differ as a consequence.
fn streams(drafts: &mut Drafts<'_>, of_rows: &[(usize, usize)]) {
    let diff = drafts.diff;
    let is_graph = |row: &Row| {
        let launches =
            |side: Side| row.calls[side].is_some_and(|call| diff.tree(side).is_graph_launch(call));
        launches(Side::Baseline) && launches(Side::Candidate)
    };
    let is_same = |at: &usize| {
        let row = &drafts.ledger.rows()[*at];
        is_graph(row)
            || row.kind != RowKind::Replaced
                && of_rows.binary_search_by_key(at, |of_row| of_row.0).is_err()
    };
    let counts = PerSide::from_fn(|side| {
        let tree = drafts.diff.tree(side);
        let of = |row: &Row| -> Vec<_> {
            let events = row.events[side].iter().filter_map(|&call| tree.event(call));
            events.filter_map(|event| tree.trace().stream(event)).collect()
        };
        let rows = drafts.ledger.rows().iter().enumerate().filter(|(at, _)| is_same(at));
        rows.flat_map(|(_, row)| of(row)).collect::<BTreeSet<_>>().len()
    });
    if counts.baseline != counts.candidate && counts.baseline.min(counts.candidate) > 0 {
        let at = drafts.draft(ChangeKind::Streams, Subject::Whole);
        drafts.at(at).counts = Some(counts.map(|count| count as u64));
        let merged = diff.merged();
        let is_graph = |&node: &MergedId| {
            let mut calls = merged.node(node).calls();
            calls.all(|(side, call)| diff.tree(side).is_graph_launch(call))
        };
        for kernels in drafts.find(ChangeKind::KernelSelection) {
            if drafts.all()[kernels].nodes.iter().all(is_graph) {
                drafts.fold(kernels, at);
            }
        }
    }
}
