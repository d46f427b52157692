//! Finds an exact longest common subsequence of two lists of tokens.
//!
//! For lists of moderate length, the table is computed 64 cells at a time. In the table of lengths `L(i, j)`,
//! the length increases by 0 or 1 from column to column, so one bit per column describes a row: the bit is 0
//! where the length increases. If `V` is a row and `M` marks the columns that contain the token of the next
//! row, then the next row is `(V + (V & M)) | (V & !M)` (Hyyrö, *Bit-parallel LCS-length computation
//! revisited*, 2004). All rows are kept, and the matches are found by tracing back through the rows.
//!
//! For longer lists with rare tokens, the subsequence is built match by match (Hunt and Szymanski, *A fast algorithm
//! for computing longest common subsequences*, 1977). For each length, the algorithm keeps the common subsequence that
//! ends earliest. A new match extends the longest kept subsequence that ends before the match.

use crate::diff::weights::{LCS_MATCHES, LCS_WORDS};
use rustc_hash::FxHashMap;

/// Returns the matched positions in a longest common subsequence, ascending on both sides. The result is `None` if the
/// table would exceed [`LCS_WORDS`] and the tokens are not rare.
pub(super) fn longest_common(a: &[u64], b: &[u64]) -> Option<Vec<(usize, usize)>> {
    let front = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let rest = a[front..].iter().rev().zip(b[front..].iter().rev());
    let back = rest.take_while(|(x, y)| x == y).count();
    let (inner_a, inner_b) = (&a[front..a.len() - back], &b[front..b.len() - back]);
    let inner = if inner_a.is_empty() || inner_b.is_empty() {
        Vec::new()
    } else {
        match table(inner_a, inner_b) {
            Some(table) => table.pairs(),
            None => of_rare_tokens(inner_a, inner_b)?,
        }
    };
    let mut pairs: Vec<(usize, usize)> = (0..front).map(|at| (at, at)).collect();
    pairs.extend(inner.into_iter().map(|(i, j)| (front + i, front + j)));
    pairs.extend((0..back).rev().map(|at| (a.len() - 1 - at, b.len() - 1 - at)));
    Some(pairs)
}

/// A match of two equal tokens: their positions, and the previous match in the longest common
/// subsequence that ends with this match.
struct Match {
    pair: (usize, usize),
    before: Option<usize>,
}

/// The matches of a longest common subsequence, found match by match. Returns `None` if there are
/// more than [`LCS_MATCHES`] matches per element.
fn of_rare_tokens(a: &[u64], b: &[u64]) -> Option<Vec<(usize, usize)>> {
    let positions = positions(b);
    let standing = |token: &u64| positions.get(token).map_or(&[][..], Vec::as_slice);
    let matches: usize = a.iter().map(|token| standing(token).len()).sum();
    if matches > LCS_MATCHES * (a.len() + b.len()) {
        return None;
    }
    let mut found: Vec<Match> = Vec::with_capacity(matches);
    // For each length, the last match of a common subsequence of this length. If there are several such subsequences,
    // the one that ends earliest is used.
    let mut ends: Vec<usize> = Vec::new();
    for (i, token) in a.iter().enumerate() {
        // Later positions are visited first, so no subsequence uses two matches of the same element.
        for &j in standing(token).iter().rev() {
            let length = ends.partition_point(|&end| found[end].pair.1 < j);
            let before = length.checked_sub(1).map(|shorter| ends[shorter]);
            match ends.get_mut(length) {
                Some(end) => *end = found.len(),
                None => ends.push(found.len()),
            }
            found.push(Match { pair: (i, j), before });
        }
    }
    let last = ends.last().map(|&last| &found[last]);
    let list = std::iter::successors(last, |one| one.before.map(|before| &found[before]));
    let mut pairs: Vec<(usize, usize)> = list.map(|one| one.pair).collect();
    pairs.reverse();
    Some(pairs)
}

/// The positions of each token, in ascending order.
fn positions(tokens: &[u64]) -> FxHashMap<u64, Vec<usize>> {
    let mut positions: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    for (at, &token) in tokens.iter().enumerate() {
        positions.entry(token).or_default().push(at);
    }
    positions
}

/// All rows of the table except row 0, whose lengths are all zero.
struct Table {
    bits: Vec<u64>,
    /// Words per row.
    words: usize,
    rows: usize,
    columns: usize,
}

fn table(a: &[u64], b: &[u64]) -> Option<Table> {
    let words = b.len().div_ceil(64);
    if words.saturating_mul(a.len()) > LCS_WORDS {
        return None;
    }
    let columns = columns_of(b, words);
    let mut bits = Vec::with_capacity(words * a.len());
    let mut row = vec![u64::MAX; words];
    let mut matches = vec![0; words];
    for token in a {
        match columns.get(token) {
            Some(Standing::Seldom(at)) => {
                at.iter().for_each(|&at| matches[at / 64] |= 1 << (at % 64));
                next(&mut row, &matches);
                at.iter().for_each(|&at| matches[at / 64] = 0);
            }
            Some(Standing::Often(matches)) => next(&mut row, matches),
            None => {}
        }
        bits.extend_from_slice(&row);
    }
    Some(Table { bits, words, rows: a.len(), columns: b.len() })
}

/// Replaces a row of the table with the next row.
fn next(row: &mut [u64], matches: &[u64]) {
    let mut carry = false;
    for (bits, &matches) in row.iter_mut().zip(matches) {
        let (sum, one) = bits.overflowing_add(*bits & matches);
        let (sum, two) = sum.overflowing_add(u64::from(carry));
        carry = one || two;
        *bits = sum | (*bits & !matches);
    }
}

/// The columns that contain a given token, as a list of positions or, if that takes less memory, as the bits
/// of a row. The columns of all tokens together therefore need at most a few times as much memory as the list
/// of tokens.
enum Standing {
    Seldom(Vec<usize>),
    Often(Vec<u64>),
}

/// The columns that contain each token of `b`.
fn columns_of(b: &[u64], words: usize) -> FxHashMap<u64, Standing> {
    let standing = |at: Vec<usize>| {
        if at.len() <= words {
            Standing::Seldom(at)
        } else {
            let mut bits = vec![0; words];
            at.iter().for_each(|&at| bits[at / 64] |= 1 << (at % 64));
            Standing::Often(bits)
        }
    };
    positions(b).into_iter().map(|(token, at)| (token, standing(at))).collect()
}

impl Table {
    /// Whether the length at `column` is greater than the length at the previous column, after `row` tokens.
    fn rises(&self, row: usize, column: usize) -> bool {
        row > 0 && self.bits[(row - 1) * self.words + column / 64] >> (column % 64) & 1 == 0
    }

    /// Finds the matches by walking back from the last cell of the table. If the length does not increase at a cell,
    /// the walk continues to the left. If the length also increases in the row above, the walk continues upward.
    /// Otherwise the cell's row and column form a match.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        let (mut row, mut columns) = (self.rows, self.columns);
        while row > 0 && columns > 0 {
            if !self.rises(row, columns - 1) {
                columns -= 1;
            } else if self.rises(row - 1, columns - 1) {
                row -= 1;
            } else {
                row -= 1;
                columns -= 1;
                pairs.push((row, columns));
            }
        }
        pairs.reverse();
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The length of a longest common subsequence, computed with the textbook table.
    fn length(a: &[u64], b: &[u64]) -> usize {
        let mut above = vec![0; b.len() + 1];
        for x in a {
            let mut row = vec![0];
            for (j, y) in b.iter().enumerate() {
                let diagonal = above[j] + usize::from(x == y);
                row.push(diagonal.max(above[j + 1]).max(row[j]));
            }
            above = row;
        }
        above[b.len()]
    }

    fn are_common(pairs: &[(usize, usize)], a: &[u64], b: &[u64]) -> bool {
        pairs.iter().all(|&(i, j)| a[i] == b[j])
            && pairs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1)
    }

    proptest! {
        #[test]
        fn the_subsequence_is_common_and_as_long_as_the_plain_method_finds(
            a in prop::collection::vec(0..6u64, 0..200),
            b in prop::collection::vec(0..6u64, 0..200),
        ) {
            let pairs = longest_common(&a, &b).expect("short lists");
            prop_assert!(are_common(&pairs, &a, &b));
            prop_assert_eq!(pairs.len(), length(&a, &b));
        }

        #[test]
        fn match_by_match_the_list_is_as_long(
            a in prop::collection::vec(0..200u64, 0..200),
            b in prop::collection::vec(0..200u64, 0..200),
        ) {
            let pairs = of_rare_tokens(&a, &b).expect("few matches");
            prop_assert!(are_common(&pairs, &a, &b));
            prop_assert_eq!(pairs.len(), length(&a, &b));
        }
    }

    #[test]
    fn a_match_in_one_machine_word_carries_into_the_next_word() {
        let b: Vec<u64> = (0..100).collect();
        assert_eq!(longest_common(&[70, 5], &b), Some(vec![(1, 5)]));
        assert_eq!(longest_common(&[5, 70], &b), Some(vec![(0, 5), (1, 70)]));
    }

    #[test]
    fn long_lists_are_solved_if_their_tokens_are_rare() {
        let size = 1 << 14;
        let long: Vec<u64> = (0..size).collect();
        let turned: Vec<u64> = (size / 2..size).chain(0..size / 2).collect();
        assert!(table(&long, &turned).is_none(), "too long for the table");
        let pairs = longest_common(&long, &turned).expect("each token stands once");
        assert_eq!(pairs.len() as u64, size / 2);
        let often: Vec<u64> = (0..size).map(|at| at % 7).collect();
        let other: Vec<u64> = (0..size).map(|at| at % 5).collect();
        assert_eq!(longest_common(&often, &other), None);
    }
}
