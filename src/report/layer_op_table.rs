//! `layer_ops.csv`: the ops of an average layer of each stack and phase, in the order they run.

use super::csv_table::{CsvTable, optional_ratio};
use crate::analysis::{Analysis, Spread};
use crate::side::{PerSide, Presence, Side};
use std::io::{self, Write};

const COLUMNS: [&str; 20] = [
    "stack",
    "place",
    "phase",
    "position",
    "name",
    "nth",
    "presence",
    "layers_trace1",
    "layers_trace2",
    "kernels_trace1",
    "kernels_trace2",
    "mean_us_trace1",
    "mean_us_trace2",
    "mean_us_delta",
    "stddev_us_trace1",
    "stddev_us_trace2",
    "total_us_trace1",
    "total_us_trace2",
    "delta_us",
    "ratio",
];

pub(super) fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let pairs = analysis.layer_pairs();
    let mut table = CsvTable::new(out, &COLUMNS)?;
    for row in analysis.layer_op_rows(pairs) {
        let mut cells = vec![
            pairs.stack_name(row.place),
            row.place.label().to_owned(),
            row.phase.label().to_owned(),
            row.position.to_string(),
            row.name.clone(),
            row.nth.to_string(),
            Presence::of(row.spread.map(|spread| spread.events)).label().to_owned(),
        ];
        cells.extend(figures(&row.spread));
        table.row(&cells.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    table.finish()
}

fn figures(spread: &PerSide<Spread>) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.3}"));
    let means = spread.map(|spread| spread.mean_us());
    let totals = spread.map(|spread| spread.total);
    let mut cells: Vec<String> = Vec::with_capacity(COLUMNS.len());
    cells.extend(Side::BOTH.map(|side| spread[side].layers.to_string()));
    cells.extend(Side::BOTH.map(|side| spread[side].events.to_string()));
    cells.extend(Side::BOTH.map(|side| number(means[side])));
    cells.push(number(means.baseline.zip(means.candidate).map(|(a, b)| b - a)));
    cells.extend(Side::BOTH.map(|side| number(spread[side].deviation_us())));
    cells.extend(Side::BOTH.map(|side| totals[side].to_string()));
    cells.push((totals.candidate - totals.baseline).to_string());
    cells.push(optional_ratio(totals.ratio()));
    cells
}
