//! Finds and reads the runs of one side from the files, glob patterns and folders that the user gave.

use super::recording::{Recorder, Recording};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tracetree::error::{Error, ErrorKind, Result};
use tracetree::program::{Captures, Glob};
use tracetree::trace::{ReadOptions, Trace};
use tracetree::tree::{CallTree, TreeOptions};

/// A file in a folder is read as a trace if its name ends with one of these extensions.
const ENDS: [&str; 4] = [".json", ".json.gz", ".json.zst", ".json.tar.gz"];

/// Expands `paths` to a list of trace files. Each folder, and each glob pattern (`runs/a_*.json.gz`, with `*` and `?`
/// in the last component), is replaced by its files, sorted by name.
///
/// # Errors
/// Fails if a folder cannot be read, if a pattern or folder yields no file, or if the traces in a folder are not the
/// runs of one side: if they are both sides that Python's `compare` recorded, or several cycles of one recording.
pub fn run_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_pattern = name.as_ref().is_some_and(|name| name.contains(['*', '?']));
        if path.is_dir() {
            let is_trace = |name: &str| ENDS.iter().any(|end| name.ends_with(end));
            let folders = run_folders(path)?;
            let before = files.len();
            if folders.is_empty() {
                files.extend(listed(path, path, is_trace)?);
            }
            for folder in folders {
                files.extend(listed(path, &folder, is_trace)?);
            }
            check_side(path, &files[before..])?;
        } else if let Some(name) = name.filter(|_| is_pattern && !path.exists()) {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let glob = Glob::new(&name);
            files
                .extend(listed(path, folder.unwrap_or(Path::new(".")), |name| glob.matches(name))?);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// The folders `run0`, `run1`, … in a folder, in order; empty if the folder itself contains traces.
///
/// # Errors
/// Fails if the folder cannot be listed.
pub fn run_folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let cannot = |error| Error::io(folder, "list the folder", error);
    let mut runs: Vec<(u64, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_file() && ENDS.iter().any(|end| name.ends_with(end)) {
            return Ok(Vec::new());
        }
        let number = name.strip_prefix("run").and_then(|number| number.parse().ok());
        runs.extend(number.filter(|_| entry.path().is_dir()).map(|number| (number, entry.path())));
    }
    runs.sort_unstable();
    Ok(runs.into_iter().map(|(_, folder)| folder).collect())
}

/// Fails if the traces in a folder are not the runs of one side.
fn check_side(folder: &Path, files: &[PathBuf]) -> Result<()> {
    let name = |file: &PathBuf| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if ["before.", "after."]
        .iter()
        .all(|side| files.iter().any(|file| name(file).starts_with(side)))
    {
        let message = "contains the recordings of both sides, before.* and after.*";
        let remedy =
            format!("pass a pattern for each side: '{}'", folder.join("before.*").display());
        return Err(Error::new(ErrorKind::Usage, folder, message).remedy(remedy));
    }
    let mut recordings: BTreeMap<(&Path, String), &PathBuf> = BTreeMap::new();
    for file in files {
        // rank0.step3.json.gz, rank0.step6.json.gz, …
        let name = name(file);
        let mut parts = name.split('.');
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (Some(rank), Some(step)) = (parts.next(), parts.next()) else { continue };
        if !rank.strip_prefix("rank").is_some_and(is_number)
            || !step.strip_prefix("step").is_some_and(is_number)
        {
            continue;
        }
        let folder = file.parent().unwrap_or(Path::new(""));
        if let Some(first) = recordings.insert((folder, rank.to_owned()), file) {
            let message = format!(
                "and {}: these are cycles of one recording, which are not runs of their own",
                file.display()
            );
            return Err(Error::new(ErrorKind::Usage, first, message).remedy(
                "pass one of them, or record each run on its own with tracetree.profile() in Python",
            ));
        }
    }
    Ok(())
}

/// The files in `folder` whose names satisfy `is_wanted`, sorted by name.
fn listed(path: &Path, folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let cannot = |error| Error::io(folder, "list the folder", error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        if entry.path().is_file() && is_wanted(&entry.file_name().to_string_lossy()) {
            files.push(entry.path());
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Error::new(ErrorKind::Usage, path, "matches no trace").remedy(
            "pass trace files, a folder of traces, or a pattern such as 'runs/*.json.gz'",
        ));
    }
    Ok(files)
}

/// A run that was read: its trace, its graph captures, and the read options.
type Opened = (Arc<Trace>, Captures, ReadOptions);

impl Recorder {
    /// Adds a run whose trace was already read. `path` is the path of the trace, if known. The run's graph captures are
    /// read with `options`.
    ///
    /// # Errors
    /// Fails in the same cases as [`CaptureSource::open`](tracetree::program::CaptureSource::open) and [`Recorder::add`].
    pub fn add_trace(
        &mut self,
        trace: Arc<Trace>,
        path: Option<&Path>,
        options: &ReadOptions,
    ) -> Result<()> {
        let captures = self.capture_source().open(&trace, path, options)?;
        self.add_captured(trace, &captures, options)
    }

    fn add_captured(
        &mut self,
        trace: Arc<Trace>,
        captures: &Captures,
        options: &ReadOptions,
    ) -> Result<()> {
        let tree = CallTree::with_options(trace, TreeOptions::default());
        self.add(captures.complete(tree, TreeOptions::default(), options)?)
    }

    /// Reads the runs of one side one after another, each with its graph captures, and adds them to one recording.
    ///
    /// # Errors
    /// Fails if `files` is empty, or in the same cases as [`Trace::open_with`] and [`Recorder::add`].
    pub fn read(mut self, files: &[PathBuf], options: &[ReadOptions]) -> Result<Recording> {
        let captures = self.capture_source().clone();
        let mut files = files.iter().zip(options);
        let open = |(file, options): (&PathBuf, &ReadOptions)| -> Result<Opened> {
            let options = options.clone().without_flows();
            let trace = Arc::new(Trace::open_with(file, &options)?);
            let mut quietly = options;
            quietly.progress = None;
            let captures = captures.open(&trace, Some(file), &quietly)?;
            Ok((trace, captures, quietly))
        };
        let (mut opened, _) = rayon::join(
            || files.next().map(open).transpose(),
            || {
                self.categories();
            },
        );
        // While one run is added to the recording, the next run is already being read.
        while let Some((trace, captures, options)) = opened? {
            let (added, next) = rayon::join(
                || self.add_captured(trace, &captures, &options),
                || files.next().map(open).transpose(),
            );
            added?;
            opened = next;
        }
        self.finish()
    }
}
