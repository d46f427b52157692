//! Reads the paths of the two compared traces from the `summary.json` in a report folder.

use super::manifest::check_whole;
use crate::error::{Error, ErrorKind, Result};
use crate::side::PerSide;
use std::path::{Path, PathBuf};

const FILE: &str = "summary.json";

/// The paths of both traces, as passed when the report was created.
///
/// # Errors
/// Fails if the folder has no `summary.json`, is not a complete report, or does not contain the paths of the traces.
#[doc(hidden)]
pub fn read_inputs(folder: &Path) -> Result<PerSide<PathBuf>> {
    let path = folder.join(FILE);
    if folder.is_dir() && !path.exists() {
        let message = format!("is not a report folder: it has no {FILE}");
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
