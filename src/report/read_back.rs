//! Reads from a report folder: the paths of the compared traces, and the uids of a row.

use super::csv::find_cells;
use super::manifest::check_whole;
use crate::error::{Error, ErrorKind, Result};
use crate::side::PerSide;
use crate::trace::Uid;
use std::path::{Path, PathBuf};

const SUMMARY: &str = "summary.json";

/// The paths of both traces, as passed when the report was created.
///
/// # Errors
/// Fails if the folder has no `summary.json`, is not a complete report, or does not contain the paths of the traces.
#[doc(hidden)]
pub fn read_inputs(folder: &Path) -> Result<PerSide<PathBuf>> {
    let path = folder.join(SUMMARY);
    if folder.is_dir() && !path.exists() {
        let message = format!("is not a report folder: it has no {SUMMARY}");
        return Err(Error::new(ErrorKind::Usage, folder, message)
            .remedy("pass two traces or a report folder"));
    }
    check_whole(folder)?;
    let bytes = std::fs::read(&path).map_err(|error| Error::io(&path, "read", error))?;
    let summary: serde_json::Value = serde_json::from_slice(&bytes).map_err(|error| {
        Error::new(ErrorKind::Malformed, &path, format!("is not valid JSON: {error}"))
            .remedy("write the report again")
    })?;
    let trace = |side: &str| {
        summary[side]["path"].as_str().map(PathBuf::from).ok_or_else(|| {
            Error::new(ErrorKind::Malformed, &path, format!("does not contain a path for {side}"))
                .remedy("write the report again")
        })
    };
    Ok(PerSide::new(trace("trace1")?, trace("trace2")?))
}

const ROWS: &str = "diff_stats.csv";

/// The uids of the op or launch in a row, given by its `row_id`.
///
/// # Errors
/// Fails if the folder has no `diff_stats.csv` or is not a complete report, or if there is no such row.
#[doc(hidden)]
pub fn read_row(folder: &Path, row: usize) -> Result<PerSide<Option<Uid>>> {
    let path = folder.join(ROWS);
    if !path.exists() {
        let message = format!("is not a report folder with CSV tables: it has no {ROWS}");
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
