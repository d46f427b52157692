//! Stages of the work → bars on a terminal's stderr, gone when the stage is done.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tracetree::trace::ReadOptions;

/// How often what is on the screen is brought up to date.
const TICK: Duration = Duration::from_millis(100);

/// Longest name of a file in characters.
const NAME: usize = 40;

/// Where the bars are drawn, or nowhere.
pub(super) struct Progress {
    bars: MultiProgress,
    reading: ReadOptions,
}

impl Progress {
    /// Bars on stderr where `shown`, else none; files are read as `reading` says.
    pub(super) fn new(shown: bool, reading: ReadOptions) -> Progress {
        let bars = MultiProgress::with_draw_target(match shown {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        });
        Progress { bars, reading }
    }

    /// Reads files with a bar for each that fills with the bytes of the file. `read` gets options
    /// for each file, in order, that count them.
    pub(super) fn reading<T>(&self, paths: &[&Path], read: impl FnOnce(&[ReadOptions]) -> T) -> T {
        let files: Vec<FileBar> = paths.iter().map(|path| self.file(path)).collect();
        let options: Vec<ReadOptions> =
            files.iter().map(|file| self.reading.clone().progress(file.read.clone())).collect();
        if self.bars.is_hidden() {
            return read(&options);
        }
        let done = AtomicBool::new(false);
        let result = thread::scope(|scope| {
            let watcher = scope.spawn(|| watch(&files, &done));
            let _stop = Stop(&done, watcher.thread().clone());
            read(&options)
        });
        files.iter().for_each(|file| file.bar.finish_and_clear());
        result
    }

    fn file(&self, path: &Path) -> FileBar {
        let size = std::fs::metadata(path).ok().filter(|size| size.is_file() && size.len() > 0);
        let (bar, template) = match size {
            Some(size) => (
                ProgressBar::new(size.len()),
                "reading {msg} [{bar:24}] {bytes}/{total_bytes} {binary_bytes_per_sec}",
            ),
            // Standard input has no size.
            None => (ProgressBar::no_length(), "reading {msg} {spinner} {bytes}"),
        };
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let bar = self.bars.add(bar.with_style(style(template)));
        bar.set_message(tracetree::report::shorten(&name, NAME).into_owned());
        FileBar { bar, read: Arc::default() }
    }

    /// A stage of unknown length: `building the call trees`.
    pub(super) fn stage<T>(&self, what: &'static str, work: impl FnOnce() -> T) -> T {
        let bar = ProgressBar::new_spinner().with_style(style("{spinner} {msg} {elapsed}"));
        let bar = self.bars.add(bar.with_message(what));
        bar.enable_steady_tick(TICK);
        let result = work();
        bar.finish_and_clear();
        result
    }

    /// A bar that counts `all` pieces of work.
    pub(super) fn counting(&self, what: &'static str, all: usize) -> Counter {
        let bar = ProgressBar::new(all as u64).with_style(style("{msg} [{bar:24}] {pos}/{len}"));
        Counter(self.bars.add(bar.with_message(what)))
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a template of this file").progress_chars("=> ")
}

/// Counts pieces of work that are done.
pub(super) struct Counter(ProgressBar);

impl Counter {
    /// One more is done.
    pub(super) fn one_done(&self) {
        self.0.inc(1);
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

struct FileBar {
    bar: ProgressBar,
    read: Arc<AtomicU64>,
}

/// Moves the bars until the reading is done.
fn watch(files: &[FileBar], done: &AtomicBool) {
    while !done.load(Ordering::Acquire) {
        for file in files {
            file.bar.set_position(file.read.load(Ordering::Relaxed));
        }
        thread::park_timeout(TICK);
    }
}

/// Ends the watching however the reading ends.
struct Stop<'a>(&'a AtomicBool, thread::Thread);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        self.1.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracetree::trace::Trace;

    const TRACE: &str = "examples/traces/resnet.rocm.json.gz";

    #[test]
    fn reading_counts_all_bytes_of_the_file() {
        let progress = Progress::new(false, ReadOptions::default());
        let counted = progress.reading(&[Path::new(TRACE)], |options| {
            Trace::open_with(TRACE, &options[0]).expect("a trace");
            options[0].progress.as_ref().map(|read| read.load(Ordering::Relaxed))
        });
        let size = std::fs::metadata(TRACE).expect("a file").len();
        assert_eq!(counted, Some(size));
    }

    #[test]
    fn a_watched_reading_ends_with_its_result() {
        let files = [Progress::new(false, ReadOptions::default()).file(Path::new(TRACE))];
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let watcher = scope.spawn(|| watch(&files, &done));
            let _stop = Stop(&done, watcher.thread().clone());
            files[0].read.store(7, Ordering::Relaxed);
            while files[0].bar.position() != 7 {
                thread::yield_now();
            }
        });
        assert!(done.load(Ordering::Relaxed));
    }

    #[test]
    fn stages_return_what_their_work_returns() {
        assert_eq!(Progress::new(false, ReadOptions::default()).stage("adding", || 1 + 1), 2);
    }
}
