//! Files → a folder: written aside in parallel, in their order, moved into place when complete.

use super::shared::Shared;
use super::staging::Staging;
use super::{ReportFile, ReportOptions};
use crate::error::{Error, ErrorKind, Result};
use crate::storage;
use rayon::prelude::*;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The file of an earlier report that tells that there is one.
const SUMMARY: &str = "summary.json";

/// Writes `files` into `folder`, and removes those of `known` that an earlier report left there and
/// this one does not write.
pub(super) fn write_into(
    folder: &Path,
    files: &[ReportFile],
    known: &[ReportFile],
    shared: &Shared,
    options: &ReportOptions,
) -> Result<Vec<String>> {
    let names: Vec<String> = files.iter().map(ReportFile::name).collect();
    if storage::is_remote(folder) {
        let aside = std::env::temp_dir().join("tracetree");
        let staging = Staging::create(&aside, &options.unfinished)?;
        write_all(folder, &staging, files, shared, options)?;
        return upload(folder, &staging, names);
    }
    check_target(folder, &names)?;
    let stale = stale_files(folder, &names, known);
    let staging = Staging::create(folder, &options.unfinished)?;
    write_all(folder, &staging, files, shared, options)?;
    staging.move_into(folder, &names, &stale)?;
    Ok(names)
}

fn write_all(
    folder: &Path,
    staging: &Staging,
    files: &[ReportFile],
    shared: &Shared,
    options: &ReportOptions,
) -> Result<()> {
    // A bridge hands out one file after the other; halves of the list would take unequally long.
    let write = |files: &[&ReportFile]| {
        files.iter().par_bridge().try_for_each(|file| {
            write_file(&staging.path().join(file.name()), file, shared, options)
                .map_err(|error| cannot_write(&folder.join(file.name()), error))
        })
    };
    // While the causes are found, what tells them would only wait for them.
    let (telling, others): (Vec<_>, Vec<_>) = files.iter().partition(|file| file.tells_causes());
    let find_and_write = || {
        shared.analysis.causes();
        write(&telling)
    };
    let (one, two) = rayon::join(find_and_write, || write(&others));
    one.and(two)
}

/// Copies a report to an address: the summary, which tells that there is a report, behind all others. What an
/// earlier report left there stays.
fn upload(folder: &Path, staging: &Staging, mut names: Vec<String>) -> Result<Vec<String>> {
    names.sort_by_key(|name| name == SUMMARY);
    for name in &names {
        storage::upload(&staging.path().join(name), &folder.join(name))?;
    }
    Ok(names)
}

/// Refuses a folder that is none, or in which something else stands at the place of a file.
fn check_target(folder: &Path, names: &[String]) -> Result<()> {
    if folder.is_symlink() && !folder.exists() {
        return Err(Error::new(ErrorKind::Usage, folder, "the output is a link to nothing")
            .remedy("remove the link, create what it points to, or name another folder with -o"));
    }
    if folder.exists() && !folder.is_dir() {
        return Err(Error::new(ErrorKind::Usage, folder, "the output exists and is no folder")
            .remedy("name another folder with -o"));
    }
    let mut places = names.iter().map(|name| folder.join(name));
    match places.find(|place| place.is_dir()) {
        Some(taken) => Err(Error::new(ErrorKind::Usage, taken, "a folder is in the way of a file")
            .remedy("rename it, or name another folder with -o")),
        None => Ok(()),
    }
}

/// What an earlier report left in `folder` and the next one does not write: its page would show
/// another comparison than the tables beside it.
fn stale_files(folder: &Path, names: &[String], known: &[ReportFile]) -> Vec<String> {
    if !is_report(folder) {
        return Vec::new();
    }
    let is_stale = |name: &String| !names.contains(name) && folder.join(name).is_file();
    known.iter().map(ReportFile::name).filter(is_stale).collect()
}

/// Whether the folder holds a report: files of others may be called like ours.
fn is_report(folder: &Path) -> bool {
    let summary = fs::read(folder.join(SUMMARY)).unwrap_or_default();
    let summary: Option<serde_json::Value> = serde_json::from_slice(&summary).ok();
    summary.is_some_and(|summary| summary.get("tracetree_version").is_some())
}

fn write_file(
    path: &Path,
    file: &ReportFile,
    shared: &Shared,
    options: &ReportOptions,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, fs::File::create(path)?);
    file.write(shared, options, &mut out)?;
    out.flush()
}

/// The error of a file, by the place that the user knows.
fn cannot_write(place: &Path, error: io::Error) -> Error {
    let is_full = matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    );
    let error = Error::io(place, "write the report", error);
    if is_full {
        return error.remedy("make room there, or name another folder with -o");
    }
    error
}
