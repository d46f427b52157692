//! Rows of alike siblings of which one side has more → what each of them lacks.
//!
//! ```text
//! trace1   L₀ L₁ L₂            without this, the path that loses least would match L₀ L₂ L₃: it hides
//! trace2   L₀ L₁′ L₂ L₃        the layer that changed (′) among those that are new
//! ```
//! A layer that has no equal counterpart is worth less than the others wherever it is matched.
//! Adding what it lacks to all its scores makes leaving it out as costly as leaving out any other
//! layer. The position of what is left out then depends on numbers and on the number of holes.

use crate::diff::keys::Key;
use crate::diff::weights::{LAYER_CELLS, LAYERS};
use crate::side::{PerSide, Side};
use std::collections::BTreeMap;

/// The positions of the elements of one key on each side.
pub(super) type Row = PerSide<Vec<usize>>;

/// The rows of layers of which one side has more. `layers` are the positions and keys of the elements
/// that may be layers.
pub(super) fn uneven(layers: PerSide<impl Iterator<Item = (usize, Key)>>) -> Vec<Row> {
    let mut rows: BTreeMap<Key, Row> = BTreeMap::new();
    for (side, layers) in Side::BOTH.into_iter().zip([layers.baseline, layers.candidate]) {
        layers.for_each(|(at, key)| rows.entry(key).or_default()[side].push(at));
    }
    let is_uneven = |row: &Row| {
        let (one, two) = (row.baseline.len(), row.candidate.len());
        one != two && one.min(two) >= LAYERS && one.saturating_mul(two) <= LAYER_CELLS
    };
    rows.into_values().filter(is_uneven).collect()
}

/// For each element of a row, what it lacks of the score that its best counterpart has with an equal
/// call. `None` for one that lacks so much that it is another layer. `full` is the score of each
/// element of the lists with an equal one.
pub(super) fn lacking(
    row: &Row,
    full: PerSide<&[i64]>,
    mut score: impl FnMut(usize, usize) -> i64,
) -> PerSide<Vec<Option<i64>>> {
    // The best score of each element, and the position of the counterpart that it has it with.
    let mut best = row.as_ref().map(|row| vec![(0, 0); row.len()]);
    for (one, &i) in row.baseline.iter().enumerate() {
        for (two, &j) in row.candidate.iter().enumerate() {
            let score = score(i, j);
            for (side, at, other) in [(Side::Baseline, one, j), (Side::Candidate, two, i)] {
                if score > best[side][at].0 {
                    best[side][at] = (score, other);
                }
            }
        }
    }
    PerSide::from_fn(|side| {
        let lacks = |&(score, other): &(i64, usize)| {
            let full = full[side.other()][other];
            (2 * score >= full).then(|| (full - score).max(0))
        };
        best[side].iter().map(lacks).collect()
    })
}
