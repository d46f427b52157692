//! Options that say where to find the traces recorded during graph capture.

use super::headings;
use clap::Args;
use std::path::PathBuf;
use tracetree::program::CaptureSource;

#[derive(Args)]
pub(super) struct CaptureArgs {
    /// Traces recorded while this trace's graphs were captured: files or folders. Default: the folder
    /// `capture_traces` next to the trace.
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = headings::CAPTURES)]
    capture: Vec<PathBuf>,
    /// Do not search for captures; the kernels of a graph stay below the graph launch.
    #[arg(long, conflicts_with = "capture", help_heading = headings::CAPTURES)]
    no_captures: bool,
}

impl CaptureArgs {
    pub(super) fn source(&self) -> CaptureSource {
        source(&self.capture, self.no_captures)
    }
}

#[derive(Args)]
pub(super) struct CapturePairArgs {
    /// Traces recorded while the baseline's graphs were captured: files or folders. Default: the folder
    /// `capture_traces` next to the trace.
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = headings::CAPTURES)]
    base_capture: Vec<PathBuf>,
    /// Traces recorded while the candidate's graphs were captured: files or folders. Default: the
    /// folder `capture_traces` next to the trace.
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = headings::CAPTURES)]
    new_capture: Vec<PathBuf>,
    /// Do not search for captures; the kernels of a graph stay below the graph launch.
    #[arg(long, conflicts_with_all = ["base_capture", "new_capture"], help_heading = headings::CAPTURES)]
    no_captures: bool,
}

impl CapturePairArgs {
    pub(super) fn sources(&self) -> (CaptureSource, CaptureSource) {
        (source(&self.base_capture, self.no_captures), source(&self.new_capture, self.no_captures))
    }

    /// Returns `true` if the user gave no capture option.
    pub(super) fn is_default(&self) -> bool {
        self.base_capture.is_empty() && self.new_capture.is_empty() && !self.no_captures
    }
}

fn source(files: &[PathBuf], nowhere: bool) -> CaptureSource {
    match (nowhere, files) {
        (true, _) => CaptureSource::Nowhere,
        (false, []) => CaptureSource::Beside,
        (false, files) => CaptureSource::Files(files.to_vec()),
    }
}
