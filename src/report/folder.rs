//! Files → a folder: written aside in parallel, in their order, moved into place when complete.

use super::{ReportFile, ReportOptions};
use crate::analysis::Analysis;
use crate::error::{Error, ErrorKind, Result};
use rayon::prelude::*;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) fn write_into(
    folder: &Path,
    files: &[ReportFile],
    analysis: &Arc<Analysis>,
    options: &ReportOptions,
) -> Result<Vec<String>> {
    if folder.exists() && !folder.is_dir() {
        return Err(Error::new(ErrorKind::Usage, folder, "the output exists and is no folder")
            .remedy("name another folder with -o"));
    }
    let mut places = files.iter().map(|file| folder.join(file.name()));
    if let Some(taken) = places.find(|place| place.is_dir()) {
        return Err(Error::new(ErrorKind::Usage, taken, "a folder is in the way of a file")
            .remedy("rename it, or name another folder with -o"));
    }
    let staging = Staging::create(folder)?;
    // A bridge hands out one file after the other; halves of the list would take unequally long.
    files.iter().par_bridge().try_for_each(|file| {
        write_file(&staging.path.join(file.name()), file, analysis, options)
    })?;
    staging.move_into(folder, files)?;
    Ok(files.iter().map(ReportFile::name).collect())
}

fn write_file(
    path: &Path,
    file: &ReportFile,
    analysis: &Arc<Analysis>,
    options: &ReportOptions,
) -> Result<()> {
    let write = || -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 16, fs::File::create(path)?);
        file.write(analysis, options, &mut out)?;
        out.flush()
    };
    write().map_err(|error| Error::io(path, "write the report", error))
}

/// A folder next to the target, or in it where it exists, that is removed again whatever happens.
struct Staging {
    path: PathBuf,
}

impl Staging {
    fn create(folder: &Path) -> Result<Staging> {
        let failed = |error| {
            Error::io(folder, "create the report folder", error)
                .remedy("name a folder that you may write to with -o")
        };
        let beside = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        // A folder that exists may be a file system of its own, which nothing is moved into.
        let parent = if folder.is_dir() { folder } else { beside.unwrap_or(Path::new(".")) };
        fs::create_dir_all(parent).map_err(failed)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let path = parent.join(format!(".{name}.{}.partial", std::process::id()));
        fs::create_dir(&path).map_err(failed)?;
        Ok(Staging { path })
    }

    /// A new folder appears whole; in an existing one each file is replaced whole.
    ///
    /// What is replaced goes aside first: a file system may write a file out to the disk before it
    /// takes the place of another, which can take longer than all that was done before.
    fn move_into(&self, folder: &Path, files: &[ReportFile]) -> Result<()> {
        let failed = |error| Error::io(folder, "put the report in place", error);
        if !folder.exists() {
            return fs::rename(&self.path, folder).map_err(failed);
        }
        for file in files {
            let name = file.name();
            let place = folder.join(&name);
            if place.is_file() {
                let aside = self.path.join(format!("{name}.before"));
                fs::rename(&place, aside).map_err(failed)?;
            }
            fs::rename(self.path.join(name), place).map_err(failed)?;
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Gone already where it was renamed into place; nothing else can be done about a failure.
        let _ = fs::remove_dir_all(&self.path);
    }
}
