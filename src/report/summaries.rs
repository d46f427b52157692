//! `diff_stats_names_summary.csv` and `diff_stats_unique_args_summary.csv`: rows grouped.

use super::csv_table::{CsvTable, millis, optional_ratio};
use crate::analysis::{Analysis, NameSummary};
use crate::side::Side;
use crate::trace::Nanos;
use std::io::{self, Write};

const NAME_COLUMNS: [&str; 6] = [
    "name",
    "row_count",
    "kernel_time_trace1_sum_ms",
    "kernel_time_trace2_sum_ms",
    "diff_sum_ms",
    "abs_diff_sum_ms",
];

const UNIQUE_ARGS_COLUMNS: [&str; 19] = [
    "name",
    "input_shape_trace1",
    "input_shape_trace2",
    "concrete_inputs_trace1",
    "concrete_inputs_trace2",
    "input_strides_trace1",
    "input_strides_trace2",
    "input_type_trace1",
    "input_type_trace2",
    "row_count",
    "kernel_time_trace1_sum",
    "kernel_time_trace2_sum",
    "kernel_time_trace1_mean",
    "kernel_time_trace2_mean",
    "diff_sum",
    "diff_mean",
    "abs_diff_sum",
    "ratio",
    "first_row_id",
];

pub(super) fn write_names(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let mut table = CsvTable::new(out, &NAME_COLUMNS)?;
    for group in analysis.by_name() {
        table.row(&[
            &group.name,
            &group.row_count.to_string(),
            &millis(group.time.baseline),
            &millis(group.time.candidate),
            &millis(group.time.candidate - group.time.baseline),
            &millis(group.abs_difference),
        ])?;
    }
    table.finish()
}

pub(super) fn write_unique_args(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let mut table = CsvTable::new(out, &UNIQUE_ARGS_COLUMNS)?;
    for group in analysis.by_unique_args() {
        let row = &analysis.rows()[group.first_row];
        let mut cells = vec![group.sums.name.clone()];
        cells.extend(analysis.argument_texts(row).into_iter().map(str::to_owned));
        cells.extend(figures(&group.sums));
        cells.push(group.first_row.to_string());
        table.row(&cells.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    table.finish()
}

fn figures(sums: &NameSummary) -> Vec<String> {
    let mean = |time: Nanos| format!("{:.3}", time.as_micros() / sums.row_count as f64);
    let difference = sums.time.candidate - sums.time.baseline;
    let mut cells = vec![sums.row_count.to_string()];
    cells.extend(Side::BOTH.map(|side| sums.time[side].to_string()));
    cells.extend(Side::BOTH.map(|side| mean(sums.time[side])));
    cells.extend([difference.to_string(), mean(difference), sums.abs_difference.to_string()]);
    cells.push(optional_ratio(sums.ratio()));
    cells
}
