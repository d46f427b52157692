//! The `diff_stats_kernels` table: every attributed GPU event of both traces, or one row for each group of equal events.

use super::table::{Cell, Column, ColumnType, Columns, Table};
use super::uids::uid;
use crate::analysis::Analysis;
use crate::analysis::account::Row;
use crate::side::{PerSide, Side};
use crate::trace::{Argument, Nanos, Stream};
use crate::tree::CallId;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Maximum number of modules listed per stack; only the innermost modules are kept. Each event has its own
/// copy of the stack, so the size of the table is proportional to events × depth. Real models nest modules
/// about 20 levels deep.
const MOST_MODULES: usize = 64;

/// First entry of a truncated module stack.
const OUTER_MODULES: &str = "(outer modules omitted)";

/// A GPU event and the attribution row to which it belongs. For a group of equal events: the first event, and
/// the sums of the times of all events.
struct Event {
    row: usize,
    side: Side,
    call: CallId,
    /// The nearest op above the event.
    op: Option<CallId>,
    /// Number of events.
    count: usize,
    /// The duration of the event.
    time: Nanos,
    /// The part of the event's time during which no earlier event in the row was running.
    busy: Nanos,
    /// Start of the event, relative to the first event of its trace.
    start: Nanos,
}

impl Event {
    fn row<'c>(&self, analysis: &'c Analysis) -> &'c Row {
        &analysis.rows()[self.row]
    }

    fn modules<'c>(&self, analysis: &'c Analysis) -> Vec<&'c str> {
        let tree = analysis.tree(self.side);
        let stack = tree.module_stack(self.call);
        let left_out = stack.len().saturating_sub(MOST_MODULES);
        let names = stack[left_out..].iter().map(|&module| tree.name(module));
        (left_out > 0).then_some(OUTER_MODULES).into_iter().chain(names).collect()
    }

    /// A hash of all properties that the events of a group have in common.
    fn key(&self, analysis: &Analysis) -> u64 {
        let tree = analysis.tree(self.side);
        let mut hasher = DefaultHasher::new();
        let arguments = |op| {
            tree.arguments(op)
                .map(|arguments| Argument::ALL.map(|one| tree.trace().text(arguments.text(one))))
        };
        (self.side, tree.name(self.call), self.op.map(|op| (tree.name(op), arguments(op))))
            .hash(&mut hasher);
        (self.row(analysis).lowest_common_name(analysis.diff()), self.modules(analysis))
            .hash(&mut hasher);
        let stream = self.stream(analysis).map(|stream| (stream.device, stream.number));
        let phase = analysis.diff().phases(self.side).phase(self.call).label();
        (stream, phase, analysis.categories().name(analysis.diff(), self.side, self.call))
            .hash(&mut hasher);
        hasher.finish()
    }

    fn stream(&self, analysis: &Analysis) -> Option<Stream> {
        let tree = analysis.tree(self.side);
        tree.trace().stream(tree.event(self.call)?)
    }
}

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    op().and(arguments()).and(places()).and(moments()).table(
        (name, "one row per attributed event, sorted by attribution row, baseline first"),
        analysis,
        |analysis| {
            let begins = PerSide::from_fn(|side| begin(analysis, side));
            let rows = 0..analysis.rows().len();
            Box::new(rows.flat_map(move |row| events(analysis, row, begins)))
        },
    )
}

/// Like [`table`], but with one row for all events that differ only in their times, step and ids. The row
/// shows the first event, the sums of the times, and the number of events.
pub(super) fn folded(name: &'static str, analysis: Arc<Analysis>) -> Table {
    let count = Columns::default().whole(
        "events",
        "number of equal events in the row",
        |_: &Analysis, e: &Event| e.count.into(),
    );
    op().and(arguments()).and(places()).and(moments()).and(count).table(
        (name, "one row per group of equal events, sorted by the first attribution row, baseline first"),
        analysis,
        |analysis| Box::new(groups(analysis).into_iter()),
    )
}

/// Number of rows in [`table`].
pub(super) fn row_count(analysis: &Analysis) -> usize {
    let events = |side: Side| analysis.rows().iter().map(move |row| row.events[side].len());
    Side::BOTH.into_iter().flat_map(events).sum()
}

fn groups(analysis: &Analysis) -> Vec<Event> {
    let begins = PerSide::from_fn(|side| begin(analysis, side));
    let mut groups: Vec<Event> = Vec::new();
    let mut known = HashMap::new();
    for event in (0..analysis.rows().len()).flat_map(|row| events(analysis, row, begins)) {
        let at = *known.entry(event.key(analysis)).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => {
                group.count += 1;
                group.time += event.time;
                group.busy += event.busy;
            }
            None => groups.push(event),
        }
    }
    groups
}

/// Start of the first event in a trace. All start times are shown relative to this time, because some traces
/// count time from 1970, and a double cannot represent such times to the nanosecond.
fn begin(analysis: &Analysis, side: Side) -> Nanos {
    let trace = analysis.tree(side).trace();
    trace.events().map(|event| trace.start(event)).min().unwrap_or_default()
}

fn events(analysis: &Analysis, row: usize, begins: PerSide<Nanos>) -> Vec<Event> {
    let of_side = |side: Side| {
        let shares = analysis.ledger().busy_shares(analysis.diff(), &analysis.rows()[row], side);
        let calls = analysis.rows()[row].events[side].iter();
        let tree = analysis.tree(side);
        calls.zip(shares).map(move |(&call, busy)| {
            let begun = tree.event(call).map(|event| tree.trace().start(event));
            let start = begun.unwrap_or_default() - begins[side];
            let (op, time) = (
                analysis.diff().op_of(side, call),
                analysis.ledger().time_of(analysis.diff(), side, call),
            );
            Event { row, side, call, op, count: 1, time, busy, start }
        })
    };
    Side::BOTH.into_iter().flat_map(of_side).collect()
}

fn op() -> Columns<Analysis, Event> {
    Columns::default()
        .text("name", "name of the GPU event", |a: &Analysis, e: &Event| {
            a.tree(e.side).name(e.call).into()
        })
        .text(
            "cpu_op_name",
            "name of the nearest op above the event's launch; empty if there is no op",
            |a, e| e.op.map(|op| a.tree(e.side).name(op)).into(),
        )
        .uid("cpu_op_uid", "uid of the nearest op", |a, e| uid(a, e.side, e.op))
        .word("source", "`trace1` or `trace2`", |_, e| e.side.label().into())
}

fn arguments() -> Columns<Analysis, Event> {
    const MEANING: &str = "arguments of the nearest op";
    let titles = [
        ("Input Dims", Argument::Shape),
        ("Input Strides", Argument::Strides),
        ("Input type", Argument::Type),
        ("Concrete Inputs", Argument::Concrete),
    ];
    titles.into_iter().fold(Columns::default(), |columns, (title, argument)| {
        columns.text(title, MEANING, move |a: &Analysis, e: &Event| {
            let tree = a.tree(e.side);
            let arguments = e.op.and_then(|op| tree.arguments(op));
            arguments.map(|arguments| tree.trace().text(arguments.text(argument))).into()
        })
    })
}

fn places() -> Columns<Analysis, Event> {
    Columns::default()
        .micros("kernel_time", "duration of the event", |_: &Analysis, e: &Event| e.time.into())
        .micros(
            "busy_time",
            "part of the duration in which no earlier event of the row ran; these parts add up to the row's \
             `busy_time`",
            |_, e| e.busy.into(),
        )
        .text("lowest_common_ancestor_name", "name of the lowest common node of the event's row", |a, e| {
            e.row(a).lowest_common_name(a.diff()).into()
        })
        .whole("lowest_common_ancestor_id", "id of the lowest common node of the event's row", |a, e| {
            e.row(a).lowest_common.map(|id| id.index()).into()
        })
        .uid("gpu_op_uid", "uid of the GPU event", |a, e| uid(a, e.side, Some(e.call)))
        .column(Column::new(
            "nn_module_stack",
            ColumnType::Names,
            "modules around the launch, outermost first; the innermost 64 if there are more",
            |a: &Analysis, e: &Event| match e.modules(a) {
                modules if modules.is_empty() => Cell::Empty,
                modules => Cell::Names(modules),
            },
        ))
        .text("nn_module_parent", "the innermost module around the launch", |a, e| {
            let tree = a.tree(e.side);
            tree.module(e.call).map(|module| tree.name(module)).into()
        })
}

fn moments() -> Columns<Analysis, Event> {
    Columns::default()
        .whole(
            "row_id",
            "`row_id` of the event's row in `diff_stats.csv`",
            |_: &Analysis, e: &Event| e.row.into(),
        )
        .micros("start_us", "start time, relative to the first event in the same trace", |_, e| {
            e.start.into()
        })
        .whole("device", "device number; empty for an op", |a, e| {
            e.stream(a).map(|stream| stream.device).into()
        })
        .whole("stream", "stream or queue number; empty for an op", |a, e| {
            e.stream(a).map(|stream| stream.number).into()
        })
        .whole(
            "step",
            "position of the step that launched the event, from 0; empty outside steps",
            |a, e| {
                a.diff()
                    .steps(e.side)
                    .step(e.call)
                    .map(|step| a.options().displayed_step(step))
                    .into()
            },
        )
        .word("phase", "phase in which the event was launched", |a, e| {
            a.diff().phases(e.side).phase(e.call).label().into()
        })
        .word("category", "kind of work, see `categories.csv`", |a, e| {
            a.categories().name(a.diff(), e.side, e.call).into()
        })
}
