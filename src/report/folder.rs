//! Writes the files of a report in parallel to a staging folder, which is moved into place when
//! complete.

use super::emit::Existing;
use super::manifest::{MANIFEST, Manifest, Mark, Marking, State};
use super::shared::Shared;
use super::staging::Staging;
use super::{ReportFile, ReportOptions};
use crate::error::{Error, ErrorKind, Result};
use crate::storage;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The file that identifies a report written by an earlier tracetree version, which wrote no manifest.
const SUMMARY: &str = "summary.json";

/// Writes `files` into `folder`. Removes a file from the folder if it belongs to an earlier report, is listed in
/// `known` and is not among `files`.
pub(super) fn write_into(
    folder: &Path,
    files: &[ReportFile],
    known: &[ReportFile],
    shared: &Shared,
    options: &ReportOptions,
) -> Result<Vec<String>> {
    let mut names: Vec<String> = files.iter().map(ReportFile::name).collect();
    if storage::is_remote(folder) {
        let staging = Staging::create_in(&std::env::temp_dir(), folder, &options.unfinished)?;
        write_all(folder, &staging, files, shared, options)?;
        names.push(MANIFEST.to_owned());
        return upload(folder, &staging, names);
    }
    check_target(folder, files, known, options.existing)?;
    let earlier = Earlier::of(folder, known);
    let staging = Staging::create(folder, &options.unfinished)?;
    write_all(folder, &staging, files, shared, options)?;
    let stale = earlier.stale(folder, &names, known);
    names.push(MANIFEST.to_owned());
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
    // `par_bridge` assigns the files to threads one at a time. Splitting the list in half would be slower, because one
    // half might take much longer to write than the other.
    let write = |files: &[&ReportFile]| -> Result<BTreeMap<String, Mark>> {
        let write = |file: &&ReportFile| {
            let mark = write_file(staging.path(), file, shared, options)
                .map_err(|error| cannot_write(&folder.join(file.name()), error))?;
            Ok((file.name(), mark))
        };
        files.iter().par_bridge().map(write).collect()
    };
    // Files that show prices can be written only after the prices are computed, so all other files are written first.
    let (priced, others): (Vec<_>, Vec<_>) = files.iter().partition(|file| file.shows_prices());
    let price_and_write = || {
        let _ = shared.analysis.bill();
        write(&priced)
    };
    let (priced, others) = rayon::join(price_and_write, || write(&others));
    let mut marks = priced?;
    marks.extend(others?);
    let manifest = Manifest::complete(marks).to_json();
    staging.write(MANIFEST, &manifest).map_err(|error| cannot_write(&folder.join(MANIFEST), error))
}

/// Uploads a report to a storage address, with the manifest last. Files of an earlier report that are not part of this
/// report are left in place.
fn upload(folder: &Path, staging: &Staging, names: Vec<String>) -> Result<Vec<String>> {
    let writing = Manifest::writing(names.iter()).to_json();
    storage::replace(&folder.join(MANIFEST), &writing)?;
    for name in &names {
        storage::upload(&staging.path().join(name), &folder.join(name))?;
    }
    Ok(names)
}

/// Rejects a target that is not a folder, and a folder that cannot contain the report's files, for example because a
/// subfolder has the same name as a report file.
pub(super) fn check_target(
    folder: &Path,
    files: &[ReportFile],
    known: &[ReportFile],
    existing: Existing,
) -> Result<()> {
    if folder.is_symlink() && !folder.exists() {
        return Err(Error::new(ErrorKind::Usage, folder, "the output is a dangling link")
            .remedy("remove the link, create its target, or choose another folder with -o"));
    }
    if folder.exists() && !folder.is_dir() {
        return Err(Error::new(ErrorKind::Usage, folder, "the output exists and is not a folder")
            .remedy("choose another folder with -o"));
    }
    let mut names: Vec<String> = files.iter().map(ReportFile::name).collect();
    names.push(MANIFEST.to_owned());
    let mut places = names.iter().map(|name| folder.join(name));
    if let Some(taken) = places.find(|place| place.is_dir()) {
        return Err(Error::new(
            ErrorKind::Usage,
            taken,
            "a folder has the same name as a report file",
        )
        .remedy("rename the folder, or choose another output folder with -o"));
    }
    let earlier = Earlier::of(folder, known);
    let is_foreign = |name: &&String| !earlier.has(name) && exists(&folder.join(name));
    match names.iter().find(is_foreign).filter(|_| existing == Existing::Keep) {
        Some(name) => Err(storage::foreign(&folder.join(name))),
        None => Ok(()),
    }
}

enum Earlier {
    /// The folder contains no report. If a file in it has the name of a report file, tracetree did not write that file.
    Nothing,
    /// The folder contains a report with a manifest that lists its files.
    Listed(Manifest),
    /// The folder contains a report without a manifest. Every file that has the same name as a report file is treated
    /// as part of that report.
    Unlisted(Vec<String>),
}

impl Earlier {
    fn of(folder: &Path, known: &[ReportFile]) -> Earlier {
        if let Some(manifest) = Manifest::read(folder) {
            return Earlier::Listed(manifest);
        }
        let summary = fs::read(folder.join(SUMMARY)).unwrap_or_default();
        let summary: Option<serde_json::Value> = serde_json::from_slice(&summary).ok();
        if summary.is_some_and(|summary| summary.get("tracetree_version").is_some()) {
            Earlier::Unlisted(known.iter().map(ReportFile::name).collect())
        } else {
            Earlier::Nothing
        }
    }

    /// Whether a file with this name belongs to the earlier report.
    fn has(&self, name: &str) -> bool {
        match self {
            Earlier::Nothing => false,
            Earlier::Listed(manifest) => name == MANIFEST || manifest.files.contains_key(name),
            Earlier::Unlisted(names) => names.iter().any(|known| known == name),
        }
    }

    /// The files of the earlier report that are not part of the new report. These stale files are removed, because they
    /// describe the earlier comparison. Files that were modified after tracetree wrote them are kept.
    fn stale(&self, folder: &Path, names: &[String], known: &[ReportFile]) -> Vec<String> {
        let is_stale =
            |name: &String| !names.contains(name) && self.has(name) && self.is_ours(folder, name);
        known.iter().map(ReportFile::name).filter(is_stale).collect()
    }

    fn is_ours(&self, folder: &Path, name: &str) -> bool {
        match self {
            Earlier::Listed(manifest) if manifest.state == State::Complete => {
                manifest.is_unchanged(folder, name)
            }
            Earlier::Listed(_) | Earlier::Unlisted(_) => folder.join(name).is_file(),
            Earlier::Nothing => false,
        }
    }
}

/// Whether anything exists at the path, even if it is a dangling link.
fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn write_file(
    folder: &Path,
    file: &ReportFile,
    shared: &Shared,
    options: &ReportOptions,
) -> io::Result<Mark> {
    let created = storage::create_file(&folder.join(file.name()))?;
    let mut out = BufWriter::with_capacity(1 << 16, Marking::new(created));
    file.write(shared, options, folder, &mut out)?;
    out.flush()?;
    Ok(out.get_ref().mark())
}

/// The error for a file that cannot be written, with the path as the user specified it.
fn cannot_write(place: &Path, error: io::Error) -> Error {
    let is_full = matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    );
    let error = Error::io(place, "write the report", error);
    if is_full {
        return error.remedy("free some space, or choose another folder with -o");
    }
    error
}
