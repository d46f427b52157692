//! `diff --only`: prints the ops that only one side has.

use super::columns::fit;
use super::output::Format;
use clap::ValueEnum;
use std::io::{self, Write};
use std::sync::Arc;
use tracetree::analysis::Analysis;
use tracetree::analysis::named_calls;
use tracetree::program::counted;
use tracetree::report::{CsvTexts, Narrative, Unit, Width, one_line, write_csv_with};
use tracetree::tables::ops_only_on;
use tracetree::{Error, Result, Side};

/// The ops to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Only {
    /// Ops that only the candidate has.
    Added,
    /// Ops that only the baseline has.
    Removed,
}

impl Only {
    fn side(self) -> Side {
        match self {
            Only::Added => Side::Candidate,
            Only::Removed => Side::Baseline,
        }
    }

    /// Checks that `--only` supports the output format.
    ///
    /// # Errors
    /// Fails if `--only` does not support the format.
    pub(super) fn check(format: Format) -> Result<()> {
        match format {
            Format::Text | Format::Csv => Ok(()),
            Format::Brief | Format::Json | Format::Md => {
                Err(Error::usage("--only", "prints ops as text or CSV")
                    .remedy("omit --format, or use --format csv"))
            }
        }
    }

    /// Writes the ops as the table `ops.csv`.
    pub(super) fn write_csv(
        self,
        analysis: &Arc<Analysis>,
        texts: CsvTexts,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        write_csv_with(&ops_only_on(self.side(), analysis), texts, out)
    }

    /// Writes one line per op, in the order of `ops.csv`.
    pub(super) fn write(
        self,
        analysis: &Analysis,
        width: Width,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (side, unit) = (self.side(), Unit::Micros);
        let ops = named_calls::ops_only_on(analysis.ops_by_name(), side);
        let count = counted(ops.len() as u64, "op");
        let name = one_line(&analysis.names()[side]);
        writeln!(out, "{count} only in the {}, {name}", side.word())?;
        if ops.is_empty() {
            // Equal names do not make two programs identical.
            let state = Narrative::of(analysis).state;
            let other = || "The programs differ in other ways".to_owned();
            return writeln!(out, "{}", state.unwrap_or_else(other));
        }
        let head = format!("{:>8} {:>12} {:>12}  ", "calls", "GPU µs", "host µs");
        writeln!(out, "{head}op")?;
        let room = width.columns().saturating_sub(head.chars().count());
        for op in ops {
            let (gpu, host) = (unit.show(op.gpu[side]), unit.show(op.host_self[side]));
            let name = fit(&op.name, room);
            writeln!(out, "{:>8} {gpu:>12} {host:>12}  {name}", op.calls[side])?;
        }
        Ok(())
    }
}
