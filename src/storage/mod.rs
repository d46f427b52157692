//! A place → what stands there: files of this machine, and objects behind a URL with the feature
//! `remote`.
//!
//! ```text
//! ranks/            a folder
//! s3://bucket/job/  a prefix: s3://, gs://, az://, https://
//! ```
//! What is written is there whole or not at all: a reader never sees half a file, whoever stops when.

mod local;

use crate::error::Result;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What stands at a place, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    /// Where.
    pub(crate) path: PathBuf,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// What changes with its content: the time of the last change, or the object's ETag.
    pub(crate) version: String,
}

/// Whether something was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Created {
    /// It was not there, and is now.
    New,
    /// It was there already, and stays as it was.
    Kept,
}

/// The beginnings of URLs.
const SCHEMES: [&str; 7] =
    ["s3://", "gs://", "az://", "abfs://", "abfss://", "https://", "http://"];

/// Whether a path is a URL.
pub(crate) fn is_remote(path: &Path) -> bool {
    path.to_str().is_some_and(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
}

/// What stands directly in a folder, by name. Folders in it are left out.
///
/// # Errors
/// If it cannot be listed.
pub(crate) fn list(folder: &Path) -> Result<Vec<Stored>> {
    match is_remote(folder) {
        true => remote::list(folder),
        false => local::list(folder),
    }
}

/// What stands at a place.
///
/// # Errors
/// If there is nothing, or it may not be looked at.
pub(crate) fn stat(path: &Path) -> Result<Stored> {
    match is_remote(path) {
        true => remote::stat(path),
        false => local::stat(path),
    }
}

/// The bytes of what stands at a place, as they come.
///
/// # Errors
/// If it cannot be opened.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    match is_remote(path) {
        true => remote::open(path),
        false => local::open(path),
    }
}

/// All bytes of what stands at a place; `None` where there is nothing.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match is_remote(path) {
        true => remote::read(path),
        false => local::read(path),
    }
}

/// Writes what is not there yet; never over what is.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> Result<Created> {
    match is_remote(path) {
        true => remote::create(path, bytes),
        false => local::create(path, bytes),
    }
}

/// Writes, in the place of what may be there.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    match is_remote(path) {
        true => remote::replace(path, bytes),
        false => local::replace(path, bytes),
    }
}

/// Without the feature `remote`: every URL is an error that says what to do.
#[cfg(not(feature = "remote"))]
mod remote {
    use super::{Created, Stored};
    use crate::error::{Error, ErrorKind, Result};
    use std::io::Read;
    use std::path::Path;

    fn refused<T>(path: &Path) -> Result<T> {
        Err(Error::new(ErrorKind::Usage, path, "this build reads no URLs")
            .remedy("copy the files here, or build with the feature `remote`"))
    }

    pub(super) fn list(path: &Path) -> Result<Vec<Stored>> {
        refused(path)
    }

    pub(super) fn stat(path: &Path) -> Result<Stored> {
        refused(path)
    }

    pub(super) fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
        refused(path)
    }

    pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
        refused(path)
    }

    pub(super) fn create(path: &Path, _: &[u8]) -> Result<Created> {
        refused(path)
    }

    pub(super) fn replace(path: &Path, _: &[u8]) -> Result<()> {
        refused(path)
    }
}
