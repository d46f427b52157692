//! The first sheet of the workbook: what happened and why, the totals, what each sheet holds, the notes.

use super::sheet::Sheet;
use crate::analysis::Analysis;
use crate::report::summary::{SideSummary, Summary, summarise};
use crate::report::text::{answer, answer_remarks, cause_lines, one_line, sentence, shorten};
use rust_xlsxwriter::{Format, Worksheet, XlsxError};

type Pick = fn(&SideSummary) -> f64;
const TOTALS: [(&str, Pick); 6] = [
    ("accounted time, us", |side| side.kernel_time_us),
    ("sum of all rows, us", |side| side.row_sum_us),
    ("busy time (union of intervals), us", |side| side.busy_time_us),
    ("in rows of both sides, us", |side| side.paired_us),
    ("in rows of this side only, us", |side| side.one_sided_us),
    ("launch not in trace, us", |side| side.unlinked_us),
];

pub(super) fn write(
    sheet: &mut Worksheet,
    analysis: &Analysis,
    sheets: &[Sheet],
) -> Result<(), XlsxError> {
    let summary = summarise(analysis);
    sheet.set_name("report")?;
    for (column, width) in [(0, 44.0), (1, 60.0), (2, 60.0), (3, 18.0)] {
        sheet.set_column_width(column, width)?;
    }
    let mut cover = Cover { sheet, row: 0, bold: Format::new().set_bold() };
    cover.answer(analysis)?;
    cover.totals(&summary)?;
    cover.row += 1;
    cover.sheets(sheets)?;
    cover.row += 1;
    cover.notes(&summary)
}

/// The sheet with the next free row.
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
        for (column, cell) in cells.iter().enumerate() {
            let text = shorten(&one_line(cell), 2_000).into_owned();
            self.sheet.write_string(self.row, column as u16, text)?;
        }
        self.row += 1;
        Ok(())
    }

    /// What happened end to end and why, then the time of the GPU.
    fn answer(&mut self, analysis: &Analysis) -> Result<(), XlsxError> {
        self.heading(&[&answer(analysis)])?;
        for remark in answer_remarks(analysis) {
            self.line(&[&remark])?;
        }
        self.row += 1;
        let (causes, rest) = cause_lines(analysis);
        if !causes.is_empty() {
            self.heading(&["cause", "what shows it", "reason", "difference per step, ms"])?;
        }
        let number = Format::new().set_num_format("+#,##0.000;-#,##0.000;0.000");
        for cause in &causes {
            let row = self.row;
            self.line(&[&cause.place, &cause.evidence, cause.reason])?;
            self.sheet.write_number_with_format(row, 3, cause.time.as_millis(), &number)?;
        }
        if let Some(rest) = rest {
            self.line(&[&rest])?;
        }
        self.row += 1;
        self.line(&[&sentence(analysis)])?;
        self.row += 1;
        Ok(())
    }

    fn totals(&mut self, summary: &Summary) -> Result<(), XlsxError> {
        let one = format!("{} (baseline)", summary.trace1.name);
        let two = format!("{} (candidate)", summary.trace2.name);
        self.heading(&["", &one, &two, "difference"])?;
        self.line(&["file", &summary.trace1.path, &summary.trace2.path])?;
        let devices = [&summary.trace1, &summary.trace2].map(|side| side.devices.join(", "));
        self.line(&["device", &devices[0], &devices[1]])?;
        let number = Format::new().set_num_format("#,##0.000");
        for (title, pick) in TOTALS {
            let (a, b) = (pick(&summary.trace1), pick(&summary.trace2));
            self.sheet.write_string(self.row, 0, title)?;
            for (column, value) in [(1, a), (2, b), (3, b - a)] {
                self.sheet.write_number_with_format(self.row, column, value, &number)?;
            }
            self.row += 1;
        }
        let exact = if summary.account_is_exact { "exact" } else { "NOT exact" };
        self.line(&["the rows add up to all events", exact])?;
        self.line(&[
            "differences are trace2 - trace1, ratios trace2 / trace1; undefined ones are empty",
        ])
    }

    fn sheets(&mut self, sheets: &[Sheet]) -> Result<(), XlsxError> {
        self.heading(&["sheet", "what it holds", "rows"])?;
        for sheet in sheets {
            let rows = match (sheet.rows, sheet.shown) {
                (all, shown) if all == shown => all.to_string(),
                (all, shown) => format!("the first {shown} of {all}; all stand in {}", sheet.file),
            };
            self.line(&[&sheet.name, &format!("a row for each {}", sheet.about), &rows])?;
        }
        Ok(())
    }

    fn notes(&mut self, summary: &Summary) -> Result<(), XlsxError> {
        if summary.notes.is_empty() {
            return Ok(());
        }
        self.heading(&["warning", "what happened", "what to do"])?;
        for note in &summary.notes {
            let side = summary.side_of(note).map_or_else(String::new, |side| format!("{side}: "));
            let message = format!("{side}{}", note.note.message);
            self.line(&[note.note.code, &message, note.note.hint])?;
        }
        Ok(())
    }
}
