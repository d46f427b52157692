//! One table as text → one sheet with typed cells, a frozen header, filters and colours.

use super::column::{Content, content, number, width};
use crate::report::figures::{one_line, shorten};
use rust_xlsxwriter::{
    ConditionalFormatCell, ConditionalFormatCellRule, Format, FormatAlign, Worksheet, XlsxError,
};

/// Rows of a sheet; more make a workbook slow to open, and the CSV file has them all.
const ROWS: usize = 10_000;
/// A cell holds 32,767 characters; nobody reads as many.
const LONGEST: usize = 2_000;

/// Red of more time and blue of less time, readable on white.
const MORE: u32 = 0x00A5_1D1D;
const LESS: u32 = 0x0014_50A3;

/// A table on its way into a sheet.
pub(super) struct Table {
    /// Name of the CSV file.
    pub(super) file: &'static str,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// The first of `lines` is the header.
    pub(super) fn new(file: &'static str, mut lines: Vec<Vec<String>>) -> Table {
        let rows = lines.split_off(lines.len().min(1));
        Table { file, header: lines.pop().unwrap_or_default(), rows }
    }

    /// Name of the sheet: that of the file, in the 31 characters that a name can have.
    pub(super) fn sheet_name(&self) -> String {
        let stem = self.file.trim_end_matches(".csv").trim_end_matches("_summary");
        stem.chars().take(31).collect()
    }

    /// Number of rows, and how many of them are in the sheet.
    pub(super) fn row_counts(&self) -> (usize, usize) {
        (self.rows.len(), self.rows.len().min(ROWS))
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = &str> + Clone {
        self.rows.iter().take(ROWS).map(move |row| row[column].as_str())
    }
}

pub(super) fn write(sheet: &mut Worksheet, table: &Table) -> Result<(), XlsxError> {
    sheet.set_name(table.sheet_name())?;
    let last_row = table.row_counts().1 as u32;
    let head = Format::new().set_bold().set_align(FormatAlign::Top);
    for (at, title) in table.header.iter().enumerate() {
        let column = at as u16;
        sheet.write_string_with_format(0, column, title, &head)?;
        sheet.set_column_width(column, width(title, table.cells(at)))?;
        write_column(sheet, table, at)?;
    }
    sheet.set_freeze_panes(1, 1)?;
    if !table.header.is_empty() {
        sheet.autofilter(0, 0, last_row, table.header.len() as u16 - 1)?;
    }
    Ok(())
}

fn write_column(sheet: &mut Worksheet, table: &Table, at: usize) -> Result<(), XlsxError> {
    let column = at as u16;
    let content = content(&table.header[at], &table.cells(at));
    sheet.set_column_format(column, &format(content))?;
    for (row, cell) in table.cells(at).enumerate() {
        let row = row as u32 + 1;
        match number(cell) {
            Some(value) if content != Content::Text => sheet.write_number(row, column, value)?,
            _ if cell.is_empty() => continue,
            // As a string, whatever it starts with: `=` makes no formula.
            _ => sheet.write_string(row, column, shorten(&one_line(cell), LONGEST))?,
        };
    }
    if content == Content::Difference {
        colour_by_sign(sheet, column, table.row_counts().1 as u32)?;
    }
    Ok(())
}

fn format(content: Content) -> Format {
    match content {
        Content::Text => Format::new(),
        Content::Whole => Format::new().set_num_format("0"),
        Content::Decimal => Format::new().set_num_format("#,##0.000"),
        Content::Difference => Format::new().set_num_format("+#,##0.000;-#,##0.000;0.000"),
    }
}

fn colour_by_sign(sheet: &mut Worksheet, column: u16, last_row: u32) -> Result<(), XlsxError> {
    let rules = [
        (ConditionalFormatCellRule::GreaterThan(0), MORE),
        (ConditionalFormatCellRule::LessThan(0), LESS),
    ];
    for (rule, colour) in rules {
        let format = Format::new().set_font_color(colour);
        let condition = ConditionalFormatCell::new().set_rule(rule).set_format(format);
        sheet.add_conditional_format(1, column, last_row.max(1), column, &condition)?;
    }
    Ok(())
}
