//! Remote addresses without the feature `remote`: recognized, but rejected with a remedy.

use super::{Created, Stored};
use crate::error::{Error, ErrorKind, Result};
use std::io::Read;
use std::path::Path;

fn refused<T>(path: &Path) -> Result<T> {
    Err(Error::new(ErrorKind::Usage, path, "this build of tracetree does not support addresses")
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

pub(super) fn create(path: &Path, _: &[u8]) -> Result<Created> {
    refused(path)
}

pub(super) fn replace(path: &Path, _: &[u8]) -> Result<()> {
    refused(path)
}

pub(super) fn upload(_: &Path, path: &Path) -> Result<()> {
    refused(path)
}
