//! `steps.csv`: a row per step, paired by position, and one for the work outside of all steps.

use super::csv_table::CsvTable;
use super::figure_cells;
use crate::analysis::{Analysis, StepName, StepPlace, StepRow};
use crate::side::Side;
use std::io::{self, Write};

pub(super) fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = vec!["step", "name_trace1", "name_trace2", "phase_trace1", "phase_trace2"];
    columns.extend(figure_cells::COLUMNS);
    let mut table = CsvTable::new(out, &columns)?;
    for row in analysis.step_rows() {
        let mut cells = vec![place(row.place)];
        cells.extend(names(&row, |step| step.name.clone()));
        cells.extend(names(&row, |step| step.phase.map_or("", |p| p.label()).to_owned()));
        cells.extend(figure_cells::cells(&row.figures));
        table.row(&cells.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    table.finish()
}

fn place(place: StepPlace) -> String {
    match place {
        StepPlace::Step(step) => step.0.to_string(),
        StepPlace::Outside => "(outside steps)".to_owned(),
        StepPlace::NotCaptured => crate::tree::UNLINKED.to_owned(),
    }
}

fn names(row: &StepRow, text: impl Fn(&StepName) -> String) -> [String; 2] {
    Side::BOTH.map(|side| row.steps[side].as_ref().map_or_else(String::new, &text))
}
