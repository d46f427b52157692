//! Folders that are being written → nothing left of them when the process is told to end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// More files than a report has.
const MOST_FILES: usize = 100;

/// The folders in which reports are being written, until they are moved into place. Clones stand for
/// the same list, so that who is told to end the process can remove them from another thread.
///
/// ```
/// use tracetree::report::{ReportOptions, Unfinished};
///
/// let options = ReportOptions::default();
/// let unfinished: Unfinished = options.unfinished.clone();
/// // In the handler of a signal, before the process ends:
/// unfinished.remove();
/// ```
#[derive(Debug, Clone, Default)]
pub struct Unfinished(Arc<Mutex<Vec<PathBuf>>>);

/// Which folders are being written is no part of what is asked for.
impl PartialEq for Unfinished {
    fn eq(&self, _: &Unfinished) -> bool {
        true
    }
}

impl Eq for Unfinished {}

impl Unfinished {
    /// Removes the folders. Waits for a report that is being moved into place.
    pub fn remove(&self) {
        for folder in self.lock().iter() {
            // Other threads may be adding files, each of which keeps the folder from going.
            let mut attempts = 0..MOST_FILES;
            while attempts.next().is_some() && folder.exists() {
                let _ = fs::remove_dir_all(folder);
            }
        }
    }

    /// Notes a folder that `create` makes: who removes the folders sees it as soon as it is there.
    pub(super) fn note(&self, create: impl FnOnce() -> io::Result<PathBuf>) -> io::Result<PathBuf> {
        let mut folders = self.lock();
        let folder = create()?;
        folders.push(folder.clone());
        Ok(folder)
    }

    /// Forgets a folder that is gone.
    pub(super) fn forget(&self, folder: &Path) {
        self.lock().retain(|other| other != folder);
    }

    /// Keeps the folders from being removed for as long as the lock is held.
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
