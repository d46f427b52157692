//! `tracetree uid`: the event of the other trace that corresponds to one, from two traces or a report.

use super::compare::CompareArgs;
use super::output::Console;
use super::{Outcome, load};
use clap::Args;
use std::path::{Path, PathBuf};
use tracetree::diff::{Relation, UidPair};
use tracetree::report::read_uid_map;
use tracetree::trace::{Category, Uid};
use tracetree::tree::CallTree;
use tracetree::{Comparison, Error, ErrorKind, PerSide, Result, Side};

#[derive(Args)]
pub(super) struct UidArgs {
    /// The baseline trace, or a report folder.
    baseline: PathBuf,
    /// The candidate trace; left out with a report folder.
    candidate: Option<PathBuf>,
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    compare: CompareArgs,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(super) struct Wanted {
    /// Position in the baseline's traceEvents, from 0.
    #[arg(long = "baseline", id = "baseline-uid", value_name = "UID")]
    baseline: Option<u32>,
    /// Position in the candidate's traceEvents, from 0.
    #[arg(long = "candidate", id = "candidate-uid", value_name = "UID")]
    candidate: Option<u32>,
}

impl Wanted {
    /// The side and the uid that the user asks for; clap sees to it that there is one.
    pub(super) fn uid(&self) -> (Side, Uid) {
        match (self.baseline, self.candidate) {
            (Some(uid), _) => (Side::Baseline, Uid(uid)),
            (None, uid) => (Side::Candidate, Uid(uid.unwrap_or_default())),
        }
    }
}

pub(super) fn run(args: &UidArgs, console: &mut Console) -> Result<Outcome> {
    let (side, uid) = args.wanted.uid();
    match &args.candidate {
        Some(candidate) => {
            let paths = PerSide::new(args.baseline.as_path(), candidate.as_path());
            from_traces(paths, &args.compare, (side, uid), console)
        }
        None if args.compare.is_default() => {
            let map = read_uid_map(&args.baseline)?;
            let pair = find(map, side, uid);
            print(&pair.ok_or_else(|| no_call(None, &args.baseline, side, uid))?, None, console)
        }
        None => Err(Error::new(
            ErrorKind::Usage,
            &args.baseline,
            "a report was made with its own options; --no-python and --alias need two traces",
        )),
    }
}

fn from_traces(
    paths: PerSide<&Path>,
    compare: &CompareArgs,
    (side, uid): (Side, Uid),
    console: &mut Console,
) -> Result<Outcome> {
    let comparison = load::comparison(paths, compare.options()?, console)?;
    let pair = find(comparison.diff().uid_map(), side, uid)
        .ok_or_else(|| no_call(Some(comparison.tree(side)), paths[side], side, uid))?;
    print(&pair, Some(&comparison), console)
}

fn find(map: impl IntoIterator<Item = UidPair>, side: Side, uid: Uid) -> Option<UidPair> {
    map.into_iter().find(|pair| match side {
        Side::Baseline => pair.baseline == Some(uid),
        Side::Candidate => pair.candidate == Some(uid),
    })
}

/// The error for a uid that stands for nothing that is compared.
pub(super) fn no_call(tree: Option<&CallTree>, path: &Path, side: Side, uid: Uid) -> Error {
    let trace = tree.map(CallTree::trace);
    let category = trace.and_then(|trace| Some(trace.category(trace.event_at(uid)?)));
    let what = match category {
        Some(Category::PythonFunction) => "a Python frame, which --no-python leaves out",
        Some(_) | None => "no host call and no GPU event",
    };
    let message = format!("event {} of {} is {what}", uid.0, side.label());
    Error::new(ErrorKind::Usage, path, message)
        .remedy("uids are positions in traceEvents; see uid1 and uid2 in diff_stats.csv")
}

fn print(
    pair: &UidPair,
    comparison: Option<&Comparison>,
    console: &mut Console,
) -> Result<Outcome> {
    let text = |side: Side, uid: Option<Uid>| {
        let Some(uid) = uid else { return "-1".to_owned() };
        let trace = comparison.map(|comparison| comparison.trace(side));
        match trace.and_then(|trace| Some((trace, trace.event_at(uid)?))) {
            Some((trace, event)) => format!("{}\t{}", uid.0, trace.name(event)),
            None => uid.0.to_string(),
        }
    };
    let relation: Relation = pair.relation;
    console.print(|out| {
        writeln!(out, "trace1\t{}", text(Side::Baseline, pair.baseline))?;
        writeln!(out, "trace2\t{}", text(Side::Candidate, pair.candidate))?;
        writeln!(out, "relation\t{}", relation.label())
    })?;
    Ok(Outcome::Done)
}
