//! Finds reasons why two recordings cannot be compared, and writes notes about differences in how they were recorded.

use super::context::Context;
use crate::recording::{Captured, Range, Recording};
use std::collections::BTreeMap;
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::ChangeKind;
use tracetree::diff::MergedNode;
use tracetree::program::{Obstacle, counted};
use tracetree::side::{PerSide, Side};
use tracetree::tree::CallKind;

/// Maximum number of names in a note.
const EXAMPLES: usize = 4;

/// The two sides are considered different programs if more than this share of their ops is neither matched nor part of
/// an explained change.
const OTHER_PROGRAM: f64 = 0.5;

/// The reasons why the sides cannot be compared, except for obstacles that the rules tolerate.
pub(super) fn reasons(context: &Context<'_>) -> Vec<String> {
    let facts = PerSide::new(&context.baseline.facts, &context.candidate.facts);
    let obstacles = Obstacle::between(facts, context.rules.lost_launches);
    let is_refused = |obstacle: &&Obstacle| !is_tolerated(context, obstacle);
    obstacles.iter().filter(is_refused).map(Obstacle::to_string).collect()
}

fn is_tolerated(context: &Context<'_>, obstacle: &Obstacle) -> bool {
    context.rules.tolerate.iter().any(|code| code == obstacle.code())
}

/// Why the sides are considered different programs; `None` if they are not. Ops that were replaced by a compiled
/// region, a graph or another optimization do not make the programs different.
pub(super) fn other_program(analysis: &Analysis) -> Option<Obstacle> {
    let unknown = unknown_share(analysis);
    (unknown > OTHER_PROGRAM).then(|| {
        Obstacle::OtherProgram(format!(
            "different programs: {:.0}% of the ops in a step have no counterpart. Compare different programs with \
             `tracetree diff`",
            100.0 * unknown
        ))
    })
}

/// The reason that an obstacle gives, unless the rules tolerate it.
pub(super) fn refused(context: &Context<'_>, obstacle: Option<Obstacle>) -> Option<String> {
    obstacle.filter(|found| !is_tolerated(context, found)).map(|found| found.to_string())
}

/// The fraction of the ops in compared steps that are neither matched nor part of an explained change.
fn unknown_share(analysis: &Analysis) -> f64 {
    let diff = analysis.diff();
    let (mut all, mut unmatched) = (0_u64, 0_u64);
    let mut is_known = vec![false; diff.merged().len()];
    for change in analysis.changes().list() {
        let explains = !matches!(change.kind, ChangeKind::Ops | ChangeKind::Python);
        for node in change.nodes.iter().filter(|_| explains) {
            is_known[node.index()] = true;
        }
    }
    for (id, node) in diff.merged().nodes() {
        let above = diff.merged().parent(id).is_some_and(|above| is_known[above.index()]);
        // If a call belongs to an explained change, all calls below it are also explained.
        is_known[id.index()] |= above;
        for side in Side::BOTH {
            let Some(call) = node.call(side) else { continue };
            let is_op = analysis.tree(side).kind(call) == CallKind::Op;
            if is_op && analysis.compared().is_compared(analysis.diff(), side, call) {
                all += 1;
                let is_unmatched = matches!(node, MergedNode::Only(..)) && diff.is_difference(node);
                let is_replaced = diff.region_of(side, call).is_some();
                unmatched += u64::from(is_unmatched && !is_replaced && !is_known[id.index()]);
            }
        }
    }
    if all == 0 { 0.0 } else { unmatched as f64 / all as f64 }
}

/// Notes about differences between the two recordings.
pub(super) fn notes(baseline: &Recording, candidate: &Recording) -> Vec<String> {
    let mut notes = Vec::new();
    let steps = |side: &Recording| side.steps() as f64 / side.runs.len().max(1) as f64;
    if (steps(baseline) - steps(candidate)).abs() > 1e-9 {
        notes.push(format!(
            "different numbers of steps per run: {} | {}; all figures are per step",
            steps(baseline),
            steps(candidate)
        ));
    }
    for (side, word) in [(baseline, "baseline"), (candidate, "candidate")] {
        let counts = side.runs.iter().map(|run| run.steps);
        if counts.clone().min() != counts.max() {
            notes.push(format!(
                "the runs of the {word} have different numbers of steps; all figures are per step"
            ));
        }
    }
    notes.extend(graphs_note(baseline, candidate));
    notes
}

fn launches_graphs(side: &Recording) -> bool {
    side.counts.get("graph_launches").is_some_and(|launches| launches.most > 0)
}

/// Whether both sides launch graphs, but the two sides differ in whether all, some or none of these launches have
/// captures.
pub(super) fn has_other_captures(context: &Context<'_>) -> bool {
    let sides = [context.baseline, context.candidate];
    sides.iter().all(|side| launches_graphs(side))
        && sides[0].setup.captured != sides[1].setup.captured
}

fn graphs_note(baseline: &Recording, candidate: &Recording) -> Option<String> {
    let sides = [baseline, candidate];
    let words = |side: &Recording| match side.setup.captured {
        Captured::No => "without captures",
        Captured::Partly => "with captures for some launches",
        Captured::Wholly => "with captures",
    };
    let [one, two] = sides.map(|side| (launches_graphs(side), side.setup.captured));
    match (one, two) {
        ((true, one), (true, two)) if one != two => Some(format!(
            "graphs {} | {}: kernels are compared at the graph launches. Pass captures for both sides to compare \
             the captured calls",
            words(baseline),
            words(candidate)
        )),
        ((true, Captured::Wholly), (false, _)) | ((false, _), (true, Captured::Wholly)) => Some(
            "only one side launches graphs; the captured calls are compared with the other side's eager calls"
                .to_owned(),
        ),
        ((true, Captured::No), (false, _)) | ((false, _), (true, Captured::No)) => Some(
            "only one side launches graphs, and the ops in the graphs are unknown. Pass the traces recorded while the \
             graphs were captured (--new-capture, --base-capture, `baseline record --capture`)"
                .to_owned(),
        ),
        (_, _) => None,
    }
}

/// A note that the arguments of ops could not be compared; `None` if shapes were recorded on both sides.
pub(super) fn shapes_note(context: &Context<'_>) -> Option<String> {
    let has_shapes = [context.baseline, context.candidate].map(|side| side.setup.has_shapes);
    (has_shapes != [true, true]).then(|| {
        "At least one side has no shapes, so dtype_change, shape_change and layout_change are not checked. Record \
         both sides using record_shapes"
            .to_owned()
    })
}

/// Warns that the counts cannot be trusted: some steps of one side lack calls that every step of the other side has.
/// `None` if no calls are missing.
pub(super) fn missing(context: &Context<'_>) -> Option<String> {
    let sides = [context.baseline, context.candidate];
    // Only the numbers of calls are compared. If a trace records times in whole microseconds, it may be ambiguous which
    // of two short calls contains the other, but not how many calls there are.
    let of = |counts: fn(&Recording) -> &BTreeMap<String, Range>| {
        let [one, two] = sides.map(counts);
        let mut names: Vec<String> = Vec::new();
        for (name, range) in one {
            let other = two.get(name).copied().unwrap_or_default();
            if lacks(*range, other) || lacks(other, *range) {
                names.push(name.replace('_', " "));
            }
        }
        names
    };
    let mut missing = of(|side| &side.ops);
    missing.extend(of(|side| &side.counts));
    missing.retain(|name| name != "copy bytes");
    (!missing.is_empty()).then(|| {
        format!(
            "some steps lack calls that every step on the other side has: {}; events may not have been recorded. \
             Record again",
            listed(&missing)
        )
    })
}

/// Whether all steps of `one` have the same number of calls, and some steps of `two` have fewer calls, but not all.
fn lacks(one: Range, two: Range) -> bool {
    !one.is_variable() && two.least < one.usual && two.most >= one.usual
}

/// The first few names, followed by the number of omitted names.
pub(super) fn listed(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(EXAMPLES).map(String::as_str).collect();
    match names.len().saturating_sub(EXAMPLES) {
        0 => shown.join(", "),
        more => format!("{} and {}", shown.join(", "), counted(more as u64, "more kind")),
    }
}

/// A note that no change was found although the programs cannot be called identical.
pub(super) fn identity_note(analysis: &Analysis) -> Option<String> {
    let remainder = analysis.changes().remainder()?;
    Some(format!("no change was found, but the programs cannot be called identical: {remainder}"))
}

/// The reason that calls have no counterpart although no change names them, so that no rule was applied to them.
pub(super) fn unnamed(analysis: &Analysis) -> Option<String> {
    let changes = analysis.changes();
    let remainder = changes.remainder().filter(|_| changes.unmatched_calls() > 0)?;
    Some(format!("no change names all calls that differ: {remainder}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_steps_can_lack_calls_that_all_steps_of_the_other_side_have() {
        let lacks =
            |one: [u64; 2], two: &[u64]| lacks(Range::of(one.into()), Range::of(two.into()));
        assert!(lacks([2, 2], &[1, 2, 2]) && lacks([2, 2], &[0, 0, 2]));
        // The calls vary on both sides, no step lacks them, or all steps do.
        assert!(
            !lacks([1, 2], &[0, 1, 2]) && !lacks([2, 2], &[2, 2, 3]) && !lacks([2, 2], &[1, 1])
        );
    }
}
