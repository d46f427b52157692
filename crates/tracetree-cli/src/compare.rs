//! Options for comparing traces, such as whether to compare Python frames and which names to treat as the same.

use super::captures::CapturePairArgs;
use super::headings;
use clap::Args;
use std::path::PathBuf;
use tracetree::diff::{Aliases, DiffOptions, Pin};
use tracetree::program::RepeatDetection;
use tracetree::tree::{Frames, TreeOptions};
use tracetree::{ComparisonOptions, Result};

/// Comparison options, shared by the commands that compare one pair of traces and those that compare many pairs.
#[derive(Args)]
pub(super) struct PairingArgs {
    /// Compare Python frames if the traces have Python frames (default).
    #[arg(long, overrides_with = "no_python", help_heading = headings::WORK)]
    python: bool,
    /// Ignore Python frames in both call trees.
    #[arg(long, help_heading = headings::WORK)]
    pub(super) no_python: bool,
    /// TOML file with names to treat as equal.
    ///
    /// Each [[alias]] has a `pattern` (a regular expression) and a `name` that replaces each match; $1 and ${2}_x in
    /// the name insert capture groups. The rules are applied in order to the names of both traces before the
    /// comparison:
    ///
    /// [[alias]]
    /// pattern = '^aten::(miopen|cudnn)_(.*)$'
    /// name = 'aten::vendor_$2'
    #[arg(long, value_name = "FILE", verbatim_doc_comment, help_heading = headings::WORK)]
    pub(super) alias: Option<PathBuf>,
    /// Do not detect steps from repeated calls if a trace has no recorded steps.
    #[arg(long, help_heading = headings::WORK)]
    pub(super) no_repeats: bool,
}

#[derive(Args)]
pub(super) struct CompareArgs {
    #[command(flatten)]
    pairing: PairingArgs,
    /// Match the calls that two queries select, overriding the automatic alignment.
    ///
    /// A query is a path as in `tree --find`, for example 'module("Block_1") = module("Block_2")'.
    /// Both queries must select the same number of calls, which are matched in order. Can be given
    /// several times.
    #[arg(long = "match", value_name = "QUERY=QUERY", verbatim_doc_comment, help_heading = headings::WORK)]
    pins: Vec<Pin>,
    #[command(flatten)]
    captures: CapturePairArgs,
}

impl CompareArgs {
    /// Reads the alias file and returns the comparison options given on the command line.
    pub(super) fn options(&self) -> Result<ComparisonOptions> {
        let PairingArgs { no_python, no_repeats, alias, .. } = &self.pairing;
        let frames = if *no_python { Frames::LeftOut } else { Frames::Kept };
        let diff = match alias {
            Some(path) => DiffOptions::default().aliases(Aliases::read(path)?),
            None => DiffOptions::default(),
        };
        let repeats = if *no_repeats { RepeatDetection::Off } else { RepeatDetection::Found };
        let (baseline, candidate) = self.captures.sources();
        Ok(ComparisonOptions::default()
            .captures(baseline, candidate)
            .tree(TreeOptions::default().frames(frames))
            .diff(diff.repeats(repeats).pins(self.pins.clone())))
    }

    /// Returns `true` if the user gave no comparison option.
    pub(super) fn is_default(&self) -> bool {
        let PairingArgs { no_python, no_repeats, alias, .. } = &self.pairing;
        !no_python
            && !no_repeats
            && alias.is_none()
            && self.pins.is_empty()
            && self.captures.is_default()
    }
}
