//! Lists trace files that were recorded during graph captures, each with its batch size. The files
//! are either at paths that the caller gives, or in a folder next to a trace.
//!
//! Inference engines write one file per batch size into a folder. `execution_details.json` in that
//! folder lists the files with their batch sizes; some engines instead put the batch size into the
//! file name (`bs_32_rank0.json.gz`).

use crate::error::{Error, ErrorKind, Result};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the folder next to a trace that is searched for captures.
pub const CAPTURE_FOLDER: &str = "capture_traces";
const DETAILS: &str = "execution_details.json";

/// A trace file that was recorded during one graph capture.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct CaptureFile {
    /// Path of the trace file.
    pub path: PathBuf,
    /// Batch size of the capture, from `execution_details.json` or, if that file does not list the
    /// capture, from the file name.
    pub batch: Option<u64>,
}

/// An entry in `execution_details.json`.
#[derive(Debug, Deserialize)]
struct Details {
    file: String,
    batch_size: Option<u64>,
}

impl CaptureFile {
    /// Lists the capture files at `paths`. If a path is a folder, all traces in this folder are
    /// listed, sorted by name.
    ///
    /// # Errors
    /// Fails if a folder cannot be read or contains no trace.
    pub fn of(paths: &[PathBuf]) -> Result<Vec<CaptureFile>> {
        let mut files = Vec::new();
        for path in paths {
            if path.is_dir() {
                files.extend(in_folder(path)?)
            } else {
                files.push(CaptureFile { path: path.clone(), batch: batch_of_name(path) })
            }
        }
        Ok(files)
    }

    /// Lists the captures in the folder `capture_traces` next to a trace; returns no captures if
    /// there is no such folder.
    ///
    /// # Errors
    /// Fails if the folder exists but cannot be read or contains no trace.
    pub fn beside(trace: &Path) -> Result<Vec<CaptureFile>> {
        let folder = trace.parent().unwrap_or(Path::new("")).join(CAPTURE_FOLDER);
        if folder.is_dir() { in_folder(&folder) } else { Ok(Vec::new()) }
    }
}

fn in_folder(folder: &Path) -> Result<Vec<CaptureFile>> {
    let entries = fs::read_dir(folder).map_err(|error| Error::io(folder, "list", error))?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.is_file() && is_trace(path))
        .collect();
    paths.sort();
    if paths.is_empty() {
        return Err(Error::new(ErrorKind::Usage, folder, "no graph capture in this folder")
            .remedy("pass a folder with .json, .json.gz or .json.zst files"));
    }
    let details = details(folder);
    let batch = |path: &Path| {
        let listed = details.iter().find(|line| path.file_name().is_some_and(|f| *f == *line.file));
        listed.and_then(|line| line.batch_size).or_else(|| batch_of_name(path))
    };
    Ok(paths.into_iter().map(|path| CaptureFile { batch: batch(&path), path }).collect())
}

fn is_trace(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ends = [".json", ".json.gz", ".json.zst"];
    name != DETAILS && ends.iter().any(|end| name.ends_with(end))
}

/// Reads `execution_details.json`. The file `execution_details.json` is only a hint: if it cannot
/// be read, it is treated as empty.
fn details(folder: &Path) -> Vec<Details> {
    let text = fs::read_to_string(folder.join(DETAILS)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// The batch size in a name such as `bs_32_rank0.json.gz` or `decode_bs_32_rank0.json.gz`.
fn batch_of_name(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_string_lossy();
    let rest = name.strip_prefix("bs_").or_else(|| name.split_once("_bs_").map(|(_, rest)| rest));
    rest?.split_once(['_', '.'])?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_the_batch() {
        assert_eq!(batch_of_name(Path::new("a/bs_32_rank0.json.gz")), Some(32));
        assert_eq!(batch_of_name(Path::new("bs_8.json")), Some(8));
        assert_eq!(batch_of_name(Path::new("decode_bs_16_rank0.json.gz")), Some(16));
        assert_eq!(batch_of_name(Path::new("graph_capture_rank_0.json.gz")), None);
    }

    #[test]
    fn a_folder_lists_its_traces_with_their_batches() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["b.json.gz", "bs_4_rank0.json", "notes.txt"] {
            fs::write(folder.path().join(name), "").expect("a file");
        }
        let details = r#"[{"file": "b.json.gz", "batch_size": 16, "mode": "FULL"}]"#;
        fs::write(folder.path().join(DETAILS), details).expect("a file");
        let files = CaptureFile::of(&[folder.path().to_path_buf()]).expect("a list");
        let batches: Vec<Option<u64>> = files.iter().map(|file| file.batch).collect();
        assert_eq!(batches, [Some(16), Some(4)]);
    }
}
