//! Removes matched pairs that contradict each other, so the remaining pairs fit into one tree.
//!
//! ```text
//! trace1   p            trace2   b
//!          └── a                 └── q        (a, b) and (p, q): each is above the other
//! ```
//! Contradicting pairs arise when a call moves into a call that it contained before. One tree cannot contain both
//! pairs, so one pair is dissolved. If exactly one pair moved, it is dissolved; otherwise, the pair that is lower in
//! the baseline is dissolved.

use super::pairing::Pairing;
use super::relation::{NONE, Relation};
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallTree};

/// Dissolves matched pairs until no two pairs contradict each other. A pair needs no check if the parents of
/// its calls match each other: every pair that contradicts it also contradicts the pair of parents.
pub(super) fn untangle(trees: PerSide<&CallTree>, pairing: &mut Pairing) {
    for a in trees.baseline.calls() {
        let b = pairing.counterparts.baseline[a.index()];
        if b == NONE || is_below_its_like(trees, pairing, a, CallId(b)) {
            continue;
        }
        let crossing: Vec<CallId> = trees
            .baseline
            .ancestors(a)
            .filter(|above| {
                let counterpart = pairing.counterparts.baseline[above.index()];
                counterpart != NONE && trees.candidate.is_below(CallId(counterpart), CallId(b))
            })
            .collect();
        if crossing.is_empty() {
            continue;
        }
        let moved = |call: CallId| pairing.relations.baseline[call.index()] == Relation::Moved;
        if !moved(a) && crossing.iter().all(|&above| moved(above)) {
            crossing.into_iter().for_each(|above| pairing.part(Side::Baseline, above.0));
        } else {
            pairing.part(Side::Baseline, a.0);
        }
    }
}

fn is_below_its_like(trees: PerSide<&CallTree>, pairing: &Pairing, a: CallId, b: CallId) -> bool {
    let [one, two] = [trees.baseline.parent(a), trees.candidate.parent(b)];
    match (one, two) {
        (Some(one), Some(two)) => pairing.counterparts.baseline[one.index()] == two.0,
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ReadOptions, Trace};

    fn tree(outer: &str, inner: &str) -> CallTree {
        let event = |name, start, duration| {
            format!(
                r#"{{"ph":"X","cat":"cpu_op","name":"{name}","pid":1,"tid":1,"ts":{start},"dur":{duration}}}"#
            )
        };
        let json = format!("[{},{}]", event(outer, 0, 9), event(inner, 1, 5));
        let trace = Trace::from_reader("t", json.as_bytes(), &ReadOptions::default());
        CallTree::build(trace.expect("a trace"))
    }

    /// A root with two nested calls below it. The outer call on each side is matched with the inner
    /// call on the opposite side.
    fn pairing(relations: [Relation; 2]) -> Pairing {
        let [outer, inner] = relations;
        Pairing {
            counterparts: PerSide::new(vec![0, 2, 1], vec![0, 2, 1]),
            relations: PerSide::new(
                vec![Relation::Same, outer, inner],
                vec![Relation::Same, inner, outer],
            ),
            ..Pairing::default()
        }
    }

    #[test]
    fn of_two_pairs_that_nest_in_opposite_order_one_is_removed() {
        let trees = PerSide::new(tree("p", "a"), tree("b", "q"));
        let mut pairs = pairing([Relation::Same, Relation::Same]);
        untangle(trees.as_ref(), &mut pairs);
        assert_eq!(pairs.counterparts.baseline, [0, 2, NONE]);
        assert_eq!(pairs.counterparts.candidate, [0, NONE, 1]);
        assert_eq!(pairs.relations.baseline[2], Relation::OnlyBaseline);
    }

    #[test]
    fn a_moved_pair_is_removed_before_one_that_did_not_move() {
        let trees = PerSide::new(tree("p", "a"), tree("b", "q"));
        let mut pairs = pairing([Relation::Moved, Relation::Same]);
        untangle(trees.as_ref(), &mut pairs);
        assert_eq!(pairs.counterparts.baseline, [0, NONE, 1]);
    }

    #[test]
    fn pairs_that_agree_stay() {
        let trees = PerSide::new(tree("p", "a"), tree("p", "a"));
        let mut pairs = pairing([Relation::Same, Relation::Same]);
        pairs.counterparts = PerSide::new(vec![0, 1, 2], vec![0, 1, 2]);
        untangle(trees.as_ref(), &mut pairs);
        assert_eq!(pairs.counterparts.baseline, [0, 1, 2]);
    }
}
