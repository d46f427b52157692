//! `tracetree uid`: finds an event's counterpart in the other trace, from two traces or a report.

use super::compare::CompareArgs;
use super::examples;
use super::load;
use super::outcome::Outcome;
use super::output::Console;
use clap::Args;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tracetree::diff::{Relation, UidPair};
use tracetree::report::{one_line, read_uid_map};
use tracetree::trace::{Category, EventId, Trace, Uid};
use tracetree::tree::CallTree;
use tracetree::{Comparison, Error, ErrorKind, PerSide, Result, Side};

#[derive(Args)]
#[command(after_help = examples::UID)]
pub(super) struct UidArgs {
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    compare: CompareArgs,
}

/// An event in two traces or in a report: `BASE NEW --candidate 38`, `REPORT 38`.
#[derive(Args)]
pub(super) struct Wanted {
    /// The baseline trace, or a report folder.
    #[arg(value_name = "BASELINE|REPORT")]
    first: PathBuf,
    /// The candidate trace; omit if the first argument is a report folder.
    #[arg(value_name = "CANDIDATE")]
    candidate: Option<PathBuf>,
    /// Position in the baseline's traceEvents; shorthand for --baseline UID.
    #[arg(value_name = "UID", conflicts_with_all = ["baseline-uid", "candidate-uid"])]
    uid: Option<EventRef>,
    /// Position in the baseline's traceEvents, from 0. For a captured call, write LAUNCH:UID: the position of the graph
    /// launch, then the position of the call in the capture's traceEvents.
    #[arg(long = "baseline", id = "baseline-uid", value_name = "UID")]
    baseline: Option<EventRef>,
    /// Position in the candidate's traceEvents, from 0, or LAUNCH:UID for a captured call.
    #[arg(
        long = "candidate",
        id = "candidate-uid",
        value_name = "UID",
        conflicts_with = "baseline-uid"
    )]
    in_candidate: Option<EventRef>,
}

/// Where to search for the event: in two traces or in a report.
pub(super) enum Source<'a> {
    Traces(PerSide<&'a Path>),
    Report(&'a Path),
}

impl Wanted {
    /// Returns where to search, on which side the requested event is, and the event.
    ///
    /// # Errors
    /// Fails unless the user gave exactly one event.
    pub(super) fn event(&self) -> Result<(Source<'_>, Side, EventRef)> {
        let (source, positional) = match &self.candidate {
            Some(candidate) => match number_of_a_report(&self.first, candidate) {
                Some(uid) => (Source::Report(&self.first), Some(uid)),
                None => (Source::Traces(PerSide::new(&self.first, candidate)), self.uid),
            },
            None => (Source::Report(&self.first), None),
        };
        let named = [self.baseline.or(self.uid), positional.filter(|_| self.uid.is_none())];
        match (named, self.in_candidate) {
            ([Some(event), None] | [None, Some(event)], None) => {
                Ok((source, Side::Baseline, event))
            }
            ([None, None], Some(event)) => Ok((source, Side::Candidate, event)),
            ([None, None], None) => {
                Err(Error::new(ErrorKind::NoEvent, &self.first, "no event was given").remedy(
                    "add --baseline UID or --candidate UID: a position in traceEvents, from 0",
                ))
            }
            (_, _) => Err(Error::new(ErrorKind::Usage, &self.first, "two events were given")
                .remedy("request one event at a time")),
        }
    }
}

/// Parses the arguments `report 38`. The second argument is treated as an event or a row if the first argument is a
/// folder and the second is not an existing path.
pub(super) fn number_of_a_report<N: FromStr>(first: &Path, second: &Path) -> Option<N> {
    let is_report = first.is_dir() && !second.exists();
    is_report.then(|| second.to_str()?.parse().ok()).flatten()
}

/// An event as users write it: `17`, or `123:17` for call 17 in the capture of the graph that event 123 launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct EventRef {
    launch: Option<Uid>,
    uid: Uid,
}

impl EventRef {
    /// The position of the event in the trace; `None` for a captured call, which is in a different trace.
    pub(super) fn uid_in_trace(self) -> Option<Uid> {
        self.launch.is_none().then_some(self.uid)
    }

    pub(super) fn event(self, trace: &Trace) -> Option<EventId> {
        match self.launch {
            Some(launch) => trace.captured_at(launch, self.uid),
            None => trace.event_at(self.uid),
        }
    }
}

impl From<Uid> for EventRef {
    fn from(uid: Uid) -> EventRef {
        EventRef { launch: None, uid }
    }
}

impl FromStr for EventRef {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<EventRef, String> {
        let number = |text: &str| {
            let parsed = text.parse().map(Uid);
            parsed.map_err(|_| {
                format!("`{text}` is not a position; write 17, or 123:17 for a captured call")
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
    let (source, side, event) = args.wanted.event()?;
    match source {
        Source::Traces(paths) => from_traces(paths, &args.compare, (side, event), console),
        Source::Report(folder) if args.compare.is_default() => {
            if event.launch.is_some() {
                let message =
                    "a report identifies captured calls only by their numbers in uid_map.csv";
                return Err(Error::new(ErrorKind::Usage, folder, message)
                    .remedy("pass two traces with their captures"));
            }
            let map = read_uid_map(folder)?;
            let pair = find(map, side, event.uid);
            print(&pair.ok_or_else(|| no_call(None, folder, side, event))?, None, console)
        }
        Source::Report(folder) => Err(Error::new(
            ErrorKind::Usage,
            folder,
            "--no-python, --alias and capture options need two traces, because a report was written with fixed options",
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

/// The entry of the uid map that contains the given event.
pub(super) fn find(
    map: impl IntoIterator<Item = UidPair>,
    side: Side,
    uid: Uid,
) -> Option<UidPair> {
    map.into_iter().find(|pair| match side {
        Side::Baseline => pair.baseline == Some(uid),
        Side::Candidate => pair.candidate == Some(uid),
    })
}

/// The error for a uid that does not refer to an event that was compared.
pub(super) fn no_call(tree: Option<&CallTree>, path: &Path, side: Side, uid: EventRef) -> Error {
    let trace = tree.map(CallTree::trace);
    let category = trace.and_then(|trace| Some(trace.category(uid.event(trace)?)));
    let what = match category {
        Some(Category::PythonFunction) => "a Python frame, which --no-python ignores",
        Some(_) | None => "neither a host call nor a GPU event",
    };
    let message = format!("event {uid} of the {} is {what}", side.word());
    Error::new(ErrorKind::Usage, path, message)
        .remedy("uids are the positions of events in the file; see uid1 and uid2 in diff_stats.csv")
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
            Some((trace, event)) => {
                format!("{}\t{}", trace.uid_label(event), one_line(trace.name(event)))
            }
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
