//! Writes `report.xlsx`: a cover sheet, then one sheet per table.

mod cover;
mod sheet;

use crate::report::shared::Shared;
use crate::tables::TableKind;
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook, XlsxError};
use std::cell::Cell;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

/// Tables that are not in the workbook because only programs read them.
const NOT_FOR_READERS: [TableKind; 1] = [TableKind::UidMap];

/// Writes the workbook. Rows are buffered in temporary files in `folder` until all sheets are
/// complete.
pub(in crate::report) fn write(
    shared: &Shared,
    folder: &Path,
    out: &mut dyn Write,
) -> io::Result<()> {
    // The workbook crate panics if a temporary file cannot be written.
    let made = catch(|| workbook(shared, folder));
    let bytes = made.map_err(|_| out_of_room())?.map_err(io::Error::other)?;
    out.write_all(&bytes)
}

fn out_of_room() -> io::Error {
    let message = "cannot write the workbook's rows to a temporary file; the disk may be full";
    io::Error::new(io::ErrorKind::StorageFull, message)
}

fn workbook(shared: &Shared, folder: &Path) -> Result<Vec<u8>, XlsxError> {
    let mut workbook = Workbook::new();
    // Temporary files are created in the report's staging folder, which is writable and is removed if the run fails.
    // The system's folder for temporary files may be full or missing.
    workbook.set_tempdir(folder)?;
    // The current date would make otherwise identical workbooks differ.
    let created = ExcelDateTime::from_ymd(2000, 1, 1)?;
    workbook.set_properties(
        &DocProperties::new().set_title("tracetree report").set_creation_datetime(&created),
    );
    workbook.add_worksheet();
    let mut sheets = Vec::new();
    for kind in TableKind::ALL.into_iter().filter(|kind| !NOT_FOR_READERS.contains(kind)) {
        // Rows are written to a temporary file one at a time, because all rows together would take too much memory.
        let sheet = workbook.add_worksheet_with_constant_memory()?;
        sheets.push(sheet::write(sheet, &kind.of(&shared.analysis))?);
    }
    cover::write(workbook.worksheet_from_index(0)?, shared, &sheets)?;
    workbook.save_to_buffer()
}

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// The closure passed to `catch` panicked.
struct Panicked;

/// Runs `work`. If `work` panics, the panic message is not printed. Messages of other panics,
/// including panics on other threads, are still printed.
fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                before(info);
            }
        }));
    });
    let was_quiet = IS_QUIET.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    IS_QUIET.set(was_quiet);
    done.map_err(|_| Panicked)
}
