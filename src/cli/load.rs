//! Paths → traces, with progress on the way.

use super::output::Console;
use std::path::Path;
use tracetree::trace::{Trace, read_pair};
use tracetree::{Error, ErrorKind, PerSide, Result};

/// Reads one trace.
pub(super) fn one(path: &Path, console: &Console) -> Result<Trace> {
    console.progress().reading(&[path], |options| Trace::open_with(path, &options[0]))
}

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
    console.progress().reading(&[paths.baseline, paths.candidate], |options| {
        let options = PerSide::new(&options[0], &options[1]);
        read_pair(paths, options.map(|options| options.clone().without_flows()).as_ref())
    })
}
