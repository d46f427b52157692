//! Reads and writes `manifest.json`, which contains the sizes and hashes of a report's files and says whether all files
//! are in place.
//!
//! The manifest is written last. While files are being replaced, the manifest has the state `writing`, so a folder
//! that an interrupted run left incomplete can be recognized.

use crate::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::Path;
use twox_hash::xxhash3_128::Hasher;

pub(super) const MANIFEST: &str = "manifest.json";

/// Block size for reading and hashing files, in bytes.
const BLOCK: usize = 1 << 16;

/// The state and files of a report folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    tracetree_version: String,
    pub(super) state: State,
    /// The files of the report, by name. In state `writing`, the files of the earlier report are included, and all
    /// sizes and hashes are empty.
    pub(super) files: BTreeMap<String, Mark>,
}

/// Whether all files of the report are in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// All files of the report are in place.
    Complete,
    /// Files are being replaced, or the run that replaced files was interrupted.
    Writing,
}

/// The size of a file and the XXH3 hash of its bytes, which together identify the file's content.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Mark {
    bytes: u64,
    xxh3_128: String,
}

impl Manifest {
    /// Creates the manifest of a complete report.
    pub(super) fn complete(files: BTreeMap<String, Mark>) -> Manifest {
        Manifest::new(State::Complete, files)
    }

    /// Creates the manifest for a folder while files with these names are being replaced or removed.
    pub(super) fn writing<'n>(names: impl Iterator<Item = &'n String>) -> Manifest {
        Manifest::new(State::Writing, names.map(|name| (name.clone(), Mark::default())).collect())
    }

    fn new(state: State, files: BTreeMap<String, Mark>) -> Manifest {
        Manifest { tracetree_version: env!("CARGO_PKG_VERSION").to_owned(), state, files }
    }

    /// Reads the manifest in a folder; returns `None` if the folder has no manifest that tracetree wrote.
    pub(super) fn read(folder: &Path) -> Option<Manifest> {
        let text = fs::read(folder.join(MANIFEST)).ok()?;
        let manifest: Manifest = serde_json::from_slice(&text).ok()?;
        // A name that contains a path might refer to a file outside the folder.
        let is_plain = |name: &String| Path::new(name).file_name() == Some(OsStr::new(name));
        manifest.files.keys().all(is_plain).then_some(manifest)
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(self).expect("plain values are JSON");
        text.push(b'\n');
        text
    }

    /// Whether the file with this name still has the content that tracetree wrote.
    pub(super) fn is_unchanged(&self, folder: &Path, name: &str) -> bool {
        let written = self.files.get(name);
        written.is_some_and(|mark| Mark::read(&folder.join(name)).is_ok_and(|found| found == *mark))
    }
}

/// Rejects a folder that is incomplete or mixes files from several runs. It is not an error if files were removed
/// from the folder.
///
/// # Errors
/// Fails if the folder has no manifest, the run that wrote the report was interrupted, or a file
/// was changed.
pub(super) fn check_whole(folder: &Path) -> Result<()> {
    let refused = |message: String| {
        let remedy = "run `tracetree diff` again with -o and this folder";
        Err(Error::new(ErrorKind::Usage, folder, message).remedy(remedy))
    };
    let Some(manifest) = Manifest::read(folder) else {
        return refused(format!("is not a complete report: it has no {MANIFEST}"));
    };
    if manifest.state == State::Writing {
        let message = "is not a complete report: the run that wrote it was interrupted, so it may \
                           contain files from two reports";
        return refused(message.to_owned());
    }
    let is_changed =
        |name: &&String| folder.join(name).is_file() && !manifest.is_unchanged(folder, name);
    match manifest.files.keys().find(is_changed) {
        Some(name) => refused(format!("{name} was changed after the report was written")),
        None => Ok(()),
    }
}

/// Whether the report in `folder` is incomplete: the run that wrote it was interrupted or is still
/// moving files into place.
#[doc(hidden)]
pub fn was_interrupted(folder: &Path) -> bool {
    Manifest::read(folder).is_some_and(|manifest| manifest.state == State::Writing)
}

impl Mark {
    fn read(path: &Path) -> io::Result<Mark> {
        let mut marking = Marking::new(io::sink());
        io::copy(&mut BufReader::with_capacity(BLOCK, File::open(path)?), &mut marking)?;
        Ok(marking.mark())
    }
}

/// A writer that hashes and counts the bytes written through it.
pub(super) struct Marking<W: Write> {
    inner: W,
    hasher: Hasher,
    bytes: u64,
}

impl<W: Write> Marking<W> {
    pub(super) fn new(inner: W) -> Self {
        Marking { inner, hasher: Hasher::new(), bytes: 0 }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { bytes: self.bytes, xxh3_128: format!("{:032x}", self.hasher.finish_128()) }
    }
}

impl<W: Write> Write for Marking<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.write(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
