//! Decides which steps of two traces are compared with each other.
//!
//! ```text
//! trace1   A   B   C                 matched by the calls in the steps; on a tie by
//! trace2       B   C   D   E         token counts, then step numbers, then order
//!
//! trace1   prefill 512   decode 4   decode 5      batches of an inference engine: equal batches first, of these
//! trace2   decode 4   prefill 500   decode 4      equal calls first, then similar batches of one class, in any order
//! ```
//! If both traces have the same number of steps and nothing shows that the steps run in a different order, steps are
//! compared by position. Otherwise, steps are matched by their contents. Matching by similarity never matches steps in
//! different phases. The alignment ignores the calls in a step without a counterpart, so these calls cannot match calls
//! in a compared step.

use super::outline::Outline;
use super::step_alternatives;
use super::step_contents::{Contents, PARTS, sums};
use crate::program::{BatchClass, Phase, Program, StepId, StepSpan, Steps};
use crate::side::{PerSide, Side};
use crate::tree::CallId;
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of step pairs to score. If there are more pairs, steps are matched by position.
const CELLS: usize = 1 << 20;

/// The pairs of compared steps, in order.
pub(super) type StepPairs = Vec<(StepId, StepId)>;

/// Matched steps, as positions.
#[derive(Debug, Default)]
struct Matched {
    pairs: Vec<(usize, usize)>,
    /// The baseline steps of the pairs that have an equally good alternative.
    doubtful: Vec<usize>,
}

/// Matches the steps of the two sides. Returns the pairs in baseline order, and the baseline steps of the pairs that
/// have an equally good alternative. The result is `None` if steps are compared by position or cannot be compared.
pub(super) fn pair_steps(
    programs: PerSide<&Program>,
    outlines: PerSide<&Outline<'_>>,
) -> Option<(StepPairs, Vec<StepId>)> {
    let steps = programs.map(Program::steps);
    let counts = steps.map(Steps::len);
    let are_many = counts.baseline.saturating_mul(counts.candidate) > CELLS;
    let is_one = counts.baseline == counts.candidate && counts.baseline <= 1;
    if counts.baseline.min(counts.candidate) == 0 || is_one {
        return None;
    }
    let batches = steps.map(batches_of);
    let Matched { pairs, doubtful } = match (batches.baseline, batches.candidate) {
        (Some(one), Some(two)) => pair_batches(steps, outlines, &PerSide::new(one, two)),
        _ if counts.baseline == counts.candidate => {
            permuted(&PerSide::from_fn(|side| sums(steps[side], outlines[side])))
        }
        _ if are_many => in_order(steps),
        _ => pair_like(steps, outlines, &counts.map(|count| (0..count).collect())),
    };
    let is_by_position = counts.baseline == counts.candidate
        && pairs.len() == counts.baseline
        && pairs.iter().all(|(a, b)| a == b);
    let id = |at: usize| StepId(at as u32);
    (!pairs.is_empty() && !is_by_position).then(|| {
        let pairs = pairs.into_iter().map(|(a, b)| (id(a), id(b)));
        (pairs.collect(), doubtful.into_iter().map(id).collect())
    })
}

/// Matches some of the steps of the two sides in order, by the similarity of their calls.
fn pair_like(
    steps: PerSide<&Steps>,
    outlines: PerSide<&Outline<'_>>,
    some: &PerSide<Vec<usize>>,
) -> Matched {
    let mut contents = Contents::new(steps, outlines);
    let kinds = contents.kinds.clone();
    let mut worth = |a: usize, b: usize| {
        let likeness = contents.likeness(a, b);
        Worth::of_spans(steps, a, b).map(|worth| Worth { likeness, ..worth })
    };
    let pairs = path(some.as_ref(), &mut worth);
    let doubtful = step_alternatives::doubtful(some.as_ref(), &pairs, &kinds, worth);
    Matched { pairs, doubtful }
}

/// Matches the steps of each kind in order if both sides run each kind of step equally often. Otherwise no step is
/// matched.
fn permuted<T: Ord + Copy>(kinds: &PerSide<Vec<T>>) -> Matched {
    let mut left = kinds.as_ref().map(|kinds| (0..kinds.len()).collect::<Vec<usize>>());
    let pairs = take_equal(&mut left, |side, at| kinds[side][at]);
    if !left.baseline.is_empty() || !left.candidate.is_empty() {
        return Matched::default();
    }
    Matched { pairs, ..Matched::default() }
}

/// The batch that an inference engine ran in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BatchOf {
    class: BatchClass,
    requests: u64,
    tokens: Option<u64>,
}

/// The batch of each step; `None` unless every step of the side has a batch.
fn batches_of(steps: &Steps) -> Option<Vec<BatchOf>> {
    let of = |span: &StepSpan| {
        Some(BatchOf {
            class: BatchClass::of(span)?,
            requests: span.requests?,
            tokens: span.tokens,
        })
    };
    steps.spans().iter().map(of).collect()
}

/// Matches steps by their batches: steps with identical batches first, of these the ones with the same calls or the
/// same arguments, then steps with the most similar batches of the same class. If the two sides share no batch class in a
/// phase, the steps of that phase are matched in order.
fn pair_batches(
    steps: PerSide<&Steps>,
    outlines: PerSide<&Outline<'_>>,
    batches: &PerSide<Vec<BatchOf>>,
) -> Matched {
    let all = batches.as_ref().map(|batches| (0..batches.len()).collect::<Vec<usize>>());
    let sums = PerSide::from_fn(|side| sums(steps[side], outlines[side]));
    let mut left = all.clone();
    let mut pairs = take_equal(&mut left, |side, at| (batches[side][at], sums[side][at]));
    let arguments = |side: Side, at: usize| sums[side][at].arguments;
    pairs.extend(take_equal(&mut left, |side, at| (batches[side][at], arguments(side, at))));
    pairs.extend(take_equal(&mut left, |side, at| batches[side][at]));
    // After sorting by size, similar batches of a class are close together.
    for side in Side::BOTH {
        left[side].sort_by_key(|&at| (batches[side][at], at));
    }
    let near = |a: usize, b: usize| {
        let (one, two) = (batches.baseline[a], batches.candidate[b]);
        (one.class == two.class).then(|| nearness(one, two))
    };
    let worth = |a, b| near(a, b).map(|likeness| Worth { likeness, ..Worth::default() });
    pairs.extend(path(left.as_ref(), worth));
    let mut doubtful = step_alternatives::doubtful(all.as_ref(), &pairs, &sums, |a, b| {
        let (one, two) = (sums.baseline[a], sums.candidate[b]);
        near(a, b).map(|near| (near, one.arguments == two.arguments, one == two))
    });
    let is_compared =
        |phase: Phase| pairs.iter().any(|&(a, _)| batches.baseline[a].class.phase == phase);
    let others = PerSide::from_fn(|side| {
        let all = 0..batches[side].len();
        all.filter(|&at| !is_compared(batches[side][at].class.phase)).collect::<Vec<usize>>()
    });
    let cells = others.baseline.len().saturating_mul(others.candidate.len());
    if (1..=CELLS).contains(&cells) {
        let more = pair_like(steps, outlines, &others);
        pairs.extend(more.pairs);
        doubtful.extend(more.doubtful);
    }
    pairs.sort_unstable();
    Matched { pairs, doubtful }
}

/// Removes the steps that have the same value on both sides, and returns them as pairs. Steps with
/// the same value are matched in order.
fn take_equal<T: Ord>(
    left: &mut PerSide<Vec<usize>>,
    value: impl Fn(Side, usize) -> T,
) -> Vec<(usize, usize)> {
    let mut places: BTreeMap<T, VecDeque<usize>> = BTreeMap::new();
    for &at in &left.candidate {
        places.entry(value(Side::Candidate, at)).or_default().push_back(at);
    }
    let mut taken = Vec::new();
    left.baseline.retain(|&a| {
        let equal = places.get_mut(&value(Side::Baseline, a)).and_then(VecDeque::pop_front);
        taken.extend(equal.map(|b| (a, b)));
        equal.is_none()
    });
    left.candidate = places.into_values().flatten().collect();
    left.candidate.sort_unstable();
    taken
}

/// The similarity of two batches of one class, from 0 to [`PARTS`].
fn nearness(one: BatchOf, two: BatchOf) -> usize {
    let of = |a: u64, b: u64| {
        let most = a.max(b).max(1);
        (u128::from(a.min(b)) * PARTS as u128 / u128::from(most)) as usize
    };
    let requests = of(one.requests, two.requests);
    let tokens = one.tokens.zip(two.tokens).map_or(requests, |(a, b)| of(a, b));
    requests.midpoint(tokens)
}

/// For each call of a trace, whether it is in one of the given steps; empty if there are no such steps.
pub(super) fn calls_in(program: &Program, some: &[StepId]) -> Vec<bool> {
    if some.is_empty() {
        return Vec::new();
    }
    let mut are_in = vec![false; program.tree().len()];
    some.iter().flat_map(|&step| program.steps().calls_of(step)).for_each(|calls| {
        are_in[calls].fill(true);
    });
    are_in
}

/// For each step on each side, the position of its pair in `pairs`; `None` if the step is not compared.
pub(super) fn positions(
    programs: PerSide<&Program>,
    pairs: &[(StepId, StepId)],
) -> PerSide<Vec<Option<usize>>> {
    let mut positions = programs.map(|program| vec![None; program.steps().len()]);
    for (at, (a, b)) in pairs.iter().enumerate() {
        positions.baseline[a.index()] = Some(at);
        positions.candidate[b.index()] = Some(at);
    }
    positions
}

/// For each call, whether to exclude it from the alignment. A call is excluded if it is in a step without a counterpart
/// and contains no call of a compared step. Empty if every step has a counterpart.
pub(super) fn left_out(
    programs: PerSide<&Program>,
    pairs: Option<&[(StepId, StepId)]>,
) -> PerSide<Vec<bool>> {
    let Some(pairs) = pairs else { return PerSide::default() };
    let positions = positions(programs, pairs);
    PerSide::from_fn(|side| {
        let (tree, steps) = (programs[side].tree(), programs[side].steps());
        let all = || (0..).map(StepId).zip(&positions[side]);
        if positions[side].iter().all(Option::is_some) {
            return Vec::new();
        }
        // For each call, the number of preceding calls that belong to compared steps.
        let mut before = vec![0_u32; tree.len() + 1];
        for (step, _) in all().filter(|(_, position)| position.is_some()) {
            steps.calls_of(step).flatten().for_each(|at| before[at + 1] = 1);
        }
        (0..tree.len()).for_each(|at| before[at + 1] += before[at]);
        let mut left_out = vec![false; tree.len()];
        let alone = all().filter(|(_, position)| position.is_none());
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
    /// The evidence from the token counts and step numbers of two steps; `None` if the steps are in different phases.
    fn of_spans(steps: PerSide<&Steps>, a: usize, b: usize) -> Option<Worth> {
        let (one, two): (&StepSpan, &StepSpan) =
            (&steps.baseline.spans()[a], &steps.candidate.spans()[b]);
        (one.phase == two.phase).then_some(Worth {
            likeness: 0,
            has_same_tokens: one.tokens == two.tokens,
            has_same_number: one.number == two.number,
        })
    }

    /// Combines the evidence for a pair into one number, so that the evidence for several pairs can be added up. The
    /// number is always positive, so additional pairs always increase the sum.
    fn weight(self) -> u32 {
        1 + 2 * u32::from(self.has_same_number)
            + 8 * u32::from(self.has_same_tokens)
            + 32 * self.likeness as u32
    }
}

/// Matches steps at the same position if they are in the same phase.
fn in_order(steps: PerSide<&Steps>) -> Matched {
    let all = 0..steps.baseline.len().min(steps.candidate.len());
    let of_one_phase = all.filter(|&at| Worth::of_spans(steps, at, at).is_some());
    Matched { pairs: of_one_phase.map(|at| (at, at)).collect(), ..Matched::default() }
}

/// Matches some of the steps in order, so that the total weight of the pairs is as large as possible. On a tie, the
/// earliest steps are matched.
fn path(
    some: PerSide<&Vec<usize>>,
    mut worth: impl FnMut(usize, usize) -> Option<Worth>,
) -> Vec<(usize, usize)> {
    let (n, m) = (some.baseline.len(), some.candidate.len());
    // The largest total weight of pairs if only the baseline steps from `a` on and the candidate steps from
    // `b` on are matched.
    let mut best = vec![0_u32; (n + 1) * (m + 1)];
    let at = |a: usize, b: usize| a * (m + 1) + b;
    let pair = |a: usize, b: usize| (some.baseline[a], some.candidate[b]);
    let mut weight = |a: usize, b: usize| {
        let (a, b) = pair(a, b);
        worth(a, b).map_or(0, Worth::weight)
    };
    for a in (0..n).rev() {
        for b in (0..m).rev() {
            let paired = match weight(a, b) {
                0 => 0,
                weight => weight + best[at(a + 1, b + 1)],
            };
            best[at(a, b)] = paired.max(best[at(a + 1, b)]).max(best[at(a, b + 1)]);
        }
    }
    let (mut a, mut b, mut pairs) = (0, 0, Vec::new());
    while a < n && b < m {
        let weight = weight(a, b);
        if weight > 0 && best[at(a, b)] == weight + best[at(a + 1, b + 1)] {
            pairs.push(pair(a, b));
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

    fn all(counts: [usize; 2]) -> PerSide<Vec<usize>> {
        let [baseline, candidate] = counts.map(|count| (0..count).collect());
        PerSide { baseline, candidate }
    }

    fn paired(one: &str, two: &str) -> Vec<(usize, usize)> {
        let (one, two) = (one.as_bytes(), two.as_bytes());
        let worth = |a: usize, b: usize| {
            let likeness = PARTS / (1 + usize::from(one[a].abs_diff(two[b])));
            Some(Worth { likeness, ..Worth::default() })
        };
        path(all([one.len(), two.len()]).as_ref(), worth)
    }

    #[test]
    fn steps_are_matched_by_what_they_do() {
        assert_eq!(paired("amz", "mz"), [(1, 0), (2, 1)]);
        assert_eq!(paired("mz", "amxz"), [(0, 1), (1, 3)]);
    }

    #[test]
    fn steps_with_the_same_work_are_matched_in_order() {
        assert_eq!(paired("aa", "aaaaa"), [(0, 0), (1, 1)]);
        assert_eq!(paired("aaaaa", "aa"), [(0, 0), (1, 1)]);
        assert_eq!(paired("az", "zzz"), [(0, 0), (1, 1)]);
    }

    #[test]
    fn numbers_decide_if_contents_do_not() {
        let numbers: PerSide<&[u64]> = PerSide::new(&[3, 4], &[1, 2, 3, 4, 5]);
        let worth = |a: usize, b: usize| {
            let has_same_number = numbers.baseline[a] == numbers.candidate[b];
            Some(Worth { likeness: 7, has_same_number, ..Worth::default() })
        };
        assert_eq!(path(all([2, 5]).as_ref(), worth), [(0, 2), (1, 3)]);
    }

    #[test]
    fn steps_of_two_phases_are_not_matched() {
        let worth = |a: usize, b: usize| (a % 2 == b % 2).then(Worth::default);
        assert_eq!(path(all([1, 4]).as_ref(), |_, b| worth(1, b)), [(0, 1)]);
    }

    #[test]
    fn the_same_steps_in_another_order_are_matched_by_kind() {
        let pairs =
            |one: &[u64], two: &[u64]| permuted(&PerSide::new(one.to_vec(), two.to_vec())).pairs;
        assert_eq!(pairs(&[7, 9, 7, 7], &[7, 7, 9, 7]), [(0, 0), (1, 2), (2, 1), (3, 3)]);
        // One side has an additional step of one kind, so it is unclear which steps correspond.
        assert_eq!(pairs(&[7, 9, 7], &[7, 9, 9]), []);
    }

    #[test]
    fn equal_values_keep_their_order() {
        let mut left = PerSide::new(vec![0, 1, 2], vec![0, 1, 2, 3]);
        let values = PerSide::new(vec!['a', 'b', 'a'], vec!['c', 'a', 'a', 'a']);
        let taken = take_equal(&mut left, |side, at| values[side][at]);
        assert_eq!(taken, [(0, 1), (2, 2)]);
        assert_eq!((left.baseline, left.candidate), (vec![1], vec![0, 3]));
    }
}
