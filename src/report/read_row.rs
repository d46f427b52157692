//! Reads the uids of one row from the `diff_stats.csv` in a report folder.

use super::csv::find_cells;
use super::manifest::check_whole;
use crate::error::{Error, ErrorKind, Result};
use crate::side::PerSide;
use crate::trace::Uid;
use std::path::Path;

const FILE: &str = "diff_stats.csv";

/// The uids of the op or launch in a row, given by its `row_id`.
///
/// # Errors
/// Fails if the folder has no `diff_stats.csv` or is not a complete report, or if there is no such row.
#[doc(hidden)]
pub fn read_row(folder: &Path, row: usize) -> Result<PerSide<Option<Uid>>> {
    let path = folder.join(FILE);
    if !path.exists() {
        let message = format!("is not a report folder with CSV tables: it has no {FILE}");
        return Err(Error::new(ErrorKind::Usage, folder, message)
            .remedy("pass two traces, or request the call by its uid: --baseline UID"));
    }
    check_whole(folder)?;
    let cells = find_cells(&path, ("row_id", &row.to_string()), ["uid1", "uid2"])?;
    let [baseline, candidate] = cells.ok_or_else(|| {
        Error::new(ErrorKind::Usage, &path, format!("has no row with row_id {row}"))
            .remedy("rows are numbered from 0; see the column row_id")
    })?;
    Ok(PerSide::new(baseline, candidate).map(|uid| uid.parse().ok().map(Uid)))
}
