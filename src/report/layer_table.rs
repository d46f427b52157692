//! `layers.csv`: a row per layer and phase, and rows for what stands around the layers.

use super::csv_table::{CsvTable, optional_ratio};
use super::figure_cells::verdict_cells;
use crate::analysis::{Analysis, PlacePair};
use crate::side::{Presence, Side};
use std::io::{self, Write};

const COLUMNS: [&str; 19] = [
    "stack",
    "place",
    "layer_trace1",
    "layer_trace2",
    "instance_trace1",
    "instance_trace2",
    "phase",
    "presence",
    "kernels_trace1",
    "kernels_trace2",
    "total_us_trace1",
    "total_us_trace2",
    "delta_us",
    "ratio",
    "outlier_trace1",
    "outlier_trace2",
    "verdict",
    "p",
    "q",
];

pub(super) fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let pairs = analysis.layer_pairs();
    let mut table = CsvTable::new(out, &COLUMNS)?;
    for row in analysis.layer_rows(pairs) {
        let [layer1, layer2] = positions(row.place);
        let [verdict, p, q] = verdict_cells(&row.judgement);
        table.row(&[
            &pairs.stack_name(row.place),
            row.place.label(),
            &layer1,
            &layer2,
            pairs.instance(row.place, Side::Baseline),
            pairs.instance(row.place, Side::Candidate),
            row.phase.label(),
            Presence::of(row.events).label(),
            &row.events.baseline.to_string(),
            &row.events.candidate.to_string(),
            &row.time.baseline.to_string(),
            &row.time.candidate.to_string(),
            &row.difference().to_string(),
            &optional_ratio(row.ratio()),
            flag(row.outlier.baseline),
            flag(row.outlier.candidate),
            &verdict,
            &p,
            &q,
        ])?;
    }
    table.finish()
}

fn positions(place: PlacePair) -> [String; 2] {
    Side::BOTH.map(|side| place.layer(side).map_or_else(String::new, |id| id.layer.to_string()))
}

fn flag(is_set: bool) -> &'static str {
    if is_set { "yes" } else { "" }
}
