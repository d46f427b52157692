//! A folder that is written aside → moved into place whole, or gone.
//!
//! ```text
//! report/            exists: files are replaced one by one, each whole
//!   .report.7-1f3….partial/      the new ones, and what they replace until all is done
//! report/            is missing: the folder beside it gets its name
//! ```

use super::unfinished::Unfinished;
use crate::error::{Error, Result};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How the name of such a folder ends.
const ENDING: &str = ".partial";

/// What was not changed for so long belongs to a run that was killed: a report takes seconds. The
/// number of its process says nothing: in containers all have the same.
const STALE: Duration = Duration::from_secs(3600);

/// A folder next to the target, or in it where it exists, that is removed again whatever happens.
pub(super) struct Staging {
    path: PathBuf,
    unfinished: Unfinished,
}

impl Staging {
    /// A new folder for the report in `folder`. Those that runs before left behind are removed.
    pub(super) fn create(folder: &Path, unfinished: &Unfinished) -> Result<Staging> {
        let failed = |error| {
            Error::io(folder, "create the report folder", error)
                .remedy("name a folder that you may write to with -o")
        };
        let beside = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        // A folder that exists may be a file system of its own, which nothing is moved into.
        let parent = if folder.is_dir() { folder } else { beside.unwrap_or(Path::new(".")) };
        fs::create_dir_all(parent).map_err(failed)?;
        let prefix = format!(".{}.", folder.file_name().unwrap_or_default().to_string_lossy());
        remove_stale(parent, &prefix);
        let path = unfinished.note(|| create_unique(parent, &prefix)).map_err(failed)?;
        Ok(Staging { path, unfinished: unfinished.clone() })
    }

    /// Where to write.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A new folder appears whole; in an existing one each file is replaced whole, and those of
    /// `stale` go.
    pub(super) fn move_into(
        &self,
        folder: &Path,
        names: &[String],
        stale: &[String],
    ) -> Result<()> {
        let failed = |error| Error::io(folder, "put the report in place", error);
        let _kept = self.unfinished.lock();
        if !folder.exists() {
            return fs::rename(&self.path, folder).map_err(failed);
        }
        for name in names {
            self.replace(&folder.join(name), name).map_err(failed)?;
        }
        for name in stale {
            fs::rename(folder.join(name), self.aside(name)).map_err(failed)?;
        }
        Ok(())
    }

    /// Puts a file in its place. What is there goes aside first: a file system may write a file out
    /// to the disk before it takes the place of another, which can take longer than all that was
    /// done before. It comes back where the new one cannot be put there.
    fn replace(&self, place: &Path, name: &str) -> io::Result<()> {
        let aside = self.aside(name);
        let is_there = place.is_file();
        if is_there {
            fs::rename(place, &aside)?;
        }
        fs::rename(self.path.join(name), place).inspect_err(|_| {
            if is_there {
                let _ = fs::rename(&aside, place);
            }
        })
    }

    fn aside(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.before"))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Gone already where it was renamed into place; nothing else can be done about a failure.
        let _ = fs::remove_dir_all(&self.path);
        self.unfinished.forget(&self.path);
    }
}

/// Creates a folder that nobody else has.
fn create_unique(parent: &Path, prefix: &str) -> io::Result<PathBuf> {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut number = since_epoch.as_nanos();
    loop {
        let path = parent.join(format!("{prefix}{}-{number:x}{ENDING}", std::process::id()));
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Removes what runs left behind that could not do it themselves.
fn remove_stale(parent: &Path, prefix: &str) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(prefix) && name.ends_with(ENDING) && is_stale(&entry.path()) {
            // Somebody else may do it at the same time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether neither the folder nor a file in it was changed lately.
fn is_stale(folder: &Path) -> bool {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    files.chain([folder.to_path_buf()]).all(|path| {
        let changed = fs::symlink_metadata(path).and_then(|data| data.modified());
        changed.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > STALE))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::tempdir;

    fn write(path: &Path, text: &str) {
        fs::write(path, text).expect("written");
    }

    #[test]
    fn folders_of_one_process_have_different_names() {
        let home = tempdir().expect("a folder");
        let unfinished = Unfinished::default();
        let create = || Staging::create(&home.path().join("report"), &unfinished).expect("staging");
        let (one, other) = (create(), create());
        assert_ne!(one.path(), other.path());
        assert!(one.path().is_dir() && other.path().is_dir());
    }

    #[test]
    fn a_file_comes_back_where_the_new_one_cannot_take_its_place() {
        let home = tempdir().expect("a folder");
        let staging = Staging::create(home.path(), &Unfinished::default()).expect("staging");
        write(&home.path().join("a.csv"), "old");
        // The new file is not there, so that it cannot be moved.
        assert!(staging.move_into(home.path(), &["a.csv".to_owned()], &[]).is_err());
        assert_eq!(fs::read_to_string(home.path().join("a.csv")).expect("the old file"), "old");
    }

    #[test]
    fn what_is_unfinished_is_removed_on_request_and_by_nobody_twice() {
        let home = tempdir().expect("a folder");
        let unfinished = Unfinished::default();
        let staging = Staging::create(&home.path().join("report"), &unfinished).expect("staging");
        write(&staging.path().join("a.csv"), "half");
        unfinished.remove();
        assert_eq!(fs::read_dir(home.path()).expect("a folder").count(), 0);
        drop(staging);
        assert!(unfinished.lock().is_empty());
    }

    #[test]
    fn folders_of_killed_runs_go_after_an_hour_and_those_of_others_stay() {
        let home = tempdir().expect("a folder");
        let folders = [".report.1-a.partial", ".report.2-b.partial", ".other.1-a.partial"];
        let folders = folders.map(|name| home.path().join(name));
        folders.iter().for_each(|folder| fs::create_dir(folder).expect("created"));
        let past = SystemTime::now() - 2 * STALE;
        for folder in [&folders[0], &folders[2]] {
            let folder = fs::File::open(folder).expect("a folder");
            folder.set_modified(past).expect("a time");
        }
        let staging = Staging::create(&home.path().join("report"), &Unfinished::default());
        assert!(staging.is_ok());
        assert_eq!(folders.map(|folder| folder.exists()), [false, true, true]);
    }
}
