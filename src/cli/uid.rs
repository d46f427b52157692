//! `tracetree uid`: the event of the other trace that corresponds to one, from two traces or a report.

use super::output::Console;
use super::{Outcome, load};
use clap::Args;
use std::path::{Path, PathBuf};
use tracetree::diff::{Relation, TraceDiff, UidPair};
use tracetree::report::read_uid_map;
use tracetree::trace::{Trace, Uid};
use tracetree::tree::CallTree;
use tracetree::{Error, ErrorKind, PerSide, Result, Side};

#[derive(Args)]
pub(super) struct UidArgs {
    /// The baseline trace, or a report folder.
    baseline: PathBuf,
    /// The candidate trace; left out with a report folder.
    candidate: Option<PathBuf>,
    #[command(flatten)]
    wanted: Wanted,
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
        Some(candidate) => from_traces(PerSide::new(&args.baseline, candidate), side, uid, console),
        None => {
            let map = read_uid_map(&args.baseline)?;
            let pair = find(&map, side, uid).ok_or_else(|| unknown(&args.baseline, side, uid))?;
            print(&pair, None, console)
        }
    }
}

fn from_traces(
    paths: PerSide<&PathBuf>,
    side: Side,
    uid: Uid,
    console: &mut Console,
) -> Result<Outcome> {
    let traces = load::pair(paths.map(PathBuf::as_path), console)?;
    let trees = traces.as_ref().map(CallTree::build);
    let diff = TraceDiff::new(&trees.baseline, &trees.candidate);
    let pair = find(&diff.uid_map(), side, uid).ok_or_else(|| unknown(paths[side], side, uid))?;
    print(&pair, Some(&traces), console)
}

fn find(map: &[UidPair], side: Side, uid: Uid) -> Option<UidPair> {
    map.iter().copied().find(|pair| match side {
        Side::Baseline => pair.baseline == Some(uid),
        Side::Candidate => pair.candidate == Some(uid),
    })
}

fn unknown(path: &Path, side: Side, uid: Uid) -> Error {
    let message = format!("event {} of {} is no host call and no GPU event", uid.0, side.label());
    Error::new(ErrorKind::Usage, path, message)
        .remedy("uids are positions in traceEvents; see uid1 and uid2 in diff_stats.csv")
}

fn print(
    pair: &UidPair,
    traces: Option<&PerSide<Trace>>,
    console: &mut Console,
) -> Result<Outcome> {
    let text = |side: Side, uid: Option<Uid>| {
        let Some(uid) = uid else { return "-1".to_owned() };
        let trace = traces.map(|traces| &traces[side]);
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
