//! Creates staging folders for reports. Either the content of a staging folder is moved into place
//! completely, or the folder is removed.
//!
//! ```text
//! report/            exists: files are replaced one by one, each atomically
//!   manifest.json                state `writing` from the first replacement to the last
//!   .report.7-4c1…-1f3….partial/ the new files; replaced files are kept here until all is done
//! report/            is missing: the folder next to it is renamed to it
//! ```
//!
//! A run that is interrupted between two renames leaves a manifest in state `writing`. If a rename fails, the earlier
//! renames are undone.

use super::manifest::{MANIFEST, Manifest};
use super::unfinished::Unfinished;
use crate::error::{Error, Result};
use crate::storage;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Suffix of the names of staging folders.
const ENDING: &str = ".partial";

/// A staging folder that has not changed for this long is treated as a leftover of a killed run, because writing a
/// report takes only seconds. A folder of a process that ended in this container is removed at once. For other
/// folders, the process id in the name does not show whether the run is alive.
const STALE: Duration = Duration::from_secs(3600);

/// A staging folder next to the target, or inside the target if the target exists. The staging folder is
/// removed on drop unless it was moved into place.
pub(super) struct Staging {
    path: PathBuf,
    unfinished: Unfinished,
}

impl Staging {
    /// Creates a staging folder for the report whose target is `folder`. Stale staging folders left by earlier runs are
    /// removed first.
    pub(super) fn create(folder: &Path, unfinished: &Unfinished) -> Result<Staging> {
        let beside = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        // An existing target may be a mount point, and files cannot be renamed across file systems.
        let parent = if folder.is_dir() { folder } else { beside.unwrap_or(Path::new(".")) };
        Staging::create_in(parent, folder, unfinished)
    }

    /// Same as [`Staging::create`], but creates the staging folder in `parent`.
    pub(super) fn create_in(
        parent: &Path,
        folder: &Path,
        unfinished: &Unfinished,
    ) -> Result<Staging> {
        let failed = |error| {
            Error::io(folder, "create the report folder", error)
                .remedy("choose a writable folder with -o")
        };
        fs::create_dir_all(parent).map_err(failed)?;
        let prefix = format!(".{}.", folder.file_name().unwrap_or_default().to_string_lossy());
        remove_stale(parent, &prefix);
        let path = unfinished.note(|| create_unique(parent, &prefix)).map_err(failed)?;
        Ok(Staging { path, unfinished: unfinished.clone() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a small file into the staging folder.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        storage::create_file(&self.path.join(name))?.write_all(bytes)
    }

    /// Moves the report into place. A missing target is created by renaming the staging folder. In
    /// an existing target, each file in `names` is replaced and each file in `stale` is removed;
    /// the manifest comes last.
    pub(super) fn move_into(
        &self,
        folder: &Path,
        names: &[String],
        stale: &[String],
    ) -> Result<()> {
        let failed = |error| Error::io(folder, "move the report into place", error);
        let _kept = self.unfinished.lock();
        if !folder.exists() {
            return fs::rename(&self.path, folder).map_err(failed);
        }
        self.swap(folder, names, stale, &mut |from, to| fs::rename(from, to)).map_err(failed)
    }

    /// Replaces files. Every change is a rename, so a test can stop after each rename.
    fn swap(
        &self,
        folder: &Path,
        names: &[String],
        stale: &[String],
        rename: &mut Rename<'_>,
    ) -> io::Result<()> {
        let (manifest, before) = (folder.join(MANIFEST), self.path.join("manifest.before"));
        let writing = self.path.join("manifest.writing");
        self.write("manifest.writing", &Manifest::writing(names.iter().chain(stale)).to_json())?;
        let had_manifest = manifest.is_file();
        if had_manifest {
            self.write("manifest.before", &fs::read(&manifest)?)?;
        }
        rename(&writing, &manifest)?;
        let mut moves = Moves { rename, done: Vec::new() };
        let moved = self.replace_all(folder, names, stale, &mut moves);
        let moved = moved.and_then(|()| (moves.rename)(&self.path.join(MANIFEST), &manifest));
        moved.inspect_err(|_| {
            // If undoing the renames fails as well, the manifest remains in state `writing`.
            let is_as_before = moves.undo().is_ok();
            if is_as_before {
                let (from, to) =
                    if had_manifest { (&before, &manifest) } else { (&manifest, &writing) };
                let _ = (moves.rename)(from, to);
            }
        })
    }

    /// Moves old files away and new files in. Each old file is moved away before the new file is moved in. If a rename
    /// replaces an existing file, some file systems first flush data to disk, which can take longer than all previous
    /// work.
    fn replace_all(
        &self,
        folder: &Path,
        names: &[String],
        stale: &[String],
        moves: &mut Moves<'_, '_>,
    ) -> io::Result<()> {
        for name in names.iter().filter(|name| *name != MANIFEST) {
            let place = folder.join(name);
            if place.is_symlink() || place.is_file() {
                moves.make(place.clone(), self.aside(name))?;
            }
            moves.make(self.path.join(name), place)?;
        }
        for name in stale {
            moves.make(folder.join(name), self.aside(name))?;
        }
        Ok(())
    }

    fn aside(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.before"))
    }
}

type Rename<'r> = dyn FnMut(&Path, &Path) -> io::Result<()> + 'r;

/// The renames made so far, so that they can be undone.
struct Moves<'m, 'r> {
    rename: &'m mut Rename<'r>,
    done: Vec<(PathBuf, PathBuf)>,
}

impl Moves<'_, '_> {
    fn make(&mut self, from: PathBuf, to: PathBuf) -> io::Result<()> {
        (self.rename)(&from, &to)?;
        self.done.push((from, to));
        Ok(())
    }

    fn undo(&mut self) -> io::Result<()> {
        while let Some((from, to)) = self.done.pop() {
            (self.rename)(&to, &from)?;
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // If the report was moved into place, the staging folder no longer exists. Any other failure to remove the
        // staging folder cannot be handled here.
        let _ = fs::remove_dir_all(&self.path);
        self.unfinished.forget(&self.path);
    }
}

fn create_unique(parent: &Path, prefix: &str) -> io::Result<PathBuf> {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut number = since_epoch.as_nanos();
    loop {
        let (process, container) = (std::process::id(), container().unwrap_or_default());
        let path = parent.join(format!("{prefix}{process}-{container}-{number:x}{ENDING}"));
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Removes staging folders that killed runs left behind.
fn remove_stale(parent: &Path, prefix: &str) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Some(of) = name.strip_prefix(prefix).and_then(|name| name.strip_suffix(ENDING)) else {
            continue;
        };
        if has_ended(of) || is_stale(&entry.path()) {
            // A concurrent process may be removing the staging folder too.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Identifies the running system and the container, in which a process id is unique; `None` if the operating system
/// does not report them.
fn container() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let processes = fs::read_link("/proc/self/ns/pid").ok()?;
    let processes: String =
        processes.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    Some(format!("{}.{processes}", boot.split('-').next()?))
}

/// Whether a staging folder, named `7-4c1…-1f3…`, belongs to a process that ended in this container.
fn has_ended(name: &str) -> bool {
    let mut parts = name.split('-');
    let (Some(process), Some(of), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let is_number = process.parse::<u32>().is_ok();
    is_number
        && container().is_some_and(|own| own == of)
        && !Path::new("/proc").join(process).exists()
}

/// Whether the folder and all files in it have been unchanged for a long time.
fn is_stale(folder: &Path) -> bool {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    files.chain([folder.to_path_buf()]).all(|path| {
        let changed = fs::symlink_metadata(path).and_then(|data| data.modified());
        changed.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > STALE))
    })
}

#[cfg(test)]
mod tests {
    use super::super::manifest::{Marking, check_whole, was_interrupted};
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

    const NEW: [&str; 4] = ["a.csv", "b.csv", "c.csv", MANIFEST];

    /// Creates a folder with one generation of a report. The folder contains a staging folder with the next generation,
    /// in which `b.csv` stays, `old.md` is removed and `c.csv` is new.
    fn two_generations(home: &Path) -> Staging {
        let mark = |folder: &Path, names: &[&str]| {
            let mark = |name: &&str| {
                let mut marking = Marking::new(io::sink());
                marking.write_all(&fs::read(folder.join(name)).expect("read")).expect("marked");
                ((*name).to_owned(), marking.mark())
            };
            let manifest = Manifest::complete(names.iter().map(mark).collect());
            fs::write(folder.join(MANIFEST), manifest.to_json()).expect("written");
        };
        let old = ["a.csv", "b.csv", "old.md"];
        old.iter().for_each(|name| write(&home.join(name), &format!("old {name}")));
        mark(home, &old);
        let staging = Staging::create(home, &Unfinished::default()).expect("staging");
        let new = &NEW[..3];
        new.iter().for_each(|name| write(&staging.path().join(name), &format!("new {name}")));
        mark(staging.path(), new);
        staging
    }

    /// Returns `old` or `new` if all files belong to the same generation, otherwise `mixed`.
    fn generation(home: &Path) -> &'static str {
        let all = |names: &[&str], word: &str, gone: &str| {
            !home.join(gone).exists()
                && names.iter().all(|name| {
                    fs::read_to_string(home.join(name))
                        .is_ok_and(|text| text == format!("{word} {name}"))
                })
        };
        match (all(&["a.csv", "b.csv", "old.md"], "old", "c.csv"), all(&NEW[..3], "new", "old.md"))
        {
            (true, _) => "old",
            (_, true) => "new",
            _ => "mixed",
        }
    }

    /// Replaces the old generation with the new generation. The renames at the positions in `failing` fail.
    fn swap(staging: &Staging, home: &Path, failing: std::ops::Range<usize>) -> bool {
        let (names, mut made) = (NEW.map(str::to_owned), 0);
        let rename = &mut |from: &Path, to: &Path| {
            made += 1;
            if failing.contains(&(made - 1)) {
                Err(io::Error::other("stopped"))
            } else {
                fs::rename(from, to)
            }
        };
        staging.swap(home, &names, &["old.md".to_owned()], rename).is_ok()
    }

    #[test]
    fn a_stop_at_any_rename_leaves_one_generation_or_a_folder_that_is_refused() {
        let mut mixes = 0;
        for stop in 0.. {
            let home = tempdir().expect("a folder");
            let staging = two_generations(home.path());
            let is_done = swap(&staging, home.path(), stop..usize::MAX);
            // A killed process does not clean up, so the destructor must not run.
            std::mem::forget(staging);
            match check_whole(home.path()) {
                Ok(()) => assert_eq!(generation(home.path()), if is_done { "new" } else { "old" }),
                Err(error) => {
                    assert!(
                        was_interrupted(home.path()) && error.to_string().contains("interrupted")
                    );
                    mixes += 1;
                }
            }
            if is_done {
                // The renames are: one for the marker, two each for a.csv and b.csv, and one each for c.csv, old.md
                // and the manifest.
                assert_eq!((stop, mixes), (8, 7));
                return;
            }
        }
    }

    #[test]
    fn an_error_at_any_rename_undoes_those_before_it() {
        for failing in 0..8 {
            let home = tempdir().expect("a folder");
            let staging = two_generations(home.path());
            assert!(!swap(&staging, home.path(), failing..failing + 1), "rename {failing}");
            assert_eq!(generation(home.path()), "old", "rename {failing}");
            check_whole(home.path()).expect("the old report");
        }
    }

    #[test]
    fn unfinished_files_are_removed_once_and_only_on_request() {
        let home = tempdir().expect("a folder");
        let unfinished = Unfinished::default();
        let staging = Staging::create(&home.path().join("report"), &unfinished).expect("staging");
        write(&staging.path().join("a.csv"), "half");
        unfinished.remove();
        assert_eq!(fs::read_dir(home.path()).expect("a folder").count(), 0);
        drop(staging);
        assert!(unfinished.lock().is_empty());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_folder_of_a_run_that_was_killed_here_is_removed_at_once() {
        let home = tempdir().expect("a folder");
        let here = container().expect("a container");
        let mut killed = std::process::Command::new("true").spawn().expect("a process");
        let dead = format!(".report.{}-{here}-1.partial", killed.id());
        killed.wait().expect("ended");
        let alive = format!(".report.{}-{here}-1.partial", std::process::id());
        let elsewhere = format!(".report.{}-0.1-1.partial", killed.id());
        let folders = [dead, alive, elsewhere].map(|name| home.path().join(name));
        folders.iter().for_each(|folder| fs::create_dir(folder).expect("created"));
        let staging = Staging::create(&home.path().join("report"), &Unfinished::default());
        assert!(staging.is_ok());
        assert_eq!(folders.map(|folder| folder.exists()), [false, true, true]);
    }

    #[test]
    fn folders_of_killed_runs_are_removed_after_an_hour_and_other_folders_are_kept() {
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
