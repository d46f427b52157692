//! Writes a table as a sheet with typed cells, a frozen header, filters and colors.

use crate::report::cell::push_cell;
use crate::report::text::{one_line, shorten};
use crate::tables::{Cell, ColumnInfo, ColumnType, RowSink, Table};
use rust_xlsxwriter::{
    ConditionalFormatCell, ConditionalFormatCellRule, Format, FormatAlign, Worksheet, XlsxError,
};
use std::io;

/// Maximum number of rows in a sheet. A workbook with more rows would be slow to open, and the CSV file contains all
/// rows anyway.
const ROWS: u32 = 10_000;
/// Maximum length of a text cell, in characters. The file format allows 32,767 characters, but cells that long cannot
/// be read in a spreadsheet.
const LONGEST: usize = 2_000;
/// Number of rows that are measured to determine the column widths.
const MEASURED: u32 = 500;

/// Text colors that are readable on white: red for more time, blue for less time.
const MORE: u32 = 0x00A5_1D1D;
const LESS: u32 = 0x0014_50A3;

pub(super) struct Sheet {
    /// Name of the sheet: the table's name, cut to the 31 characters that the format allows.
    pub(super) name: String,
    /// A description of what a row of the table represents.
    pub(super) about: &'static str,
    /// Name of the CSV file that contains all rows.
    pub(super) file: String,
    pub(super) rows: u32,
    /// Number of rows shown in the sheet.
    pub(super) shown: u32,
}

pub(super) fn write(sheet: &mut Worksheet, table: &Table) -> Result<Sheet, XlsxError> {
    let name: String = table.name().trim_end_matches("_summary").chars().take(31).collect();
    sheet.set_name(&name)?;
    let head = Format::new().set_bold().set_align(FormatAlign::Top);
    for (column, info) in (0..).zip(table.columns()) {
        sheet.write_string_with_format(0, column, &info.name, &head)?;
        sheet.set_column_format(column, &format(info))?;
    }
    let mut cells = Cells::new(sheet, table.columns());
    table.visit(&mut cells).map_err(|error| XlsxError::ParameterError(error.to_string()))?;
    let (rows, widths) = (cells.rows, cells.widths);
    let shown = rows.min(ROWS);
    for ((column, info), width) in (0..).zip(table.columns()).zip(widths) {
        // The width includes space for the filter button next to the title.
        let width = width.max(info.name.chars().count() + 3).clamp(8, 48);
        sheet.set_column_width(column, width as f64)?;
        if info.is_difference {
            colour_by_sign(sheet, column, shown)?;
        }
    }
    sheet.set_freeze_panes(1, 1)?;
    if !table.columns().is_empty() {
        sheet.autofilter(0, 0, shown, table.columns().len() as u16 - 1)?;
    }
    let file = format!("{}.csv", table.name());
    Ok(Sheet { name, about: table.about(), file, rows, shown })
}

/// Writes the cells of a table into a sheet.
struct Cells<'s> {
    sheet: &'s mut Worksheet,
    columns: &'s [ColumnInfo],
    /// Number of rows written so far, and the column of the next cell.
    rows: u32,
    column: usize,
    /// The length of the longest string in each column.
    widths: Vec<usize>,
    failed: Option<XlsxError>,
}

impl<'s> Cells<'s> {
    fn new(sheet: &'s mut Worksheet, columns: &'s [ColumnInfo]) -> Self {
        let widths = vec![0; columns.len()];
        Cells { sheet, columns, rows: 0, column: 0, widths, failed: None }
    }

    fn write(&mut self, cell: &Cell<'_>) -> Result<(), XlsxError> {
        let (row, column) = (self.rows + 1, self.column as u16);
        let info = &self.columns[self.column];
        let mut text = String::new();
        push_cell(&mut text, info, cell);
        if self.rows < MEASURED {
            let width = &mut self.widths[self.column];
            *width = (*width).max(text.chars().count());
        }
        match number(cell, &text) {
            Some(number) => self.sheet.write_number(row, column, number).map(drop),
            None if text.is_empty() => Ok(()),
            // Text is always written as a string, so a leading `=` does not create a formula.
            None => {
                let text = shorten(&one_line(&text), LONGEST).into_owned();
                self.sheet.write_string(row, column, text).map(drop)
            }
        }
    }
}

impl RowSink for Cells<'_> {
    fn cell(&mut self, cell: Cell<'_>) {
        if self.rows < ROWS && self.failed.is_none() {
            self.failed = self.write(&cell).err();
        }
        self.column += 1;
    }

    fn end_row(&mut self) -> io::Result<()> {
        self.rows += 1;
        self.column = 0;
        self.failed.take().map_or(Ok(()), |error| Err(io::Error::other(error)))
    }
}

/// Writes a numeric cell with the same digits as its formatted string, so that the workbook and the CSV file contain
/// the same numbers.
fn number(cell: &Cell<'_>, text: &str) -> Option<f64> {
    match cell {
        Cell::Whole(_) | Cell::Time(_) | Cell::Decimal(_) | Cell::Empty => text.parse().ok(),
        Cell::Text(_) | Cell::Names(_) | Cell::Json(_) | Cell::Flag(_) => None,
    }
}

fn format(column: &ColumnInfo) -> Format {
    match column.kind {
        _ if column.is_difference => Format::new().set_num_format("+#,##0.000;-#,##0.000;0.000"),
        ColumnType::Whole | ColumnType::Uid => Format::new().set_num_format("0"),
        ColumnType::Time | ColumnType::Decimal(_) => Format::new().set_num_format("#,##0.000"),
        ColumnType::Text
        | ColumnType::Word
        | ColumnType::Names
        | ColumnType::Json
        | ColumnType::Flag => Format::new(),
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
