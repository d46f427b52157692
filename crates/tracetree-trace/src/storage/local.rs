//! Lists, reads and writes local files. To write a file, a temporary file is written in the same
//! folder and then renamed or linked to the final name.

use super::Stored;
use crate::error::{Error, ErrorKind, Result};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use tempfile::SpooledTempFile;

pub(super) fn list(folder: &Path) -> Result<Vec<Stored>> {
    let failed = |error| Error::io(folder, "list the folder", error);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // Skips dangling links.
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
    Ok(Box::new(open_file(path)?))
}

pub(super) fn open_file(path: &Path) -> Result<File> {
    File::open(path).map_err(|error| Error::io(path, "open the trace", error))
}

/// Size in bytes up to which a temporary file stays in memory.
const IN_MEMORY: usize = 16 << 20;

pub(super) fn scratch() -> SpooledTempFile {
    SpooledTempFile::new(IN_MEMORY)
}

pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(path, "read the file", error)),
    }
}

/// Writes a new file; an existing file is left unchanged.
pub(super) fn create(path: &Path, bytes: &[u8]) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    make_folder(path)?;
    let aside = write_aside(path, bytes)?;
    // A hard link fails if the target exists; a rename would replace it.
    let result = match fs::hard_link(&aside, path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists || path.exists() => Ok(()),
        // Some file systems do not support hard links.
        Err(_) => {
            fs::rename(&aside, path).map_err(|error| Error::io(path, "write the file", error))
        }
    };
    // The temporary file is removed after a hard link or a failure. After a rename the temporary
    // file no longer exists, so a failure to remove it is ignored.
    let _ = fs::remove_file(&aside);
    result
}

pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    make_folder(path)?;
    write(path, bytes)
}

/// Same as [`replace`], but the folder must exist.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if is_stream(path) {
        return write_stream(path, bytes).map_err(|error| failed(path, error));
    }
    refuse_folders_and_links(path)?;
    let aside = write_aside(path, bytes)?;
    fs::rename(&aside, path).map_err(|error| {
        let _ = fs::remove_file(&aside);
        Error::io(path, "write the file", error)
    })
}

/// Creates a new file. Fails if the name is already in use, even by a dangling link.
#[expect(clippy::disallowed_methods, reason = "the only function that creates files")]
pub(super) fn create_file(path: &Path) -> io::Result<File> {
    // With `O_EXCL`, an existing link with this name is never followed.
    File::create_new(path)
}

/// Whether `path` is a device, a pipe or an open descriptor (`/dev/stdout`, `>(command)`). A rename
/// would replace a device with a file, so streams are written to directly.
fn is_stream(path: &Path) -> bool {
    let is_descriptor = ["/dev/fd", "/dev/stdout", "/dev/stderr", "/proc/self/fd"]
        .iter()
        .any(|known| path.starts_with(known));
    let kind = fs::symlink_metadata(path).map(|data| data.file_type());
    kind.is_ok_and(|kind| is_descriptor || !(kind.is_file() || kind.is_dir() || kind.is_symlink()))
}

#[expect(clippy::disallowed_methods, reason = "opens an existing device and creates no file")]
fn write_stream(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::OpenOptions::new().write(true).truncate(true).open(path)?.write_all(bytes)
}

/// Rejects folders and links. If `path` is a link, following it would overwrite a file that the
/// user did not name, whereas replacing it would silently leave the link's target unchanged.
fn refuse_folders_and_links(path: &Path) -> Result<()> {
    let Ok(data) = fs::symlink_metadata(path) else { return Ok(()) };
    if data.is_symlink() {
        let remedy = match fs::canonicalize(path) {
            Ok(target) => format!("write to {} directly, or remove the link", target.display()),
            Err(_) => "remove the link, or choose another file".to_owned(),
        };
        return Err(
            Error::new(ErrorKind::Usage, path, "the output is a symbolic link").remedy(remedy)
        );
    }
    if data.is_dir() {
        return Err(Error::new(ErrorKind::Usage, path, "the output path is a folder")
            .remedy("rename the folder, or choose another output folder"));
    }
    Ok(())
}

/// The error for a file that cannot be written.
fn failed(path: &Path, error: io::Error) -> Error {
    let is_full = matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    );
    let error = Error::io(path, "write the file", error);
    if is_full { error.remedy("free some space, or choose another folder") } else { error }
}

/// The folder of a file; the current folder if the path is only a file name.
fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(folder_of(path)).map_err(|error| failed(path, error))
}

/// The prefix and the suffix of temporary file names.
const ASIDE: (&str, &str) = (".tracetree-", ".part");

/// If a temporary file has not been modified for this long, the process that wrote it is assumed to
/// have been killed.
const STALE: Duration = Duration::from_secs(3600);

/// Removes the temporary files of writers that were killed. Temporary files that cannot be removed
/// stay in the folder.
pub(super) fn remove_stale(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if name.starts_with(ASIDE.0) && name.ends_with(ASIDE.1) && age() >= Some(STALE) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Writes a temporary file with a unique name next to `path`; removes it if writing fails.
fn write_aside(path: &Path, bytes: &[u8]) -> Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let name = format!("{}{process}-{number}-{:x}{}", ASIDE.0, since.as_nanos(), ASIDE.1);
    let aside = folder_of(path).join(name);
    let mut file = create_file(&aside).map_err(|error| failed(path, error))?;
    let mut write = || {
        // The new file gets the permissions of the file that it replaces.
        if let Ok(replaced) = fs::metadata(path) {
            file.set_permissions(replaced.permissions())?;
        }
        file.write_all(bytes)?;
        // Syncing ensures that after a power loss the file is either complete or absent.
        file.sync_data()
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&aside);
        failed(path, error)
    })?;
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_files_are_not_overwritten_and_no_temporary_file_is_left() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("shards/one");
        create(&path, b"first").expect("written");
        create(&path, b"second").expect("kept");
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
        let found: Vec<Vec<u8>> = std::thread::scope(|scope| {
            let write = |at: u8| {
                let path = &path;
                scope.spawn(move || {
                    create(path, &[at; 100_000]).expect("written");
                    read(path).expect("read").expect("there")
                })
            };
            let threads: Vec<_> = (0..8).map(write).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let first = found[0][0];
        assert!(found.iter().all(|bytes| *bytes == [first; 100_000]));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_neither_followed_nor_replaced() {
        let home = tempfile::tempdir().expect("a folder");
        let (link, target) = (home.path().join("link"), home.path().join("target"));
        fs::write(&target, "mine").expect("written");
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        let error = write(&link, b"new").expect_err("a link");
        assert!(error.to_string().contains("is a symbolic link"), "{error}");
        assert!(error.to_string().contains(&*target.to_string_lossy()), "{error}");
        assert_eq!(fs::read_to_string(&target).expect("read"), "mine");
        assert!(link.is_symlink());
        assert_eq!(fs::read_dir(home.path()).expect("listed").count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_private_file_stays_private_and_a_device_stays_a_device() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("one");
        fs::write(&path, "mine").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
        write(&path, b"new").expect("replaced");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!((mode & 0o777, read(&path).expect("read")), (0o600, Some(b"new".to_vec())));
        write(Path::new("/dev/null"), b"gone").expect("written");
        assert!(!fs::metadata("/dev/null").expect("a device").is_file());
    }

    #[test]
    fn temporary_files_of_killed_writers_are_removed_and_those_of_others_are_kept() {
        let home = tempfile::tempdir().expect("a folder");
        let long_ago = SystemTime::now() - 2 * STALE;
        for (name, is_old) in [
            (".tracetree-1-0-a.part", true),
            (".tracetree-1-1-a.part", false),
            ("mine.part", true),
            ("1.parquet", true),
        ] {
            let file = File::create(home.path().join(name)).expect("created");
            if is_old {
                file.set_modified(long_ago).expect("set");
            }
        }
        remove_stale(home.path());
        let left = list(home.path()).expect("listed");
        let left: Vec<_> = left.iter().filter_map(|file| file.path.file_name()).collect();
        assert_eq!(left, [".tracetree-1-1-a.part", "1.parquet", "mine.part"]);
    }

    #[test]
    fn nothing_is_left_where_a_file_cannot_be_put_in_place() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("one");
        fs::create_dir(&path).expect("a folder");
        assert!(write(&path, b"new").is_err());
        assert!(write(&home.path().join("missing/one"), b"new").is_err());
        assert_eq!(fs::read_dir(home.path()).expect("listed").count(), 1);
    }
}
