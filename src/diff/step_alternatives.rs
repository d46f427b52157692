//! Finds the pairs of steps for which an equally good alternative exists.
//!
//! ```text
//! trace1   decode at 513   decode at 132      each is a decode of one request, at another position of its text:
//! trace2   decode at 600                      nothing shows which of the two is the counterpart
//! ```
//! An alternative is a step without a counterpart, with other contents than the step that it would replace: if both have
//! the same contents, either of them shows the same differences.

use crate::side::{PerSide, Side};

/// The baseline steps of the pairs for which an equally good alternative exists. `some` contains the steps that could be
/// matched, `kinds` the contents of each step of the trace, and `worth` measures a pair.
pub(super) fn doubtful<K: PartialEq, W: PartialOrd>(
    some: PerSide<&Vec<usize>>,
    pairs: &[(usize, usize)],
    kinds: &PerSide<Vec<K>>,
    mut worth: impl FnMut(usize, usize) -> Option<W>,
) -> Vec<usize> {
    let alone = PerSide::from_fn(|side| {
        let mut is_alone = vec![true; kinds[side].len()];
        pairs.iter().for_each(|&(a, b)| is_alone[PerSide::new(a, b)[side]] = false);
        some[side].iter().copied().filter(|&step| is_alone[step]).collect::<Vec<usize>>()
    });
    let mut has_alternative = |(a, b): (usize, usize)| {
        let own = worth(a, b);
        let replaced = PerSide::new(a, b);
        Side::BOTH.into_iter().any(|side| {
            let kind = |step: usize| &kinds[side][step];
            let others = alone[side].iter().filter(|&&step| kind(step) != kind(replaced[side]));
            others.copied().any(|step| {
                let other = match side {
                    Side::Baseline => worth(step, b),
                    Side::Candidate => worth(a, step),
                };
                other.is_some() && other >= own
            })
        })
    };
    pairs.iter().copied().filter(|&pair| has_alternative(pair)).map(|(a, _)| a).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The baseline steps in doubt, if steps are worth more the less their contents differ.
    fn in_doubt(one: &[u32], two: &[u32], pairs: &[(usize, usize)], unit: u32) -> Vec<usize> {
        let all = PerSide::new((0..one.len()).collect(), (0..two.len()).collect());
        let kinds = PerSide::new(one.to_vec(), two.to_vec());
        doubtful(all.as_ref(), pairs, &kinds, |a, b| Some(1000 - one[a].abs_diff(two[b]) / unit))
    }

    #[test]
    fn a_step_that_fits_as_well_puts_a_pair_in_doubt() {
        let pairs = [(1, 0), (2, 1)];
        assert!(in_doubt(&[513, 132, 133], &[132, 134], &pairs, 1).is_empty());
        assert_eq!(in_doubt(&[513, 132, 133], &[132, 134], &pairs, 1000), [1, 2]);
        assert_eq!(in_doubt(&[132, 134], &[513, 132, 133], &[(0, 1), (1, 2)], 1000), [0, 1]);
    }

    #[test]
    fn a_step_with_the_same_contents_puts_no_pair_in_doubt() {
        assert!(in_doubt(&[7, 7, 7], &[7, 8], &[(0, 0), (1, 1)], 1).is_empty());
    }
}
