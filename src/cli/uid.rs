//! `tracetree uid`: the event of the other trace that corresponds to one, from two traces or a report.

use super::compare::CompareArgs;
use super::output::Console;
use super::{Outcome, load};
use clap::Args;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tracetree::diff::{Relation, UidPair};
use tracetree::report::read_uid_map;
use tracetree::trace::{Category, EventId, Trace, Uid};
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
    /// Position in the baseline's traceEvents, from 0; LAUNCH:UID for a captured call: the position
    /// of its graph launch, and its own in the capture's traceEvents.
    #[arg(long = "baseline", id = "baseline-uid", value_name = "UID")]
    baseline: Option<EventRef>,
    /// The same in the candidate.
    #[arg(long = "candidate", id = "candidate-uid", value_name = "UID")]
    candidate: Option<EventRef>,
}

impl Wanted {
    /// The side and the event that the user asks for; clap sees to it that there is one.
    pub(super) fn event(&self) -> (Side, EventRef) {
        match (self.baseline, self.candidate) {
            (Some(event), _) => (Side::Baseline, event),
            (None, event) => (Side::Candidate, event.unwrap_or_default()),
        }
    }
}

/// An event as people write it: `17`, or `123:17` for the call 17 of the capture of the graph that
/// event 123 launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct EventRef {
    launch: Option<Uid>,
    uid: Uid,
}

impl EventRef {
    pub(super) fn event(self, trace: &Trace) -> Option<EventId> {
        match self.launch {
            Some(launch) => trace.captured_at(launch, self.uid),
            None => trace.event_at(self.uid),
        }
    }
}

impl FromStr for EventRef {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<EventRef, String> {
        let number = |text: &str| {
            let parsed = text.parse().map(Uid);
            parsed.map_err(|_| {
                format!("`{text}` is no position; write 17, or 123:17 for a captured call")
            })
        };
        Ok(match text.split_once(':') {
            Some((launch, uid)) => EventRef { launch: Some(number(launch)?), uid: number(uid)? },
            None => EventRef { launch: None, uid: number(text)? },
        })
    }
}

impl fmt::Display for EventRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.launch {
            Some(launch) => write!(f, "{}:{}", launch.0, self.uid.0),
            None => self.uid.0.fmt(f),
        }
    }
}

pub(super) fn run(args: &UidArgs, console: &mut Console) -> Result<Outcome> {
    let (side, event) = args.wanted.event();
    match &args.candidate {
        Some(candidate) => {
            let paths = PerSide::new(args.baseline.as_path(), candidate.as_path());
            from_traces(paths, &args.compare, (side, event), console)
        }
        None if args.compare.is_default() => {
            if event.launch.is_some() {
                let message = "a report names captured calls by their numbers in uid_map.csv alone";
                return Err(Error::new(ErrorKind::Usage, &args.baseline, message)
                    .remedy("give two traces with their captures"));
            }
            let map = read_uid_map(&args.baseline)?;
            let pair = find(map, side, event.uid);
            print(&pair.ok_or_else(|| no_call(None, &args.baseline, side, event))?, None, console)
        }
        None => Err(Error::new(
            ErrorKind::Usage,
            &args.baseline,
            "a report was made with its own options; --no-python, --alias and captures need two traces",
        )),
    }
}

fn from_traces(
    paths: PerSide<&Path>,
    compare: &CompareArgs,
    (side, wanted): (Side, EventRef),
    console: &mut Console,
) -> Result<Outcome> {
    let comparison = load::comparison(paths, compare.options()?, console)?;
    let trace = comparison.trace(side);
    let uid = wanted.event(trace).map(|event| trace.uid(event));
    let pair = uid
        .and_then(|uid| find(comparison.diff().uid_map(), side, uid))
        .ok_or_else(|| no_call(Some(comparison.tree(side)), paths[side], side, wanted))?;
    print(&pair, Some(&comparison), console)
}

fn find(map: impl IntoIterator<Item = UidPair>, side: Side, uid: Uid) -> Option<UidPair> {
    map.into_iter().find(|pair| match side {
        Side::Baseline => pair.baseline == Some(uid),
        Side::Candidate => pair.candidate == Some(uid),
    })
}

/// The error for a uid that stands for nothing that is compared.
pub(super) fn no_call(tree: Option<&CallTree>, path: &Path, side: Side, uid: EventRef) -> Error {
    let trace = tree.map(CallTree::trace);
    let category = trace.and_then(|trace| Some(trace.category(uid.event(trace)?)));
    let what = match category {
        Some(Category::PythonFunction) => "a Python frame, which --no-python leaves out",
        Some(_) | None => "no host call and no GPU event",
    };
    let message = format!("event {uid} of {} is {what}", side.label());
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
            Some((trace, event)) => format!("{}\t{}", trace.uid_label(event), trace.name(event)),
            None => uid.0.to_string(),
        }
    };
    let relation: Relation = pair.relation;
    console.print(|out| {
        writeln!(out, "trace1\t{}", text(Side::Baseline, pair.baseline))?;
        writeln!(out, "trace2\t{}", text(Side::Candidate, pair.candidate))?;
        writeln!(out, "relation\t{}", relation.label())?;
        pair.region.map_or(Ok(()), |region| writeln!(out, "region\t{}", region.index()))
    })?;
    Ok(Outcome::Done)
}
