//! Lists, reads and writes whole files and objects by path or address. Only this module accesses
//! storage.
//!
//! Writes are atomic: a reader never sees a partial file, even if the writer is interrupted.

mod local;
#[cfg(not(feature = "remote"))]
#[path = "absent.rs"]
mod remote;
#[cfg(feature = "remote")]
mod remote;

use crate::error::{Error, ErrorKind, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Metadata of a file or object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Path or address of the file or object.
    pub path: PathBuf,
    /// Size in bytes.
    pub size: u64,
    /// A value that changes whenever the content does: the modification time in ns for a file, or
    /// the ETag for an object.
    pub version: String,
}

/// A file or object that is being opened. The first bytes of a remote object may already have been
/// requested.
pub enum Opening {
    /// A local file, which is opened only when it is read.
    Local(PathBuf),
    /// An object.
    Remote(Box<remote::Opening>),
}

impl Opening {
    /// Number of bytes that were requested in advance. They have arrived, or their transfer has
    /// started.
    pub fn ahead(&self) -> u64 {
        match self {
            Opening::Local(_) => 0,
            Opening::Remote(opening) => opening.ahead(),
        }
    }

    /// Opens the file, or waits for the first bytes of the object.
    ///
    /// # Errors
    /// Fails if the file or object cannot be opened, or if an object is not the requested version.
    pub fn open(self) -> Result<Box<dyn Read + Send>> {
        match self {
            Opening::Local(path) => local::open(&path),
            Opening::Remote(opening) => opening.open(),
        }
    }
}

/// A file or object that is being written.
pub enum Creating {
    /// A finished write to a local file, with its result.
    Done(Result<()>),
    /// A write to a remote object.
    Remote(remote::Creating),
}

impl Creating {
    /// Waits until the file or object is written, or is known to exist already.
    ///
    /// # Errors
    /// Fails if the file or object cannot be written.
    pub fn wait(self) -> Result<()> {
        match self {
            Creating::Done(written) => written,
            Creating::Remote(creating) => creating.wait(),
        }
    }
}

/// The prefixes that identify remote addresses.
const SCHEMES: [&str; 7] =
    ["s3://", "gs://", "az://", "abfs://", "abfss://", "https://", "http://"];

/// Maximum number of concurrent requests for small objects.
const REQUESTS: usize = 32;

/// Whether a path is an object storage address or a web server address.
pub fn is_remote(path: &Path) -> bool {
    path.to_str().is_some_and(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
}

/// Runs `work`, which reads from `folder` in parallel. Local files are read in the default thread
/// pool. Objects are read in a pool with more threads than there are cores, because these threads
/// mostly wait for the network.
pub fn at_once<T: Send>(folder: &Path, work: impl FnOnce() -> T + Send) -> T {
    static WAITING: LazyLock<Option<ThreadPool>> =
        LazyLock::new(|| ThreadPoolBuilder::new().num_threads(REQUESTS).build().ok());
    match is_remote(folder).then(|| WAITING.as_ref()).flatten() {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// The files directly in a folder, sorted by name. Subfolders are skipped.
///
/// # Errors
/// Fails if the folder cannot be listed.
pub fn list(folder: &Path) -> Result<Vec<Stored>> {
    if is_remote(folder) { remote::list(folder) } else { local::list(folder) }
}

/// Size and version of a file or object.
///
/// # Errors
/// Fails if the file or object does not exist or cannot be accessed.
pub fn stat(path: &Path) -> Result<Stored> {
    if is_remote(path) { remote::stat(path) } else { local::stat(path) }
}

/// Opens a file or object for streaming.
///
/// # Errors
/// Fails if the file or object cannot be opened.
pub fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    if is_remote(path) { remote::open(path) } else { local::open(path) }
}

/// Opens a local file for reading at any position.
///
/// # Errors
/// Fails if the file cannot be opened.
pub fn open_file(path: &Path) -> Result<std::fs::File> {
    local::open_file(path)
}

/// A temporary file without a name. The first bytes stay in memory; only a larger file is on disk.
pub fn scratch() -> impl Read + Write + Seek {
    local::scratch()
}

/// Starts opening a given version of a file or object. The first bytes of a remote object are
/// requested immediately, unless the object is on a web server or its version is not an ETag. The
/// version of a local file is not checked.
pub fn begin(stored: &Stored) -> Opening {
    if is_remote(&stored.path) {
        Opening::Remote(Box::new(remote::begin(stored)))
    } else {
        Opening::Local(stored.path.clone())
    }
}

/// Whether [`begin`] is guaranteed to read the requested version. If so, the caller need not check
/// the version.
pub fn is_pinned(stored: &Stored) -> bool {
    is_remote(&stored.path) && remote::is_pinned(stored)
}

/// The files directly in a folder, sorted by name; empty if the folder does not exist.
///
/// # Errors
/// Fails if an existing folder cannot be listed.
pub fn list_or_nothing(folder: &Path) -> Result<Vec<Stored>> {
    if is_remote(folder) || folder.exists() { list(folder) } else { Ok(Vec::new()) }
}

/// Removes temporary files from a local folder if their writers were killed.
pub fn remove_stale(folder: &Path) {
    if !is_remote(folder) {
        local::remove_stale(folder);
    }
}

/// All bytes of a file or object; `None` if the file or object does not exist.
///
/// # Errors
/// Fails if the file or object cannot be read.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    if is_remote(path) { remote::read(path) } else { local::read(path) }
}

/// Starts writing a new file or object. An existing file or object is never overwritten. Local
/// files are written before the function returns.
pub fn begin_create(path: &Path, bytes: &[u8]) -> Creating {
    if is_remote(path) {
        Creating::Remote(remote::begin_create(path, bytes))
    } else {
        Creating::Done(local::create(path, bytes))
    }
}

/// Writes a file or object, replacing an existing one.
///
/// # Errors
/// Fails if the file or object cannot be written.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    if is_remote(path) { remote::replace(path, bytes) } else { local::replace(path, bytes) }
}

/// Atomically writes `bytes` to the file `path`: a temporary file with a unique name in the same
/// folder is synced and renamed over `path`. If several processes write the same file, the last
/// write wins. Devices, pipes and `/dev/stdout` are written to directly.
///
/// # Errors
/// Fails if the file cannot be written, if the folder is missing, or if `path` is a folder or a
/// symbolic link. If the write fails, the temporary file is removed.
pub fn write_file(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    if is_remote(path) { remote::replace(path, bytes) } else { local::write(path, bytes) }
}

/// Creates a local file; fails if the name is already in use.
///
/// # Errors
/// Fails if the file cannot be created.
pub fn create_file(path: &Path) -> std::io::Result<std::fs::File> {
    local::create_file(path)
}

/// The error for an output path at which a file exists that tracetree did not write.
pub fn foreign(path: &Path) -> Error {
    Error::new(ErrorKind::Usage, path, "already exists and was not written by tracetree")
        .remedy("choose another folder with -o, move the file, or overwrite it with --force")
}

/// Copies a local file to a remote address.
///
/// # Errors
/// Fails if the file cannot be read or the object cannot be written.
pub fn upload(file: &Path, address: &Path) -> Result<()> {
    remote::upload(file, address)
}
