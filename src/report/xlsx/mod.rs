//! The tables of the report → `report.xlsx`: a sheet that explains, then a sheet for each table.

mod cover;
mod quiet;
mod sheet;

use crate::report::shared::Shared;
use crate::tables::TableKind;
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook, XlsxError};
use std::io::{self, Write};
use std::path::Path;

/// Tables that only programs read: they stand in the folder and not in the workbook.
const NOT_FOR_READERS: [TableKind; 1] = [TableKind::UidMap];

/// Writes the workbook. Rows wait in files in `folder` until all sheets are complete.
pub(in crate::report) fn write(
    shared: &Shared,
    folder: &Path,
    out: &mut dyn Write,
) -> io::Result<()> {
    // The crate panics where such a file cannot be written.
    let made = quiet::catch(|| workbook(shared, folder));
    let bytes = made.map_err(|_| out_of_room())?.map_err(io::Error::other)?;
    out.write_all(&bytes)
}

fn out_of_room() -> io::Error {
    let message = "the rows of the workbook cannot be written there; is there no room left?";
    io::Error::new(io::ErrorKind::StorageFull, message)
}

fn workbook(shared: &Shared, folder: &Path) -> Result<Vec<u8>, XlsxError> {
    let mut workbook = Workbook::new();
    // The folder of the report is where the user wants files, and is removed when the run fails; the folder for
    // temporary files of the system may be full or missing.
    workbook.set_tempdir(folder)?;
    // A date of its own would make two runs differ.
    let created = ExcelDateTime::from_ymd(2000, 1, 1)?;
    workbook.set_properties(
        &DocProperties::new().set_title("tracetree report").set_creation_datetime(&created),
    );
    workbook.add_worksheet();
    let mut sheets = Vec::new();
    for kind in TableKind::ALL.into_iter().filter(|kind| !NOT_FOR_READERS.contains(kind)) {
        // Its rows are written out one after the other, not kept: names take much memory.
        let sheet = workbook.add_worksheet_with_constant_memory()?;
        sheets.push(sheet::write(sheet, &kind.of(&shared.analysis))?);
    }
    cover::write(workbook.worksheet_from_index(0)?, shared, &sheets)?;
    workbook.save_to_buffer()
}
