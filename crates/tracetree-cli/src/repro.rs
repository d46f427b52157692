//! `tracetree repro`: prints a script that repeats one recorded call and compares its time with both recordings.

use super::compare::CompareArgs;
use super::output::Console;
use super::uid::{self, EventRef};
use super::{Outcome, examples, load};
use clap::Args;
use std::path::{Path, PathBuf};
use tracetree::report::{read_inputs, read_row};
use tracetree::tree::CallId;
use tracetree::{Comparison, Error, ErrorKind, PerSide, Result, Side};
use tracetree_repro::{ElementType, Module, Printed, Reach, ScriptOptions, Setting};

#[derive(Args)]
#[command(after_help = examples::REPRO)]
pub(super) struct ReproArgs {
    /// A report folder, or the baseline trace.
    #[arg(value_name = "REPORT|BASELINE")]
    first: PathBuf,
    /// Row of the report's diff_stats.csv (row_id), or the candidate trace.
    #[arg(value_name = "ROW|CANDIDATE")]
    second: Option<PathBuf>,
    /// The call at this position in the baseline's traceEvents, from 0.
    #[arg(long, value_name = "UID")]
    baseline: Option<EventRef>,
    /// The call at this position in the candidate's traceEvents, from 0.
    #[arg(long, value_name = "UID", conflicts_with = "baseline")]
    candidate: Option<EventRef>,
    /// The call with the largest difference among the call sites of this line (the column `bill_line` in bill.csv).
    #[arg(long, value_name = "N", conflicts_with_all = ["baseline", "candidate"])]
    bill_line: Option<usize>,
    /// Write the script to this file instead of stdout.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Repeat the call itself even if it exists only in one backend, such as aten::cudnn_convolution. By default, the
    /// nearest public op around such a call is repeated.
    #[arg(long)]
    inner: bool,
    /// Element type of tensors in lists, which traces do not contain. By default, the type of the nearest tensor.
    #[arg(long, value_name = "TYPE")]
    list_dtype: Option<ElementType>,
    /// Value of an argument that the trace does not contain, as a Python literal: --set "approximate='tanh'".
    /// Repeatable; the script has this option, too.
    #[arg(long, value_name = "ARG=VALUE")]
    set: Vec<Setting>,
    /// Python module that registers custom ops, such as vllm. Repeatable; the script has this option, too.
    #[arg(long, value_name = "MODULE")]
    import: Vec<Module>,
    /// Make the script print JSON; the script has this option, too.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    compare: CompareArgs,
}

/// Which call the user requests.
#[derive(Clone, Copy)]
enum Asked {
    Row(usize),
    Event(Side, EventRef),
    Line(usize),
}

impl ReproArgs {
    fn options(&self) -> ScriptOptions {
        ScriptOptions {
            reach: if self.inner { Reach::Inner } else { Reach::Public },
            list_dtype: self.list_dtype,
            settings: self.set.clone(),
            imports: self.import.clone(),
            printed: if self.json { Printed::Json } else { Printed::Text },
        }
    }

    /// The second argument as the number of a row, if the first argument is a report.
    fn row(&self) -> Option<usize> {
        uid::number_of_a_report(&self.first, self.second.as_deref()?)
    }

    /// The requested call.
    ///
    /// # Errors
    /// Fails unless the user gave exactly one call.
    fn asked(&self) -> Result<Asked> {
        let event = |side, uid: Option<EventRef>| uid.map(|uid| Asked::Event(side, uid));
        let all = [
            self.row().map(Asked::Row),
            event(Side::Baseline, self.baseline),
            event(Side::Candidate, self.candidate),
            self.bill_line.map(Asked::Line),
        ];
        let mut given = all.into_iter().flatten();
        let error = |message: &str| {
            let remedy = "pass a report folder and a row (row_id in diff_stats.csv), or add --baseline UID, \
                          --candidate UID or --bill-line N";
            Err(Error::new(ErrorKind::Usage, &self.first, message).remedy(remedy))
        };
        match (given.next(), given.next()) {
            (Some(asked), None) => Ok(asked),
            (None, _) => error("no call was requested"),
            (Some(_), Some(_)) => error("two calls were requested"),
        }
    }

    fn paths(&self) -> Result<PerSide<PathBuf>> {
        match &self.second {
            Some(candidate) if self.row().is_none() => {
                Ok(PerSide::new(self.first.clone(), candidate.clone()))
            }
            Some(_) | None => read_inputs(&self.first),
        }
    }
}

pub(super) fn run(args: &ReproArgs, console: &mut Console) -> Result<Outcome> {
    let asked = args.asked()?;
    let paths = args.paths()?;
    // A report contains the uids of its rows; a comparison with different options may number the rows differently.
    let row = match asked {
        Asked::Row(row) => read_row(&args.first, row)?,
        Asked::Event(..) | Asked::Line(_) => PerSide::default(),
    };
    let paths = paths.as_ref().map(PathBuf::as_path);
    let comparison = load::comparison(paths, args.compare.options()?, console)?;
    let calls = match asked {
        Asked::Row(_) => PerSide::new(
            row.baseline
                .map(|uid| call(&comparison, Side::Baseline, uid.into(), paths))
                .transpose()?,
            row.candidate
                .map(|uid| call(&comparison, Side::Candidate, uid.into(), paths))
                .transpose()?,
        ),
        Asked::Event(side, event) => {
            let mut calls = PerSide::default();
            calls[side] = Some(call(&comparison, side, event, paths)?);
            calls
        }
        Asked::Line(line) => tracetree_repro::calls_of_line(comparison.analysis(), line)?,
    };
    let script = tracetree_repro::script(comparison.diff(), calls, &args.options())?;
    match &args.output {
        Some(path) => {
            tracetree::write_file(path, script.as_bytes())?;
            let path = path.display();
            console.say(&format!("wrote {path}; where PyTorch is installed, run: python {path}"));
        }
        None => console.print(|out| out.write_all(script.as_bytes()))?,
    }
    Ok(Outcome::Done)
}

fn call(
    comparison: &Comparison,
    side: Side,
    event: EventRef,
    paths: PerSide<&Path>,
) -> Result<CallId> {
    let tree = comparison.tree(side);
    let found = event.event(tree.trace()).and_then(|event| tree.call_of(event));
    found.ok_or_else(|| uid::no_call(Some(tree), paths[side], side, event))
}
