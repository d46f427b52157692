//! Matches the ops of compiled programs that run on a pool of threads.
//!
//! ```text
//! trace1   worker 1: a c     trace2   worker 1: a b c d     the same program
//!          worker 2: b d              worker 2:
//! ```
//! Which thread runs an op, and which ops run next to it, differs from run to run, so neither the thread nor the order
//! of the ops says anything about the program. The ops are therefore matched by their scopes, names and arguments, and
//! by the order in which they start.

use super::outline::Outline;
use super::pairing::Pairing;
use super::passes::Pass;
use super::relation::{NONE, Relation};
use super::step_pairs;
use crate::program::Program;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind};
use std::collections::BTreeMap;

/// An op that ran on a pool: where it belongs, what it did, and when it started.
struct Pooled {
    call: u32,
    step: Option<usize>,
    /// The names of the enclosing scopes, innermost first.
    scopes: Vec<u32>,
    name: u32,
    arguments: u32,
}

/// What two ops must have in common, from the strictest rule to the weakest.
type Rule = fn(&Pooled) -> (Option<usize>, &[u32], u32, u32);

const RULES: [Rule; 4] = [
    |op| (op.step, &op.scopes, op.name, op.arguments),
    |op| (op.step, &op.scopes, op.name, 0),
    |op| (op.step, &[], op.name, op.arguments),
    |op| (op.step, &[], op.name, 0),
];

/// Matches the pooled ops of both sides, instead of the matches that the order on each thread suggested.
pub(super) fn pair(
    programs: PerSide<&Program>,
    outlines: PerSide<&Outline<'_>>,
    pairing: &mut Pairing,
) {
    let pools = programs.map(|program| program.tree().pooled());
    if pools.baseline.is_empty() || pools.candidate.is_empty() {
        return;
    }
    // For each step on a side, a number that its counterpart has as well; `None` for a step that is not compared.
    let steps = match &pairing.steps {
        Some(pairs) => step_pairs::positions(programs, pairs),
        None => programs.map(|program| (0..program.steps().len()).map(Some).collect()),
    };
    let mut left = PerSide::from_fn(|side| {
        let is_op = |call: &&CallId| programs[side].tree().kind(**call) == CallKind::Op;
        let ops = pools[side].iter().filter(is_op);
        let ops =
            ops.filter_map(|&call| pooled(programs[side], outlines[side], &steps[side], call));
        ops.collect::<Vec<Pooled>>()
    });
    for side in Side::BOTH {
        for op in &left[side] {
            pairing.part(side, op.call);
        }
    }
    for rule in RULES {
        let mut groups: BTreeMap<_, PerSide<Vec<u32>>> = BTreeMap::new();
        for side in Side::BOTH {
            for op in &left[side] {
                let (step, scopes, name, arguments) = rule(op);
                let key = (step, scopes.to_vec(), name, arguments);
                groups.entry(key).or_default()[side].push(op.call);
            }
        }
        for group in groups.into_values() {
            for (one, two) in group.baseline.into_iter().zip(group.candidate) {
                pairing.link(one, two, (Relation::Moved, Pass::Pool));
            }
        }
        for side in Side::BOTH {
            left[side].retain(|op| pairing.counterparts[side][op.call as usize] == NONE);
        }
    }
}

/// An op of the pool; `None` if its step is not compared.
fn pooled(
    program: &Program,
    outline: &Outline<'_>,
    steps: &[Option<usize>],
    call: CallId,
) -> Option<Pooled> {
    let tree = program.tree();
    let scopes = tree.ancestors(call).filter(|&above| tree.kind(above) == CallKind::Frame);
    let step = match program.steps().step(call) {
        Some(step) => Some(steps[step.index()]?),
        None => None,
    };
    Some(Pooled {
        call: call.0,
        step,
        scopes: scopes.map(|scope| outline.keys[scope.index()].0).collect(),
        name: outline.keys[call.index()].0,
        arguments: outline.arguments[call.index()],
    })
}
