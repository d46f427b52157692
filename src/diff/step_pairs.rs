//! Two traces with different numbers of steps → the steps that are compared.
//!
//! ```text
//! trace1   A   B   C                 matched by what the steps do; on a tie by their
//! trace2       B   C   D   E         token counts, then their numbers, then their order
//! ```
//! Steps of different phases are never compared. The alignment does not see the calls of a step
//! without a counterpart, so that it cannot match them to calls of a step that is compared.

use super::outline::{Outline, Token};
use crate::program::{Program, StepId, StepSpan, Steps};
use crate::side::{PerSide, Side};
use crate::tree::CallId;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// Maximum number of step pairs to weigh; beyond it, steps are matched by position.
const CELLS: usize = 1 << 20;

/// Similarity of two steps is measured in twentieths. Smaller differences do not count, because two
/// recordings of one step are never quite the same.
const PARTS: usize = 20;

/// Similarity of two steps that make the same calls.
const EQUAL: usize = PARTS + 1;

/// The steps that are compared, in order.
pub(super) type StepPairs = Vec<(StepId, StepId)>;

/// Matches the steps of both sides. `None` if both have the same number of steps, so that their
/// order decides, and if no steps can be compared.
pub(super) fn pair_steps(
    programs: PerSide<&Program>,
    outlines: PerSide<&Outline<'_>>,
) -> Option<StepPairs> {
    let steps = programs.map(Program::steps);
    let counts = steps.map(Steps::len);
    if counts.baseline == counts.candidate || counts.baseline.min(counts.candidate) == 0 {
        return None;
    }
    let pairs = match counts.baseline.saturating_mul(counts.candidate) > CELLS {
        true => in_order(steps),
        false => {
            let mut contents = Contents::new(steps, outlines);
            path(counts, |a, b| {
                let likeness = contents.likeness(a, b);
                Worth::of_spans(steps, a, b).map(|worth| Worth { likeness, ..worth })
            })
        }
    };
    (!pairs.is_empty()).then_some(pairs)
}

/// For each call, whether it is in a step without a counterpart and nothing below it is in a compared
/// step; empty if no step is without a counterpart.
pub(super) fn left_out(
    programs: PerSide<&Program>,
    pairs: Option<&[(StepId, StepId)]>,
) -> PerSide<Vec<bool>> {
    PerSide::from_fn(|side| {
        let (tree, steps) = (programs[side].tree(), programs[side].steps());
        let Some(pairs) = pairs.filter(|pairs| pairs.len() < steps.len()) else {
            return Vec::new();
        };
        let mut is_compared = vec![false; steps.len()];
        for &(a, b) in pairs {
            is_compared[PerSide::new(a, b)[side].index()] = true;
        }
        // How many calls before each position are in compared steps.
        let mut before = vec![0_u32; tree.len() + 1];
        for step in (0..).map(StepId).take(steps.len()).filter(|step| is_compared[step.index()]) {
            steps.calls_of(step).flatten().for_each(|at| before[at + 1] = 1);
        }
        (0..tree.len()).for_each(|at| before[at + 1] += before[at]);
        let mut left_out = vec![false; tree.len()];
        let alone = (0..).map(StepId).zip(is_compared).filter(|(_, is_compared)| !is_compared);
        for at in alone.flat_map(|(step, _)| steps.calls_of(step)).flatten() {
            let end = tree.end(CallId(at as u32)).index();
            left_out[at] = before[end] == before[at];
        }
        left_out
    })
}

/// The evidence for a pair of steps, most important field first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Worth {
    likeness: usize,
    has_same_tokens: bool,
    has_same_number: bool,
}

impl Worth {
    /// `None` for steps of different phases.
    fn of_spans(steps: PerSide<&Steps>, a: usize, b: usize) -> Option<Worth> {
        let (one, two): (&StepSpan, &StepSpan) =
            (&steps.baseline.spans()[a], &steps.candidate.spans()[b]);
        (one.phase == two.phase).then_some(Worth {
            likeness: 0,
            has_same_tokens: one.tokens == two.tokens,
            has_same_number: one.number == two.number,
        })
    }

    /// The worth as a number that can be added up. Every pair is worth something, so that as many
    /// steps as possible are compared.
    fn weight(self) -> u32 {
        1 + 2 * u32::from(self.has_same_number)
            + 8 * u32::from(self.has_same_tokens)
            + 32 * self.likeness as u32
    }
}

/// What each step does: the evidence tokens of its calls. Steps with equal tokens share one entry.
struct Contents {
    kinds: PerSide<Vec<usize>>,
    bags: Vec<Vec<Token>>,
    known: FxHashMap<(usize, usize), usize>,
}

impl Contents {
    fn new(steps: PerSide<&Steps>, outlines: PerSide<&Outline<'_>>) -> Contents {
        let mut numbers: FxHashMap<Vec<Token>, usize> = FxHashMap::default();
        let mut kinds: PerSide<Vec<usize>> = PerSide::default();
        for side in Side::BOTH {
            for step in (0..steps[side].len() as u32).map(StepId) {
                let calls = steps[side].calls_of(step).flatten();
                let tokens = calls.flat_map(|call| outlines[side].tokens(call as u32));
                let mut bag: Vec<Token> = tokens.flatten().collect();
                bag.sort_unstable();
                let next = numbers.len();
                kinds[side].push(*numbers.entry(bag).or_insert(next));
            }
        }
        let mut bags = vec![Vec::new(); numbers.len()];
        numbers.into_iter().for_each(|(bag, number)| bags[number] = bag);
        Contents { kinds, bags, known: FxHashMap::default() }
    }

    /// The similarity of two steps, from 0 to [`PARTS`], or [`EQUAL`].
    fn likeness(&mut self, a: usize, b: usize) -> usize {
        let kinds = (self.kinds.baseline[a], self.kinds.candidate[b]);
        if kinds.0 == kinds.1 {
            return EQUAL;
        }
        let bags = &self.bags;
        *self.known.entry(kinds).or_insert_with(|| likeness(&bags[kinds.0], &bags[kinds.1]))
    }
}

fn likeness(one: &[Token], two: &[Token]) -> usize {
    let (mut i, mut j, mut common) = (0, 0, 0);
    while let (Some(a), Some(b)) = (one.get(i), two.get(j)) {
        let order = a.cmp(b);
        common += usize::from(order == Ordering::Equal);
        i += usize::from(order != Ordering::Greater);
        j += usize::from(order != Ordering::Less);
    }
    match one.len() + two.len() {
        0 => PARTS,
        // The similarity is rounded, so that one or two calls make no difference.
        all => (2 * common * PARTS + all / 2) / all,
    }
}

/// Matches steps by position if their phases agree.
fn in_order(steps: PerSide<&Steps>) -> StepPairs {
    let ids = (0..steps.baseline.len().min(steps.candidate.len()) as u32).map(StepId);
    let of_one_phase = ids.filter(|id| Worth::of_spans(steps, id.index(), id.index()).is_some());
    of_one_phase.map(|id| (id, id)).collect()
}

/// The pairs, in order on both sides, with the largest total worth; among equals, the earliest
/// steps.
fn path(counts: PerSide<usize>, mut worth: impl FnMut(usize, usize) -> Option<Worth>) -> StepPairs {
    let (n, m) = (counts.baseline, counts.candidate);
    // The largest total worth of the steps from `a` and `b` on.
    let mut best = vec![0_u32; (n + 1) * (m + 1)];
    let at = |a: usize, b: usize| a * (m + 1) + b;
    let mut weight = |a: usize, b: usize| worth(a, b).map_or(0, Worth::weight);
    for a in (0..n).rev() {
        for b in (0..m).rev() {
            let paired = match weight(a, b) {
                0 => 0,
                weight => weight + best[at(a + 1, b + 1)],
            };
            best[at(a, b)] = paired.max(best[at(a + 1, b)]).max(best[at(a, b + 1)]);
        }
    }
    let (mut a, mut b, mut pairs) = (0, 0, StepPairs::new());
    while a < n && b < m {
        let weight = weight(a, b);
        if weight > 0 && best[at(a, b)] == weight + best[at(a + 1, b + 1)] {
            pairs.push((StepId(a as u32), StepId(b as u32)));
            (a, b) = (a + 1, b + 1);
        } else if best[at(a, b)] == best[at(a + 1, b)] {
            a += 1;
        } else {
            b += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired(one: &str, two: &str) -> Vec<(u32, u32)> {
        let (one, two) = (one.as_bytes(), two.as_bytes());
        let worth = |a: usize, b: usize| {
            let likeness = PARTS / (1 + usize::from(one[a].abs_diff(two[b])));
            Some(Worth { likeness, ..Worth::default() })
        };
        let pairs = path(PerSide::new(one.len(), two.len()), worth);
        pairs.into_iter().map(|(a, b)| (a.0, b.0)).collect()
    }

    #[test]
    fn steps_are_paired_by_what_they_do() {
        assert_eq!(paired("amz", "mz"), [(1, 0), (2, 1)]);
        assert_eq!(paired("mz", "amxz"), [(0, 1), (1, 3)]);
    }

    #[test]
    fn steps_that_do_the_same_are_paired_in_order() {
        assert_eq!(paired("aa", "aaaaa"), [(0, 0), (1, 1)]);
        assert_eq!(paired("aaaaa", "aa"), [(0, 0), (1, 1)]);
        assert_eq!(paired("az", "zzz"), [(0, 0), (1, 1)]);
    }

    #[test]
    fn numbers_decide_where_contents_do_not() {
        let numbers: PerSide<&[u64]> = PerSide::new(&[3, 4], &[1, 2, 3, 4, 5]);
        let worth = |a: usize, b: usize| {
            let has_same_number = numbers.baseline[a] == numbers.candidate[b];
            Some(Worth { likeness: 7, has_same_number, ..Worth::default() })
        };
        let pairs = path(PerSide::new(2, 5), worth);
        assert_eq!(pairs, [(StepId(0), StepId(2)), (StepId(1), StepId(3))]);
    }

    #[test]
    fn steps_of_two_phases_are_no_pair() {
        let worth = |a: usize, b: usize| (a % 2 == b % 2).then(Worth::default);
        let pairs = path(PerSide::new(1, 4), |_, b| worth(1, b));
        assert_eq!(pairs, [(StepId(0), StepId(1))]);
    }

    #[test]
    fn likeness_counts_what_both_have() {
        assert_eq!(likeness(&[1, 1, 2, 3], &[1, 1, 2, 3]), PARTS);
        assert_eq!(likeness(&[1, 1], &[1, 2]), PARTS / 2);
        assert_eq!((likeness(&[], &[]), likeness(&[1], &[])), (PARTS, 0));
    }
}
