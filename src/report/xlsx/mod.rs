//! The tables of the report → `report.xlsx`: a sheet that explains, then a sheet for each table.
//!
//! The sheets are made from the very text of the CSV files, so that they cannot say anything else.

mod column;
mod cover;
mod sheet;

use crate::analysis::Analysis;
use crate::report::ReportFile;
use crate::report::csv_table::parse_rows;
use crate::report::emit::ReportOptions;
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook, XlsxError};
use sheet::Table;
use std::io::{self, Write};

/// Tables that only programs read: they stand in the folder and not in the workbook.
const NOT_FOR_READERS: [&str; 1] = ["uid_map.csv"];

/// Writes the workbook of the CSV files among `files`.
pub(in crate::report) fn write(
    analysis: &Analysis,
    options: &ReportOptions,
    files: &[ReportFile],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut tables = Vec::new();
    for file in files {
        if file.name.ends_with(".csv") && !NOT_FOR_READERS.contains(&file.name) {
            let mut text = Vec::new();
            (file.write)(analysis, options, &mut text)?;
            tables.push(Table::new(file.name, parse_rows(&text)?));
        }
    }
    let bytes = workbook(analysis, &tables).map_err(io::Error::other)?;
    out.write_all(&bytes)
}

fn workbook(analysis: &Analysis, tables: &[Table]) -> Result<Vec<u8>, XlsxError> {
    let mut workbook = Workbook::new();
    // A date of its own would make two runs differ.
    let created = ExcelDateTime::from_ymd(2000, 1, 1)?;
    workbook.set_properties(
        &DocProperties::new().set_title("tracetree report").set_creation_datetime(&created),
    );
    cover::write(workbook.add_worksheet(), analysis, tables)?;
    for table in tables {
        sheet::write(workbook.add_worksheet(), table)?;
    }
    workbook.save_to_buffer()
}
