//! Replaces remote storage in builds without the `remote` feature. Remote addresses are still
//! recognized, but using one is an error that suggests a remedy.

use super::Stored;
use crate::error::{Error, ErrorKind, Result};
use std::io::Read;
use std::path::{Path, PathBuf};

fn refused<T>(path: &Path) -> Result<T> {
    Err(Error::new(
        ErrorKind::Usage,
        path,
        "this build of tracetree does not support remote addresses",
    )
    .remedy("build it with `--features remote`, mount the bucket, or copy the files here"))
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

/// A remote object, which cannot be opened in this build.
pub struct Opening(PathBuf);

impl Opening {
    pub(super) fn ahead(&self) -> u64 {
        0
    }

    pub(super) fn open(self) -> Result<Box<dyn Read + Send>> {
        refused(&self.0)
    }
}

pub(super) fn begin(stored: &Stored) -> Opening {
    Opening(stored.path.clone())
}

pub(super) fn is_pinned(_: &Stored) -> bool {
    true
}

/// A remote object, which cannot be written in this build.
pub struct Creating(PathBuf);

impl Creating {
    pub(super) fn wait(self) -> Result<()> {
        refused(&self.0)
    }
}

pub(super) fn begin_create(path: &Path, _: &[u8]) -> Creating {
    Creating(path.to_path_buf())
}

pub(super) fn replace(path: &Path, _: &[u8]) -> Result<()> {
    refused(path)
}

pub(super) fn upload(_: &Path, path: &Path) -> Result<()> {
    refused(path)
}
