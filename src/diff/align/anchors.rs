//! Finds the repetitions of a loop that correspond to each other, if most calls are equal in every repetition.
//!
//! ```text
//! trace1   n q ₁  n q ₂  n q ₃  n q ₄             only the call ₁, ₂, … differs from one repetition to the next,
//! trace2          n q ₂  n q ₃  n q ₄  n q ₅      such as an attention over a growing cache
//! ```
//! An alignment with as many equal calls as possible may match repetitions that are not equal, because all calls but
//! one are equal in any two of them. The calls that vary are therefore aligned on their own. Where the two alignments
//! contradict each other, the calls that vary become the anchors of a second alignment, which matches as many of them
//! as possible.

use super::plain::{plain_alignment, shared_tokens};
use crate::diff::keys::Key;
use crate::diff::weights::ANCHORS;
use crate::side::{PerSide, Side};
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::Hash;

type Pair = (usize, usize);

/// The key and the arguments of a call. `None` if the call has no arguments.
pub(super) type Shaped = Option<(Key, u32)>;

/// The anchors of two lists of calls, of which `found` are matched so far.
pub(super) fn anchors(lists: PerSide<&[Shaped]>, found: &[Pair]) -> FxHashSet<(Key, u32)> {
    if found.iter().all(|&(i, j)| lists.baseline[i] == lists.candidate[j]) {
        return FxHashSet::default();
    }
    let varying = Varying::of(lists);
    let rows = lists.map(|list| -> (Vec<usize>, Vec<u64>) {
        let calls = list.iter().enumerate().filter_map(|(at, call)| Some((at, (*call)?)));
        calls.filter(|(_, call)| varying.contains(call)).map(|(at, call)| (at, token(call))).unzip()
    });
    let is_equal = |&(i, j): &Pair| {
        let (one, two) = (lists.baseline[i], lists.candidate[j]);
        one == two && one.is_some_and(|call| varying.contains(&call))
    };
    let found: Vec<Pair> = found.iter().copied().filter(is_equal).collect();
    let ((a_at, a), (b_at, b)) = (rows.baseline, rows.candidate);
    if shared_tokens(&a, &b) < found.len() + ANCHORS {
        return FxHashSet::default();
    }
    let equal = plain_alignment(&a, &b).into_iter().filter(|block| block.equal);
    let pairs = equal.flat_map(|block| block.a.zip(block.b)).map(|(i, j)| (a_at[i], b_at[j]));
    let mut anchors = FxHashSet::default();
    for stretch in contradictions(&pairs.collect::<Vec<Pair>>(), &found) {
        if varying.are_most_of(lists, &stretch) {
            anchors.extend(stretch.iter().filter_map(|&(i, _)| lists.baseline[i]));
        }
    }
    anchors
}

/// The token of a call.
pub(super) fn token((key, arguments): (Key, u32)) -> u64 {
    u64::from(key.0) << 32 | u64::from(arguments)
}

/// How often each call and each key occurs in two lists.
struct Varying {
    calls: PerSide<FxHashMap<(Key, u32), usize>>,
    keys: PerSide<FxHashMap<Key, usize>>,
    /// How often most calls occur.
    usual: usize,
}

impl Varying {
    fn of(lists: PerSide<&[Shaped]>) -> Varying {
        let of = |side: Side| lists[side].iter().flatten().copied();
        let calls = PerSide::from_fn(|side| counted(of(side)));
        let keys = PerSide::from_fn(|side| counted(of(side).map(|(key, _)| key)));
        let all = Side::BOTH.into_iter().flat_map(|side| of(side).map(move |call| (side, call)));
        let mut counts: Vec<usize> = all.map(|(side, call)| calls[side][&call]).collect();
        let middle = counts.len() / 2;
        let usual = if counts.is_empty() { 0 } else { *counts.select_nth_unstable(middle).1 };
        Varying { calls, keys, usual }
    }

    /// Whether a call occurs on both sides, and much less often than most calls and than calls of its name.
    fn contains(&self, call: &(Key, u32)) -> bool {
        Side::BOTH.into_iter().all(|side| self.varies(side, call))
    }

    fn varies(&self, side: Side, call: &(Key, u32)) -> bool {
        self.calls[side]
            .get(call)
            .is_some_and(|count| 2 * count <= self.usual.min(self.keys[side][&call.0]))
    }

    /// Whether a stretch of matches contains three quarters of the calls that vary, in its range of one of the lists. In
    /// a program with other shapes, a few calls have the arguments of other calls by chance.
    fn are_most_of(&self, lists: PerSide<&[Shaped]>, stretch: &[Pair]) -> bool {
        let (Some(first), Some(last)) = (stretch.first(), stretch.last()) else { return false };
        let ranges = PerSide::new(first.0..=last.0, first.1..=last.1);
        Side::BOTH.into_iter().any(|side| {
            let calls = lists[side][ranges[side].clone()].iter().flatten();
            let varying = calls.filter(|call| self.varies(side, call)).count();
            4 * stretch.len() >= 3 * varying
        })
    }
}

fn counted<T: Eq + Hash>(all: impl Iterator<Item = T>) -> FxHashMap<T, usize> {
    let mut counts = FxHashMap::default();
    all.for_each(|one| *counts.entry(one).or_default() += 1);
    counts
}

/// The stretches of matches in `varying` that contradict `found`. Between two matches that both lists contain, there must
/// be at least [`ANCHORS`] more of them than in `found`, and half as many again.
fn contradictions(varying: &[Pair], found: &[Pair]) -> Vec<Vec<Pair>> {
    let mut anchors = Vec::new();
    let mut stretch: Vec<Pair> = Vec::new();
    let mut from = 0;
    for pair in varying.iter().map(Some).chain([None]) {
        let common = match pair {
            None => found.len(),
            Some(pair) => match found.binary_search(pair) {
                Ok(at) => at,
                Err(_) => {
                    stretch.push(*pair);
                    continue;
                }
            },
        };
        let others = common - from;
        if stretch.len() >= ANCHORS + others && 2 * stretch.len() >= 3 * others {
            anchors.push(std::mem::take(&mut stretch));
        }
        stretch.clear();
        from = common + 1;
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The anchors of two lists, in which each pair of letters is the name and the arguments of a call.
    fn found(a: &str, b: &str, pairs: &[Pair]) -> Vec<String> {
        let list = |text: &str| -> Vec<Shaped> {
            let calls = text.as_bytes().chunks(2);
            calls.map(|call| Some((Key(u32::from(call[0])), u32::from(call[1])))).collect()
        };
        let (a, b) = (list(a), list(b));
        let letter = |code: u32| char::from(u8::try_from(code).expect("a letter"));
        let anchors = anchors(PerSide::new(&a, &b), pairs).into_iter();
        let mut anchors: Vec<String> = anchors
            .map(|(key, arguments)| [letter(key.0), letter(arguments)].iter().collect())
            .collect();
        anchors.sort();
        anchors
    }

    fn diagonal(length: usize) -> Vec<Pair> {
        (0..length).map(|at| (at, at)).collect()
    }

    #[test]
    fn the_calls_that_vary_contradict_a_match_with_another_repetition() {
        let (a, b) = ("n-q1n-q2n-q3n-q4", "n-q2n-q3n-q4n-q5");
        assert_eq!(found(a, b, &diagonal(8)), ["q2", "q3", "q4"]);
        let shifted: Vec<Pair> = (0..6).map(|at| (at + 2, at)).collect();
        assert!(found(a, b, &shifted).is_empty());
        // Two calls are too few.
        assert!(found("n-q1n-q2n-q3", "n-q2n-q3n-q4", &diagonal(6)).is_empty());
    }

    #[test]
    fn calls_that_are_equal_in_every_repetition_do_not_anchor() {
        // Another name, or other arguments, in each repetition.
        assert!(found("n-a-n-b-n-c-n-d-", "n-b-n-c-n-d-n-e-", &diagonal(8)).is_empty());
        assert!(found("q1q2q3q1q2q3", "q2q3q1q2q3q1", &diagonal(6)).is_empty());
    }

    #[test]
    fn as_many_matches_do_not_contradict() {
        let (varying, found) = ([(1, 0), (2, 1), (3, 2), (9, 9)], [(0, 5), (5, 6), (9, 9)]);
        assert!(contradictions(&varying, &found).is_empty());
        assert_eq!(contradictions(&varying, &found[2..]), [&varying[..3]]);
        assert!(contradictions(&varying, &varying).is_empty());
    }
}
