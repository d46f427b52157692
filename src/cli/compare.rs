//! Options that choose how two traces are compared: with Python frames or without, under which
//! aliases.

use super::captures::CapturePairArgs;
use super::headings;
use clap::Args;
use std::path::PathBuf;
use tracetree::diff::{Aliases, DiffOptions};
use tracetree::program::RepeatDetection;
use tracetree::tree::{Frames, TreeOptions};
use tracetree::{ComparisonOptions, Result};

/// Options of every comparison, one pair of traces or many.
#[derive(Args)]
pub(super) struct PairingArgs {
    /// Compare Python frames where the traces have them; the default.
    #[arg(long, overrides_with = "no_python", help_heading = headings::WORK)]
    python: bool,
    /// Leave Python frames out of both call trees.
    #[arg(long, help_heading = headings::WORK)]
    pub(super) no_python: bool,
    /// TOML file with names that count as equal.
    ///
    /// Each [[alias]] has a `pattern`, a regular expression, and a `name`
    /// that replaces what it matches, with $1, ${2}_x for its groups. The
    /// rules apply in order to the names of both traces, before they are
    /// compared:
    ///
    /// [[alias]]
    /// pattern = '^aten::(miopen|cudnn)_(.*)$'
    /// name = 'aten::vendor_$2'
    #[arg(long, value_name = "FILE", verbatim_doc_comment, help_heading = headings::WORK)]
    pub(super) alias: Option<PathBuf>,
    /// Take a trace without recorded steps as a whole, even where a call repeats in it.
    #[arg(long, help_heading = headings::WORK)]
    pub(super) no_repeats: bool,
}

#[derive(Args)]
pub(super) struct CompareArgs {
    #[command(flatten)]
    pairing: PairingArgs,
    #[command(flatten)]
    captures: CapturePairArgs,
}

impl CompareArgs {
    /// The options of a comparison, with what the user chose here. Reads the file of aliases.
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
            .diff(diff.repeats(repeats)))
    }

    /// Whether the user chose anything.
    pub(super) fn is_default(&self) -> bool {
        let PairingArgs { no_python, no_repeats, alias, .. } = &self.pairing;
        !no_python && !no_repeats && alias.is_none() && self.captures.is_default()
    }
}
