//! Keeps track of the folders being written, so that they can be removed when the process must end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An upper bound on the number of files in a report.
const MOST_FILES: usize = 100;

/// The folders in which reports are being written, until they are moved into place. Clones share
/// one list, so a signal handler can remove the folders from another thread.
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

/// The list of folders is not one of the options, so it never makes options unequal.
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
            // Other threads may still be adding files, and each new file makes the removal fail.
            let mut attempts = 0..MOST_FILES;
            while attempts.next().is_some() && folder.exists() {
                let _ = fs::remove_dir_all(folder);
            }
        }
    }

    /// Records the folder that `create` creates. [`Unfinished::remove`] finds the folder as soon as
    /// it exists.
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

    /// Blocks removal of the folders while the lock is held.
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
