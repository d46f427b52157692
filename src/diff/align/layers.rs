//! Compensates for the lower scores of changed layers, in runs of similar layers that are longer on one side.
//!
//! ```text
//! trace1   L₀ L₁ L₂            without this, the best path would match L₀ L₂ L₃ and hide
//! trace2   L₀ L₁′ L₂ L₃        the changed layer (′) among the new ones
//! ```
//! In the longer run, a layer without an identical counterpart scores less than other layers, no matter which layer it
//! is matched with. The difference is therefore added to all scores of this layer. Leaving a changed layer unmatched
//! then costs as much as leaving any other layer unmatched, and the choice of unmatched layers depends only on instance
//! numbers and on the number of holes (gaps that exist on only one side).

use crate::diff::keys::Key;
use crate::diff::weights::{LAYER_CELLS, LAYERS};
use crate::side::{PerSide, Side};
use std::collections::BTreeMap;

/// A run: on each side, the positions of the elements that have the run's key.
pub(super) type Row = PerSide<Vec<usize>>;

/// Finds the runs that have more layers on one side than on the other. `layers` contains the positions and keys of the
/// elements that may be layers.
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

/// Determines how much is added to the scores of a layer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Credit {
    /// On the longer side: the score of the layer's best counterpart with a copy of itself, minus the best score of the
    /// layer. On the shorter side: 0, because all layers on this side find a counterpart.
    lacks: i64,
    /// The limit for a score including credit. On the shorter side: the best score of the layer. On the longer side: no
    /// limit.
    best: i64,
}

impl Credit {
    /// The amount that is added to the score of two layers.
    pub(super) fn with(self, other: Credit, score: i64) -> i64 {
        (self.lacks + other.lacks).min(self.best.min(other.best) - score).max(0)
    }

    /// The largest amount that can be added to the score of two layers.
    pub(super) fn most(self, other: Credit) -> i64 {
        self.lacks + other.lacks
    }
}

/// The credit of each layer in a run. The credit is `None` if a layer's best score is less than half of the score that
/// its best counterpart has with a copy of itself. The two elements are then considered different layers. `full`
/// contains the score of each element with a copy of itself.
pub(super) fn credits(
    row: &Row,
    full: PerSide<&[i64]>,
    mut score: impl FnMut(usize, usize) -> i64,
) -> PerSide<Vec<Option<Credit>>> {
    // The best score of each element, and the position of the counterpart with that score.
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
        let is_longer = row[side].len() > row[side.other()].len();
        let credit = |&(best, other): &(i64, usize)| {
            let full = full[side.other()][other];
            let credit = if is_longer {
                Credit { lacks: (full - best).max(0), best: i64::MAX }
            } else {
                Credit { lacks: 0, best }
            };
            (2 * best >= full).then_some(credit)
        };
        best[side].iter().map(credit).collect()
    })
}
