//! Writes the first sheet of the workbook: the result, the totals, an index of the sheets, and the
//! notes.

use super::sheet::Sheet;
use crate::analysis::Analysis;
use crate::analysis::steps::WallBasis;
use crate::analysis::wall::WallTotals;
use crate::report::shared::Shared;
use crate::report::summary::{SideSummary, Summary};
use crate::report::text::{Narrative, evidence, one_line, sentence, shorten};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use rust_xlsxwriter::{Format, Worksheet, XlsxError};

/// Number format for times; the header gives the unit.
const TIME: &str = "#,##0.000";
const DIFFERENCE: &str = "+#,##0.000;-#,##0.000;0.000";
const COUNT: &str = "#,##0";
const COUNT_DIFFERENCE: &str = "+#,##0;-#,##0;0";
const RATIO: &str = "0.000";

type Pick = fn(&SideSummary) -> f64;
type Count = fn(&SideSummary) -> u64;
type WallPart = fn(&WallTotals) -> Nanos;
const TOTALS: [(&str, Pick); 6] = [
    ("attributed time, µs", |side| side.kernel_time_us),
    ("sum of all rows, µs", |side| side.row_sum_us),
    ("busy time (union of intervals), µs", |side| side.busy_time_us),
    ("in rows that both sides have, µs", |side| side.paired_us),
    ("in rows that only one side has, µs", |side| side.one_sided_us),
    ("launch not in trace, µs", |side| side.unlinked_us),
];

pub(super) fn write(
    sheet: &mut Worksheet,
    shared: &Shared,
    sheets: &[Sheet],
) -> Result<(), XlsxError> {
    let summary = shared.summary();
    sheet.set_name("report")?;
    for (column, width) in [(0, 44.0), (1, 60.0), (2, 60.0), (3, 22.0), (4, 12.0)] {
        sheet.set_column_width(column, width)?;
    }
    let mut cover = Cover { sheet, row: 0, bold: Format::new().set_bold() };
    cover.answer(shared)?;
    cover.totals(summary)?;
    cover.row += 1;
    cover.sheets(sheets)?;
    cover.row += 1;
    cover.notes(shared)
}

/// The cover sheet, and the number of its next free row.
struct Cover<'s> {
    sheet: &'s mut Worksheet,
    row: u32,
    bold: Format,
}

impl Cover<'_> {
    fn heading(&mut self, cells: &[&str]) -> Result<(), XlsxError> {
        for (column, cell) in cells.iter().enumerate() {
            self.sheet.write_string_with_format(self.row, column as u16, *cell, &self.bold)?;
        }
        self.row += 1;
        Ok(())
    }

    fn line(&mut self, cells: &[&str]) -> Result<(), XlsxError> {
        self.text(cells)?;
        self.row += 1;
        Ok(())
    }

    /// Writes text cells, starting at the first column, without advancing to the next row.
    fn text(&mut self, cells: &[&str]) -> Result<(), XlsxError> {
        for (column, cell) in cells.iter().enumerate() {
            let text = shorten(&one_line(cell), 2_000).into_owned();
            self.sheet.write_string(self.row, column as u16, text)?;
        }
        Ok(())
    }

    /// Writes numbers in one format, starting at column `from`, without advancing to the next row.
    fn numbers(&mut self, from: u16, format: &str, values: &[f64]) -> Result<(), XlsxError> {
        let format = Format::new().set_num_format(format);
        for (column, value) in (from..).zip(values) {
            self.sheet.write_number_with_format(self.row, column, *value, &format)?;
        }
        Ok(())
    }

    /// Writes how the step time changed and why, and then how the GPU time changed.
    fn answer(&mut self, shared: &Shared) -> Result<(), XlsxError> {
        let (analysis, summary) = (&shared.analysis, shared.summary());
        let narrative = shared.narrative();
        self.heading(&[&narrative.headline])?;
        let about = [&narrative.leading, &narrative.split, &narrative.confidence];
        let evidence = evidence(analysis, &summary.verdict);
        let remarks = narrative.remarks.iter().chain(&narrative.runs).chain([&evidence]);
        for line in about.into_iter().chain(remarks).filter(|line| !line.is_empty()) {
            self.line(&[line])?;
        }
        self.row += 1;
        self.wall(analysis)?;
        self.row += 1;
        self.layers(narrative)?;
        self.line(&[&sentence(analysis)])?;
        self.row += 1;
        Ok(())
    }

    /// Writes the step time of each side, split into busy and idle time.
    fn wall(&mut self, analysis: &Analysis) -> Result<(), XlsxError> {
        let totals = PerSide::from_fn(|side| analysis.wall().totals(side));
        let what = match analysis.compared().basis() {
            WallBasis::Steps => "per step, ms",
            WallBasis::Events => "whole window, ms",
        };
        let [one, two] = Side::BOTH.map(|side| analysis.names()[side].as_str());
        self.heading(&[what, one, two, "difference, ms", "ratio"])?;
        let parts: [(&str, WallPart); 3] = [
            ("wall time", |totals| totals.own()),
            ("busy", |totals| totals.busy),
            ("idle", |totals| totals.idle),
        ];
        for (title, pick) in parts {
            let time = totals.map(|totals| totals.per_step_ms(pick(&totals)));
            self.compared(title, time)?;
        }
        self.text(&["steps"])?;
        self.numbers(1, COUNT, &Side::BOTH.map(|side| totals[side].steps as f64))?;
        self.row += 1;
        self.text(&["idle share of the wall time, %"])?;
        for side in Side::BOTH {
            if let Some(share) = totals[side].idle_share() {
                self.numbers(1 + side as u16, "0.0%", &[share])?;
            }
        }
        self.row += 1;
        Ok(())
    }

    /// Writes a line with the values on both sides, their difference, and their ratio; the ratio is empty if one of
    /// the values is zero.
    fn compared(&mut self, title: &str, time: PerSide<f64>) -> Result<(), XlsxError> {
        self.text(&[title])?;
        self.numbers(1, TIME, &[time.baseline, time.candidate])?;
        self.numbers(3, DIFFERENCE, &[time.candidate - time.baseline])?;
        if time.baseline > 0.0 && time.candidate > 0.0 {
            self.numbers(4, RATIO, &[time.candidate / time.baseline])?;
        }
        self.row += 1;
        Ok(())
    }

    fn layers(&mut self, narrative: &Narrative) -> Result<(), XlsxError> {
        let cost =
            if narrative.has_prices { "price per step, ms" } else { "attributed per step, ms" };
        for layer in narrative.layers() {
            self.heading(&[&layer.title, "details", cost])?;
            for line in &layer.lines {
                self.text(&[&line.sentence, &line.detail()])?;
                if !line.shown.is_empty() {
                    self.numbers(2, DIFFERENCE, &[line.cost.as_millis()])?;
                }
                self.row += 1;
            }
            self.row += 1;
        }
        if !narrative.next.is_empty() {
            self.heading(&["what to do", "command"])?;
            for action in &narrative.next {
                self.line(&[&action.text, &action.command])?;
            }
            self.row += 1;
        }
        Ok(())
    }

    fn totals(&mut self, summary: &Summary) -> Result<(), XlsxError> {
        let one = format!("{} (baseline)", summary.trace1.name);
        let two = format!("{} (candidate)", summary.trace2.name);
        self.heading(&["", &one, &two, "difference, µs", "ratio"])?;
        self.line(&["file", &summary.trace1.path, &summary.trace2.path])?;
        let devices = [&summary.trace1, &summary.trace2].map(|side| side.devices.join(", "));
        self.line(&["device", &devices[0], &devices[1]])?;
        for (title, pick) in TOTALS {
            self.compared(title, PerSide::new(pick(&summary.trace1), pick(&summary.trace2)))?;
        }
        let counts: [(&str, Count); 2] = [
            ("events in the file", |side| side.events),
            ("attributed events", |side| side.accounted_events),
        ];
        for (title, pick) in counts {
            let count = [&summary.trace1, &summary.trace2].map(|side| pick(side) as f64);
            self.text(&[title])?;
            self.numbers(1, COUNT, &count)?;
            self.numbers(3, COUNT_DIFFERENCE, &[count[1] - count[0]])?;
            self.row += 1;
        }
        self.text(&["points of difference"])?;
        self.numbers(1, COUNT, &[summary.points_of_difference as f64])?;
        self.row += 1;
        let exact = if summary.account_is_exact { "exact" } else { "NOT exact" };
        self.line(&["the rows add up to all events", exact])?;
        self.line(&[
            "differences are candidate − baseline; ratios are candidate / baseline; undefined \
             values are empty",
        ])
    }

    fn sheets(&mut self, sheets: &[Sheet]) -> Result<(), XlsxError> {
        self.heading(&["sheet", "contents", "file that contains all rows", "rows", "rows shown"])?;
        for sheet in sheets {
            let about = format!("one row per {}", sheet.about);
            self.text(&[&sheet.name, &about, &sheet.file])?;
            self.numbers(3, COUNT, &[f64::from(sheet.rows), f64::from(sheet.shown)])?;
            self.row += 1;
        }
        Ok(())
    }

    fn notes(&mut self, shared: &Shared) -> Result<(), XlsxError> {
        if shared.notes().is_empty() {
            return Ok(());
        }
        self.heading(&["warning", "what happened", "what to do", "how often", "side"])?;
        for note in shared.notes() {
            self.text(&[note.note.code, &note.note.message, note.note.hint])?;
            self.numbers(3, COUNT, &[note.note.count as f64])?;
            if let Some(side) = note.side_name(shared.analysis.names()) {
                self.sheet.write_string(self.row, 4, side)?;
            }
            self.row += 1;
        }
        Ok(())
    }
}
