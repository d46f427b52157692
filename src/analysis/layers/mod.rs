//! Matches the layers of the two sides, and computes the time of each layer, and the time of each op in an average
//! layer.

mod ops;
mod pairs;

pub use ops::{LayerOpRow, Spread, layer_op_rows};
pub use pairs::{LayerPairs, PlacePair};

use crate::analysis::account::Ledger;
use crate::analysis::robust::{median, median_deviation};
use crate::diff::TraceDiff;
use crate::program::Phase;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallId;

/// A layer is an outlier if its time differs from the median time of the layers in the same stack and phase
/// by more than this many scaled median absolute deviations (Iglewicz and Hoaglin, *How to Detect and Handle
/// Outliers*, 1993).
const OUTLYING: f64 = 3.5;

/// The time of an outlier must also differ from the median by more than 1/`NOTABLE_SHARE` of the median.
/// Without this condition, layers with tiny differences would count as outliers, because the times of
/// identical layers have almost no spread.
const NOTABLE_SHARE: f64 = 20.0;

/// A row of `layers.csv`: the work of one phase in one layer, or outside of layers.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerRow {
    /// The layer that the row describes, or the kind of work outside of layers.
    pub place: PlacePair,
    /// The phase.
    pub phase: Phase,
    /// The measured events.
    pub events: PerSide<Vec<CallId>>,
    /// Total time of the measured events.
    pub time: PerSide<Nanos>,
    /// For each side, whether the layer's time is an outlier among the layers of the same stack and phase.
    pub outlier: PerSide<bool>,
}

impl LayerRow {
    /// Candidate − baseline.
    pub fn difference(&self) -> Nanos {
        self.time.candidate - self.time.baseline
    }

    /// Candidate time / baseline time; `None` if either time is zero.
    pub fn ratio(&self) -> Option<f64> {
        self.time.ratio()
    }
}

/// One row for each layer and phase, and rows for the work outside of layers. On each side, the times of
/// all rows add up to the total time.
pub fn layer_rows(diff: &TraceDiff, ledger: &Ledger, pairs: &LayerPairs) -> Vec<LayerRow> {
    let phases = PerSide::from_fn(|side| diff.phases(side));
    let keys = pairs.places().iter().flat_map(|&place| Phase::ALL.map(|phase| (place, phase)));
    let at = |side: Side, call| {
        pairs.place_of(side, call) * Phase::ALL.len() + phases[side].phase(call) as usize
    };
    let mut rows: Vec<LayerRow> = keys.map(empty_row).collect();
    for side in Side::BOTH {
        for &call in ledger.calls(side) {
            let row = &mut rows[at(side, call)];
            row.events[side].push(call);
            row.time[side] += ledger.time_of(diff, side, call);
        }
    }
    rows.retain(|row| Side::BOTH.iter().any(|&side| !row.events[side].is_empty()));
    for side in Side::BOTH {
        mark_outliers(&mut rows, side);
    }
    rows
}

fn empty_row((place, phase): (PlacePair, Phase)) -> LayerRow {
    LayerRow {
        place,
        phase,
        events: PerSide::default(),
        time: PerSide::default(),
        outlier: PerSide::default(),
    }
}

fn mark_outliers(rows: &mut [LayerRow], side: Side) {
    let stack = |row: &LayerRow| {
        let (stack, _) = row.place.stack_and_layers()?;
        (!row.events[side].is_empty()).then_some((stack, row.phase))
    };
    let groups: std::collections::BTreeSet<_> = rows.iter().filter_map(stack).collect();
    for group in groups {
        let of_group = |row: &&mut LayerRow| stack(row) == Some(group);
        let mut members: Vec<&mut LayerRow> = rows.iter_mut().filter(of_group).collect();
        let times: Vec<f64> = members.iter().map(|row| row.time[side].as_micros()).collect();
        let (middle, spread) = (median(&times), median_deviation(&times));
        for (row, time) in members.iter_mut().zip(times) {
            let distance = (time - middle).abs();
            row.outlier[side] = distance > OUTLYING * spread && distance * NOTABLE_SHARE > middle;
        }
    }
}
