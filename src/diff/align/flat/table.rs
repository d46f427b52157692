//! Two lists of items → the matches that all best alignments have in common.
//!
//! Dynamic programming with gaps in two pieces: short gaps cost by the item, long ones hardly more. Among
//! alignments of equal score, one traceback prefers matches early, another one late; matches that both
//! contain are firm.

use super::Item;
use super::likeness::{Likeness, POINT};
use crate::diff::align::plain::Block;

/// Opening a gap, and each item in it: for short gaps, and for long ones.
const GAPS: [(i32, i32); 2] = [(250, 25), (1200, 1)];
/// A match directly after another one.
const DIAGONAL: i32 = 35;
const NEVER: i32 = i32::MIN / 2;

/// For each row of the table 0..=n, the first and the last of the columns 0..=m to search.
pub(super) struct Band {
    rows: Vec<(usize, usize)>,
}

impl Band {
    pub(super) fn all(n: usize, m: usize) -> Band {
        Band { rows: vec![(0, m); n + 1] }
    }

    pub(super) fn around(blocks: &[Block], n: usize, m: usize, half: usize) -> Band {
        let mut rows = vec![(m, 0); n + 1];
        let mut widen = |row: usize, column: usize| {
            rows[row].0 = rows[row].0.min(column.saturating_sub(half));
            rows[row].1 = rows[row].1.max((column + half).min(m));
        };
        for block in blocks {
            for step in 0..=block.a.len() {
                let columns = (step * block.b.len()).checked_div(block.a.len()).unwrap_or(0);
                widen(block.a.start + step, block.b.start + columns);
            }
        }
        widen(0, 0);
        widen(n, m);
        for row in 1..=n {
            rows[row].1 = rows[row].1.max(rows[row - 1].1);
        }
        for row in (1..=n).rev() {
            rows[row - 1].0 = rows[row - 1].0.min(rows[row].0);
            rows[row].0 = rows[row].0.min(rows[row - 1].1);
        }
        Band { rows }
    }
}

/// How a state of a cell was reached. Bits: for each of the five states, which predecessors are best.
type Cell = u32;

/// States: a match; a gap of either piece on the baseline (its item is skipped), or on the candidate.
const STATES: usize = 5;
const MATCH: usize = 0;

/// The firm matches of two lists, ascending on both sides.
pub(super) fn firm_pairs(
    a: &[Item],
    b: &[Item],
    band: &Band,
    likeness: &mut Likeness<'_>,
) -> Vec<(usize, usize)> {
    let table = Table::fill(a, b, band, likeness);
    let early = table.trace(a.len(), b.len(), false);
    let late = table.trace(a.len(), b.len(), true);
    let mut late = late.into_iter().peekable();
    early
        .into_iter()
        .filter(|pair| {
            while late.next_if(|other| other < pair).is_some() {}
            late.peek() == Some(pair)
        })
        .collect()
}

struct Table<'b> {
    band: &'b Band,
    /// Where the cells of each row begin.
    starts: Vec<usize>,
    /// For each state 5 bits: the states of the previous cell from which it is reached best.
    cells: Vec<Cell>,
    /// The best states of the last cell.
    last: u8,
}

impl<'b> Table<'b> {
    fn fill(a: &[Item], b: &[Item], band: &'b Band, likeness: &mut Likeness<'_>) -> Table<'b> {
        let mut starts = Vec::with_capacity(a.len() + 1);
        let mut size = 0;
        for &(from, to) in &band.rows {
            starts.push(size);
            size += to - from + 1;
        }
        let mut cells: Vec<Cell> = vec![0; size];
        let mut above: Vec<[i32; STATES]> = Vec::new();
        let mut above_from = 0;
        let mut last = 0;
        for (row, &(from, to)) in band.rows.iter().enumerate() {
            let mut here: Vec<[i32; STATES]> = Vec::with_capacity(to - from + 1);
            for column in from..=to {
                let at = |list: &[[i32; STATES]], from: usize, column: Option<usize>| {
                    column.and_then(|column| list.get(column.checked_sub(from)?)).copied()
                };
                let previous = column.checked_sub(1);
                let up = if row > 0 { at(&above, above_from, Some(column)) } else { None };
                let diagonal = if row > 0 { at(&above, above_from, previous) } else { None };
                let left = at(&here, from, previous);
                let mut states = [NEVER; STATES];
                let mut cell: Cell = 0;
                if row == 0 && column == 0 {
                    states[MATCH] = 0;
                }
                if let Some(diagonal) = diagonal {
                    let score =
                        likeness.score(&a[row - 1], &b[column - 1]) * a[row - 1].weight / 100;
                    let with = |state: usize| {
                        diagonal[state] + score + if state == MATCH { DIAGONAL } else { 0 }
                    };
                    best(&mut states, &mut cell, MATCH, with);
                }
                if let Some(up) = up {
                    for (piece, (open, extend)) in GAPS.into_iter().enumerate() {
                        let state = 1 + piece;
                        best(&mut states, &mut cell, state, |from| {
                            up[from]
                                - extend * a[row - 1].weight / 100
                                - if from == state { 0 } else { open }
                        });
                    }
                }
                if let Some(left) = left {
                    for (piece, (open, extend)) in GAPS.into_iter().enumerate() {
                        let state = 3 + piece;
                        best(&mut states, &mut cell, state, |from| {
                            left[from]
                                - extend * b[column - 1].weight / 100
                                - if from == state { 0 } else { open }
                        });
                    }
                }
                cells[starts[row] + column - from] = cell;
                here.push(states);
            }
            if row + 1 == band.rows.len()
                && let Some(states) = here.last()
            {
                let most = states.iter().max().copied().unwrap_or(NEVER);
                last = states
                    .iter()
                    .enumerate()
                    .fold(0, |bits, (state, &score)| bits | u8::from(score == most) << state);
            }
            above = here;
            above_from = from;
        }
        Table { band, starts, cells, last }
    }

    /// The matches of one best alignment. `prefer_gaps` chooses between predecessors of equal score.
    fn trace(&self, n: usize, m: usize, prefer_gaps: bool) -> Vec<(usize, usize)> {
        let pick = |bits: u32| match prefer_gaps {
            true => bits.checked_ilog2().map(|bit| bit as usize),
            false => (bits != 0).then(|| bits.trailing_zeros() as usize),
        };
        let mut pairs = Vec::new();
        let (mut row, mut column) = (n, m);
        let mut state = pick(u32::from(self.last));
        while let Some(now) = state.filter(|_| row > 0 || column > 0) {
            let from = self.band.rows[row].0;
            let cell = self.cells[self.starts[row] + column - from];
            let bits = cell >> (STATES * now) & 0b11111;
            match now {
                MATCH => {
                    row -= 1;
                    column -= 1;
                    pairs.push((row, column));
                }
                1 | 2 => row -= 1,
                _ => column -= 1,
            }
            state = pick(bits);
        }
        pairs.reverse();
        pairs
    }
}

/// Sets a state to the best of its predecessors, and notes which those are.
fn best(states: &mut [i32; STATES], cell: &mut Cell, state: usize, with: impl Fn(usize) -> i32) {
    let scores: [i32; STATES] = std::array::from_fn(with);
    let most = scores.iter().max().copied().unwrap_or(NEVER);
    if most <= NEVER / 2 - POINT {
        return;
    }
    states[state] = most;
    let bits = scores.iter().enumerate().filter(|(_, score)| **score == most);
    *cell |= bits.fold(0, |bits, (from, _)| bits | 1 << from) << (STATES * state);
}
