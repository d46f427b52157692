//! A place → what stands there: the one door to listing, reading and writing whole files.
//!
//! What is written is there whole or not at all: a reader never sees half a file, whoever stops when.

mod local;
#[cfg(not(feature = "remote"))]
#[path = "absent.rs"]
mod remote;
#[cfg(feature = "remote")]
mod remote;

use crate::error::{Error, ErrorKind, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// What stands at a place, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    /// Where.
    pub(crate) path: PathBuf,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// What changes with its content: of a file the time of the last change in ns, of an object its ETag.
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

/// The beginnings of addresses.
const SCHEMES: [&str; 7] =
    ["s3://", "gs://", "az://", "abfs://", "abfss://", "https://", "http://"];

/// Requests for small objects at once.
const REQUESTS: usize = 32;

/// Whether a path is an address of object storage or of a web server.
pub(crate) fn is_remote(path: &Path) -> bool {
    path.to_str().is_some_and(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
}

/// Runs `work`, whose parallel parts ask for what stands in `folder`: on the cores for files, and on more
/// threads than there are cores for objects, which are mostly waited for.
pub(crate) fn at_once<T: Send>(folder: &Path, work: impl FnOnce() -> T + Send) -> T {
    static WAITING: LazyLock<Option<ThreadPool>> =
        LazyLock::new(|| ThreadPoolBuilder::new().num_threads(REQUESTS).build().ok());
    match is_remote(folder).then(|| WAITING.as_ref()).flatten() {
        Some(pool) => pool.install(work),
        None => work(),
    }
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

/// Writes `bytes` to the file `path`, whole or not at all: a temporary file in the same folder, created under
/// a name that nothing has, is synced and renamed over `path`. Of several writers at once the last one wins.
/// A device, a pipe and `/dev/stdout` are written to as they are.
///
/// # Errors
/// If it cannot be written, the folder is missing, or `path` is a folder or a symbolic link. The temporary
/// file is removed.
pub fn write_file(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    match is_remote(path) {
        true => remote::replace(path, bytes),
        false => local::write(path, bytes),
    }
}

/// Creates a file of this machine; an error if anything already has its name.
///
/// # Errors
/// If it cannot be created.
pub(crate) fn create_file(path: &Path) -> std::io::Result<std::fs::File> {
    local::create_file(path)
}

/// The error of a file that would be replaced and that tracetree did not write.
pub(crate) fn foreign(path: &Path) -> Error {
    Error::new(ErrorKind::Usage, path, "exists, and tracetree did not write it")
        .remedy("name another folder with -o, move the file, or overwrite it with --force")
}

/// Copies a file of this machine to an address.
///
/// # Errors
/// If it cannot be read or written.
pub(crate) fn upload(file: &Path, address: &Path) -> Result<()> {
    remote::upload(file, address)
}
