//! Options that choose how two traces are compared: with Python frames or without, under which
//! aliases.

use clap::Args;
use std::path::PathBuf;
use tracetree::diff::{Aliases, DiffOptions, TraceDiff};
use tracetree::trace::Trace;
use tracetree::tree::{CallTree, Frames, TreeOptions};
use tracetree::{PerSide, Result};

#[derive(Args)]
pub(super) struct CompareArgs {
    /// Compare Python frames where the traces have them; the default.
    #[arg(long, overrides_with = "no_python")]
    python: bool,
    /// Leave Python frames out of both call trees.
    #[arg(long)]
    no_python: bool,
    /// TOML file with names that count as equal.
    ///
    /// Each [[alias]] has a `pattern`, a regular expression, and a `name` that replaces what it
    /// matches, with $1, ${2}_x for its groups. The rules apply in order to the names of both
    /// traces, before they are compared:
    ///
    /// [[alias]]
    /// pattern = '^aten::(miopen|cudnn)_(.*)$'
    /// name = 'aten::vendor_$2'
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    alias: Option<PathBuf>,
}

impl CompareArgs {
    /// The call trees of both traces, built at the same time.
    pub(super) fn trees<'t>(&self, traces: &'t PerSide<Trace>) -> PerSide<CallTree<'t>> {
        let build = |trace| CallTree::with_options(trace, self.tree_options());
        let (baseline, candidate) =
            rayon::join(|| build(&traces.baseline), || build(&traces.candidate));
        PerSide::new(baseline, candidate)
    }

    fn tree_options(&self) -> TreeOptions {
        TreeOptions::default().frames(if self.no_python { Frames::LeftOut } else { Frames::Kept })
    }

    /// Reads what the alignment needs besides the trees; before the traces, to fail early.
    pub(super) fn diff_options(&self) -> Result<DiffOptions> {
        Ok(match &self.alias {
            Some(path) => DiffOptions::default().aliases(Aliases::read(path)?),
            None => DiffOptions::default(),
        })
    }

    /// Whether the user chose anything.
    pub(super) fn is_default(&self) -> bool {
        !self.no_python && self.alias.is_none()
    }
}

/// Aligns both trees.
pub(super) fn align<'t>(trees: &'t PerSide<CallTree<'t>>, options: DiffOptions) -> TraceDiff<'t> {
    TraceDiff::with_options(&trees.baseline, &trees.candidate, options)
}
