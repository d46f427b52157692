//! Keeps track of the folders that are being written, so that they can be removed if the process is interrupted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An upper bound on the number of files in a report.
const MOST_FILES: usize = 100;

/// The folders that contain partially written reports, which have not been moved into place yet. Clones share one list,
/// so a signal handler can remove the folders from its own thread.
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
#[doc(hidden)]
pub struct Unfinished(Arc<Mutex<Vec<PathBuf>>>);

/// All lists compare equal. The list is a field of `ReportOptions` but not an option, so two sets of options must
/// compare equal even if their lists differ.
impl PartialEq for Unfinished {
    fn eq(&self, _: &Unfinished) -> bool {
        true
    }
}

impl Eq for Unfinished {}

impl Unfinished {
    /// Removes the folders. Waits until any report that is being moved into place is complete.
    pub fn remove(&self) {
        for folder in self.lock().iter() {
            // Other threads may still be adding files, and a file added during the removal makes the removal fail.
            let mut attempts = 0..MOST_FILES;
            while attempts.next().is_some() && folder.exists() {
                let _ = fs::remove_dir_all(folder);
            }
        }
    }

    /// Calls `create` to create a folder, and records the folder. From the moment the folder exists,
    /// [`Unfinished::remove`] can remove it.
    pub(super) fn note(&self, create: impl FnOnce() -> io::Result<PathBuf>) -> io::Result<PathBuf> {
        let mut folders = self.lock();
        let folder = create()?;
        folders.push(folder.clone());
        Ok(folder)
    }

    /// Forgets a folder that no longer exists.
    pub(super) fn forget(&self, folder: &Path) {
        self.lock().retain(|other| other != folder);
    }

    /// Returns a lock; the folders are not removed while the lock is held.
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
