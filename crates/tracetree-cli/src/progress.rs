//! Shows the stages of the work as progress bars on stderr, which are erased when a stage is done.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tracetree::report::{one_line, shorten};
use tracetree::trace::{ReadOptions, ReadProgress};
use tracetree::{ComparisonOptions, PerSide, Side, Stage};

/// Redraw interval of progress bars.
const TICK: Duration = Duration::from_millis(100);

/// Maximum length of a displayed file name, in characters.
const NAME: usize = 40;

/// Draws progress bars on stderr, unless they are hidden.
pub(super) struct Progress {
    bars: MultiProgress,
    reading: ReadOptions,
}

impl Progress {
    /// Draws bars on stderr if `shown` is true, and otherwise draws nothing. `reading` contains the options for
    /// reading files.
    pub(super) fn new(shown: bool, reading: ReadOptions) -> Progress {
        let bars = MultiProgress::with_draw_target(if shown {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        });
        Progress { bars, reading }
    }

    /// Calls `read` and shows one progress bar per file, which counts the bytes read. `read` receives the options for
    /// each file, in the order of `paths`. With these options, reading a file moves the bar of that file.
    pub(super) fn reading<T>(&self, paths: &[&Path], read: impl FnOnce(&[ReadOptions]) -> T) -> T {
        let bars: Vec<ProgressBar> = paths.iter().map(|path| self.file(path)).collect();
        let tell = |bar: &ProgressBar| {
            let bar = bar.clone();
            self.reading.clone().progress(ReadProgress::new(move |bytes| bar.set_position(bytes)))
        };
        let result = read(&bars.iter().map(tell).collect::<Vec<_>>());
        bars.iter().for_each(ProgressBar::finish_and_clear);
        result
    }

    /// Progress bars for a comparison of the traces at `paths`: one bar per file while reading, then one bar per stage.
    pub(super) fn comparing(&self, paths: PerSide<&Path>) -> Comparing {
        let files = paths.map(|path| self.file(path));
        Comparing(Arc::new(Bars { all: self.bars.clone(), files, stage: Mutex::new(None) }))
    }

    fn file(&self, path: &Path) -> ProgressBar {
        let size = std::fs::metadata(path).ok().filter(|size| size.is_file() && size.len() > 0);
        let (bar, template) = match size {
            Some(size) => (
                ProgressBar::new(size.len()),
                "reading {msg} [{bar:24}] {bytes}/{total_bytes} {binary_bytes_per_sec}",
            ),
            // The size of standard input is unknown.
            None => (ProgressBar::no_length(), "reading {msg} {spinner} {bytes}"),
        };
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let bar = self.bars.add(bar.with_style(style(template)));
        bar.set_message(one_line(&shorten(&name, NAME)).into_owned());
        bar
    }

    /// Shows a spinner during a stage whose length is unknown, such as `building the call trees`.
    pub(super) fn stage<T>(&self, what: &'static str, work: impl FnOnce() -> T) -> T {
        let bar = spinner(&self.bars, what);
        let result = work();
        bar.finish_and_clear();
        result
    }

    /// A progress bar that counts up to `all` tasks.
    pub(super) fn counting(&self, what: &'static str, all: usize) -> Counter {
        let bar = ProgressBar::new(all as u64)
            .with_style(style("{msg} [{bar:24}] {pos} of {len}{prefix}"));
        Counter(self.bars.add(bar.with_message(what)))
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .expect("the templates in this file are valid")
        .progress_chars("=> ")
}

/// Counts finished tasks.
pub(super) struct Counter(ProgressBar);

impl Counter {
    /// Counts a finished task, and shows the text from `remark` after the count.
    pub(super) fn one_done(&self, remark: impl FnOnce() -> String) {
        self.0.inc(1);
        if !self.0.is_hidden() {
            let remark = remark();
            let remark = if remark.is_empty() { remark } else { format!("; {remark}") };
            self.0.set_prefix(one_line(&remark).into_owned());
        }
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The progress bars of one comparison; erased on drop.
pub(super) struct Comparing(Arc<Bars>);

struct Bars {
    all: MultiProgress,
    files: PerSide<ProgressBar>,
    stage: Mutex<Option<ProgressBar>>,
}

impl Comparing {
    /// A copy of the given options. A comparison with these options moves the progress bars.
    pub(super) fn watched(&self, options: ComparisonOptions) -> ComparisonOptions {
        let bars = self.0.clone();
        options.watch(move |stage| bars.show(stage))
    }
}

impl Drop for Comparing {
    fn drop(&mut self) {
        self.0.clear();
    }
}

impl Bars {
    fn show(&self, stage: Stage) {
        match stage {
            Stage::Reading(side, bytes) => self.files[side].set_position(bytes),
            Stage::Building => self.spin("building the call trees"),
            Stage::Aligning => self.spin("aligning the call trees"),
            Stage::Accounting => self.spin("attributing the time"),
            _ => {}
        }
    }

    fn spin(&self, what: &'static str) {
        self.clear();
        let bar = spinner(&self.all, what);
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar);
    }

    fn clear(&self) {
        Side::BOTH.iter().for_each(|&side| self.files[side].finish_and_clear());
        let stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(bar) = stage {
            bar.finish_and_clear();
        }
    }
}

fn spinner(bars: &MultiProgress, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_style(style("{spinner} {msg} {elapsed}"));
    let bar = bars.add(bar.with_message(what));
    bar.enable_steady_tick(TICK);
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "../../examples/traces/resnet.rocm.json.gz";

    #[test]
    fn reading_counts_all_bytes_of_the_file() {
        let progress = Progress::new(false, ReadOptions::default());
        let path = Path::new(TRACE);
        let comparing = progress.comparing(PerSide::new(path, path));
        let options = comparing.watched(ComparisonOptions::default());
        tracetree::Comparison::open(path, path, &options).expect("two traces");
        let size = std::fs::metadata(TRACE).expect("a file").len();
        assert_eq!(comparing.0.files.candidate.position(), size);
    }

    #[test]
    fn stages_return_the_result_of_their_work() {
        assert_eq!(Progress::new(false, ReadOptions::default()).stage("adding", || 1 + 1), 2);
    }
}
