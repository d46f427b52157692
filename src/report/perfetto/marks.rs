//! Draws steps and annotations as slices, although they are not calls, and the lag of the candidate as a counter above
//! both traces. Annotations are on the tracks of their threads or streams, and steps are on a separate track.

use super::clock::Clock;
use super::tracks::{Lines, Track, Tracks};
use crate::analysis::Analysis;
use crate::program::{StepId, StepSpan};
use crate::report::lag::shown;
use crate::side::Side;
use crate::trace::{Category, EventId};
use serde::Serialize;
use serde_json::json;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::io;

/// A step, or an annotation on a thread or stream.
#[derive(Serialize)]
pub(super) struct Mark<'a> {
    ph: &'static str,
    name: Cow<'a, str>,
    cat: &'static str,
    #[serde(flatten)]
    track: Track,
    ts: f64,
    dur: f64,
    args: MarkArgs,
}

#[derive(Serialize)]
struct MarkArgs {
    /// Position of the event in `traceEvents` of the original trace.
    uid: u32,
    /// Position of the step, from 0, as in the tables. The counterpart is the step with the same number on the other
    /// side.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u32>,
}

/// The steps of a side, for the step track: recorded steps, or steps detected from repeated calls.
pub(super) fn steps<'a>(
    analysis: &'a Analysis,
    clock: Clock,
    tracks: &Tracks,
    side: Side,
) -> Vec<Mark<'a>> {
    let (steps, trace) = (analysis.diff().steps(side), analysis.tree(side).trace());
    let mark = |(at, span): (u32, &StepSpan)| Mark {
        name: steps.name(analysis.tree(side), StepId(at)).into(),
        cat: "step",
        track: tracks.of_steps(analysis, side, span.thread),
        ts: clock.at(side, span.start).as_micros(),
        dur: (span.end - span.start).as_micros(),
        args: MarkArgs {
            uid: trace.uid(span.event).0,
            step: Some(analysis.options().displayed_step(StepId(at))),
        },
        ph: "X",
    };
    (0..).zip(steps.spans()).map(mark).collect()
}

/// The longest annotations of a side, at most `most`, in file order.
pub(super) fn annotations<'a>(
    analysis: &'a Analysis,
    clock: Clock,
    tracks: &Tracks,
    side: Side,
    most: usize,
) -> Vec<Mark<'a>> {
    let tree = analysis.tree(side);
    let trace = tree.trace();
    let is_mark =
        |event: &EventId| tree.call_of(*event).is_none() && is_annotation(trace.category(*event));
    let mut events: Vec<EventId> = trace.own_events().filter(is_mark).collect();
    events.sort_unstable_by_key(|&event| (Reverse(trace.duration(event)), event));
    events.truncate(most);
    events.sort_unstable();
    let mark = |event: EventId| Mark {
        ph: "X",
        name: trace.name(event).into(),
        cat: trace.category(event).label(),
        track: tracks.of(analysis, side, event),
        ts: clock.at(side, trace.start(event)).as_micros(),
        dur: trace.duration(event).as_micros(),
        args: MarkArgs { uid: trace.uid(event).0, step: None },
    };
    events.into_iter().map(mark).collect()
}

fn is_annotation(category: Category) -> bool {
    match category {
        Category::UserAnnotation | Category::GpuUserAnnotation => true,
        Category::CpuOp
        | Category::PythonFunction
        | Category::Runtime
        | Category::Kernel
        | Category::Memcpy
        | Category::Memset => false,
    }
}

/// The process number of the counter; the processes of the traces have other numbers.
const PROCESS: usize = 20_000;

/// Writes a value of the counter at each matched call of one step, at the time of the baseline's call.
pub(super) fn write_lag(
    analysis: &Analysis,
    clock: Clock,
    lines: &mut Lines<'_>,
) -> io::Result<()> {
    let Some(lag) = shown(analysis) else { return Ok(()) };
    let name = "trace2 behind trace1";
    lines.push(
        &json!({"ph": "M", "name": "process_name", "pid": PROCESS, "args": {"name": name}}),
    )?;
    lines.push(&json!({
        "ph": "M", "name": "process_sort_index", "pid": PROCESS, "args": {"sort_index": -1},
    }))?;
    for point in &lag.points {
        let at = clock.at(Side::Baseline, lag.start.baseline + point.at.baseline);
        lines.push(&json!({
            "ph": "C", "name": name, "pid": PROCESS, "ts": at.as_micros(),
            "args": {"ms": point.behind().as_millis()},
        }))?;
    }
    Ok(())
}
