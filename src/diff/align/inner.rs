//! Decides whether one of two calls with the same name is a wrapper around the other.

use crate::diff::outline::Outline;
use crate::side::{PerSide, Side};

/// Compares two calls with the same name. Returns whether one of them is identical to a call inside the other, for
/// example because `aten::view` calls `aten::view`. If so, the outer call is a wrapper.
///
/// Returns false if both calls have the same arguments and the outer call contains nothing except the inner call. In
/// this case, the opposite side may simply lack the inner call, so the two calls should be matched.
pub(super) fn is_one_inside_other(outlines: PerSide<&Outline<'_>>, a: u32, b: u32) -> bool {
    let same_arguments =
        outlines.baseline.arguments[a as usize] == outlines.candidate.arguments[b as usize];
    let holds = |side: Side, outer: u32, inner: u32| {
        let (mine, theirs) = (outlines[side], outlines[side.other()]);
        let (key, exact) = (theirs.keys[inner as usize], theirs.exact[inner as usize]);
        let holds_more = || mine.weight(outer) > mine.own_weight(outer) + theirs.weight(inner);
        let holds_it = |call: u32| {
            let equal = |at: usize| mine.keys[at] == key && mine.exact[at] == exact;
            mine.each_child(call).any(|below| equal(below as usize))
        };
        // Starts at the outer call and, at each level, descends to the first child with the same name.
        let next =
            |call: &u32| mine.each_child(*call).find(|&below| mine.keys[below as usize] == key);
        mine.weight(outer) > theirs.weight(inner)
            && (!same_arguments || holds_more())
            && std::iter::successors(Some(outer), next).any(holds_it)
    };
    holds(Side::Baseline, a, b) || holds(Side::Candidate, b, a)
}
