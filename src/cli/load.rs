//! Two paths → two traces, with progress on the way.

use super::output::Console;
use std::path::Path;
use tracetree::trace::{Trace, read_pair};
use tracetree::{Error, ErrorKind, PerSide, Result};

/// Reads both traces of a comparison.
pub(super) fn pair(paths: PerSide<&Path>, console: &Console) -> Result<PerSide<Trace>> {
    if paths.baseline == Path::new("-") && paths.candidate == Path::new("-") {
        return Err(Error::new(
            ErrorKind::Usage,
            "-",
            "standard input can be only one of the traces",
        )
        .remedy("give the other one as a file"));
    }
    let spinner = console.shows_progress().then(|| {
        let spinner = indicatif::ProgressBar::new_spinner().with_message("reading the traces");
        spinner.enable_steady_tick(std::time::Duration::from_millis(100));
        spinner
    });
    let traces = read_pair(paths, PerSide::new(console.reading(), console.reading()));
    if let Some(spinner) = spinner {
        spinner.finish_and_clear();
    }
    traces
}
