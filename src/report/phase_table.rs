//! `phases.csv`: a row per phase that either trace has.

use super::csv_table::CsvTable;
use super::figure_cells::{self, verdict_cells};
use crate::analysis::Analysis;
use std::io::{self, Write};

pub(super) fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = vec!["phase", "steps_trace1", "steps_trace2"];
    columns.extend(figure_cells::COLUMNS);
    columns.extend(["verdict", "p", "q"]);
    let mut table = CsvTable::new(out, &columns)?;
    for row in analysis.phase_rows() {
        let mut cells = vec![
            row.phase.label().to_owned(),
            row.figures.baseline.steps.to_string(),
            row.figures.candidate.steps.to_string(),
        ];
        cells.extend(figure_cells::cells(&row.figures));
        cells.extend(verdict_cells(&row.judgement));
        table.row(&cells.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    table.finish()
}
