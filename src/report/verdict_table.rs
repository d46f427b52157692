//! `verdicts.csv`: a row per place of the program (op, arguments, module), with the verdict on it and
//! the evidence; the largest difference first.

use super::csv_table::{CsvTable, optional_ratio};
use super::figure_cells::verdict_cells;
use crate::analysis::{Analysis, Judgement, Repeats, Site};
use crate::side::Side;
use std::io::{self, Write};

const COLUMNS: [&str; 24] = [
    "name",
    "module_trace1",
    "module_trace2",
    "input_shape_trace1",
    "input_shape_trace2",
    "row_count",
    "kernel_us_trace1",
    "kernel_us_trace2",
    "delta_us",
    "ratio",
    "verdict",
    "work",
    "repeats",
    "repeats_trace1",
    "repeats_trace2",
    "median_us_trace1",
    "median_us_trace2",
    "deviation_us_trace1",
    "deviation_us_trace2",
    "shift_us",
    "p",
    "q",
    "first_row_id",
    "lowest_common_ancestor_name",
];

pub(super) fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let verdicts = analysis.judged();
    let mut table = CsvTable::new(out, &COLUMNS)?;
    for site in &verdicts.sites {
        let row = &analysis.rows()[site.first_row];
        let arguments = analysis.argument_texts(row);
        let mut cells = vec![
            site.name.clone(),
            site.module.baseline.clone(),
            site.module.candidate.clone(),
            arguments[0].to_owned(),
            arguments[1].to_owned(),
            site.row_count.to_string(),
        ];
        cells.extend(times(site));
        cells.extend(evidence(&site.judgement, verdicts.repeats));
        cells.push(site.first_row.to_string());
        cells.push(analysis.lowest_common_name(row).to_owned());
        table.row(&cells.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    table.finish()
}

fn times(site: &Site) -> [String; 4] {
    [
        site.time.baseline.to_string(),
        site.time.candidate.to_string(),
        (site.time.candidate - site.time.baseline).to_string(),
        optional_ratio(site.time.ratio()),
    ]
}

fn evidence(judgement: &Judgement, repeats: Repeats) -> Vec<String> {
    let number = |value: f64| format!("{value:.3}");
    let [verdict, p, q] = verdict_cells(judgement);
    let mut cells = vec![verdict, judgement.work.label().to_owned(), repeats.label().to_owned()];
    cells.extend(Side::BOTH.map(|side| judgement.repeats[side].to_string()));
    cells.extend(Side::BOTH.map(|side| number(judgement.median_us[side])));
    cells.extend(Side::BOTH.map(|side| number(judgement.deviation_us[side])));
    cells.push(judgement.shift_us.map_or_else(String::new, number));
    cells.extend([p, q]);
    cells
}
