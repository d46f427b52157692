//! Builds the page's section about the ops that could save the most time.

use super::roofline::{self, Roofline};
use crate::analysis::Analysis;
use crate::analysis::efficiency::{EfficiencyRow, clause};
use crate::report::text::{Unit, tensors};
use crate::side::PerSide;
use crate::trace::Nanos;

/// Maximum number of lines in the table.
const LINES: usize = 15;

/// An op with its shapes, and the time that could be saved in the op.
pub(super) struct EfficiencyLine {
    pub(super) name: String,
    pub(super) shape: String,
    pub(super) time: PerSide<Nanos>,
    pub(super) times: [String; 2],
    /// Rates on both sides, such as `163 → 51 TFLOP/s, 5% of peak`; empty if the work on a side is not modeled, or if
    /// both rates round to zero.
    pub(super) rates: String,
    /// The time that could be saved in the candidate or, if that is unknown, in the baseline.
    pub(super) savable: String,
    /// The side (1 or 2) that `savable` describes, and the time that could be saved, in ns.
    pub(super) saved: (u8, i64),
}

/// The section about efficiency.
pub(super) struct EfficiencySection {
    /// The ops that could save the most time, largest saving first; empty if no peak is known.
    pub(super) lines: Vec<EfficiencyLine>,
    /// The picture of these ops; `None` if none of them has both operations and bytes.
    pub(super) roofline: Option<Roofline>,
}

pub(super) fn section(analysis: &Analysis, unit: Unit) -> EfficiencySection {
    let rows = analysis.by_efficiency().iter();
    let lines = rows.filter_map(|row| Some((row, line(row, unit)?))).take(LINES);
    let (rows, lines): (Vec<&EfficiencyRow>, Vec<EfficiencyLine>) = lines.unzip();
    EfficiencySection { roofline: roofline::picture(analysis, &rows), lines }
}

fn line(row: &EfficiencyRow, unit: Unit) -> Option<EfficiencyLine> {
    let sides = &row.efficiency;
    let (side, savable) = match (sides.candidate.savable_us(), sides.baseline.savable_us()) {
        (Some(savable), _) => (2, savable),
        (None, savable) => (1, savable?),
    };
    let savable = Nanos((savable * 1e3).round() as i64);
    let dims = [&row.dims.candidate, &row.dims.baseline];
    Some(EfficiencyLine {
        name: row.name.clone(),
        shape: dims
            .into_iter()
            .map(|dims| tensors(dims))
            .find(|dims| !dims.is_empty())
            .unwrap_or_default(),
        time: PerSide::new(sides.baseline.time, sides.candidate.time),
        times: [sides.baseline.time, sides.candidate.time].map(|time| unit.show(time)),
        rates: clause(sides).unwrap_or_default(),
        savable: unit.show(savable),
        saved: (side, savable.0),
    })
}
