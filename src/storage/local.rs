//! Files of this machine: written aside under a name of their own, and put in place whole.

use super::{Created, Stored};
use crate::error::{Error, ErrorKind, Result};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

pub(super) fn list(folder: &Path) -> Result<Vec<Stored>> {
    let failed = |error| Error::io(folder, "list the folder", error);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // A link to nothing is no file.
        if path.is_file() {
            found.push(stat(&path)?);
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

pub(super) fn stat(path: &Path) -> Result<Stored> {
    let failed = |error| Error::io(path, "open the file", error);
    let data = fs::metadata(path).map_err(failed)?;
    let changed = data.modified().map_err(failed)?;
    let since = changed.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let version = since.as_nanos().to_string();
    Ok(Stored { path: path.to_path_buf(), size: data.len(), version })
}

pub(super) fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    let file = File::open(path).map_err(|error| Error::io(path, "open the trace", error))?;
    Ok(Box::new(file))
}

pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(path, "read the file", error)),
    }
}

pub(super) fn create(path: &Path, bytes: &[u8]) -> Result<Created> {
    if path.exists() {
        return Ok(Created::Kept);
    }
    let aside = write_aside(path, bytes)?;
    // A link takes no place that is taken; a rename would.
    let linked = fs::hard_link(&aside, path);
    let result = match linked {
        Ok(()) => Ok(Created::New),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Created::Kept),
        // Some file systems have no links.
        Err(_) if path.exists() => Ok(Created::Kept),
        Err(_) => fs::rename(&aside, path)
            .map(|()| Created::New)
            .map_err(|error| Error::io(path, "write the file", error)),
    };
    // Gone already where it was renamed.
    let _ = fs::remove_file(&aside);
    result
}

pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    if path.is_dir() {
        return Err(Error::new(ErrorKind::Usage, path, "a folder is in the way of a file")
            .remedy("rename it, or name another folder"));
    }
    let aside = write_aside(path, bytes)?;
    fs::rename(&aside, path).map_err(|error| {
        let _ = fs::remove_file(&aside);
        Error::io(path, "write the file", error)
    })
}

/// Writes into a file beside `path` that nobody else has; removes it where it cannot be finished.
fn write_aside(path: &Path, bytes: &[u8]) -> Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let failed = |error: io::Error| {
        let is_full = matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        );
        let error = Error::io(path, "write the file", error);
        if is_full { error.remedy("make room there, or name another folder") } else { error }
    };
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    fs::create_dir_all(folder.unwrap_or(Path::new("."))).map_err(failed)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let aside = path.with_file_name(format!(".{name}.{process}-{number}-{:x}", since.as_nanos()));
    let write = || {
        let mut file = File::create_new(&aside)?;
        file.write_all(bytes)?;
        // A machine that stops at once leaves the whole file, or none.
        file.sync_data()
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&aside);
        failed(error)
    })?;
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_written_over_and_nothing_is_left_beside_it() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("shards/one");
        assert_eq!(create(&path, b"first").expect("written"), Created::New);
        assert_eq!(create(&path, b"second").expect("kept"), Created::Kept);
        assert_eq!(read(&path).expect("read"), Some(b"first".to_vec()));
        replace(&path, b"third").expect("replaced");
        assert_eq!(read(&path).expect("read"), Some(b"third".to_vec()));
        assert_eq!(list(&home.path().join("shards")).expect("listed").len(), 1);
        assert_eq!(read(&home.path().join("none")).expect("nothing"), None);
    }

    #[test]
    fn of_many_writers_at_once_one_wins() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("one");
        let created: Vec<Created> = std::thread::scope(|scope| {
            let write = |at: u8| {
                scope.spawn({
                    let path = &path;
                    move || create(path, &[at; 100_000]).expect("written")
                })
            };
            let threads: Vec<_> = (0..8).map(write).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert_eq!(created.iter().filter(|&&created| created == Created::New).count(), 1);
        let bytes = read(&path).expect("read").expect("there");
        assert!(bytes.len() == 100_000 && bytes.iter().all(|&byte| byte == bytes[0]));
    }
}
