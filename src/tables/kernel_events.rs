//! `diff_stats_kernels`: every accounted event of both traces.

use super::table::{Cell, Column, ColumnType, Columns, Table};
use crate::analysis::{Analysis, Row};
use crate::side::Side;
use crate::trace::{Argument, Nanos};
use crate::tree::CallId;
use std::sync::Arc;

/// An accounted event of a row of the account.
struct Event {
    row: usize,
    side: Side,
    call: CallId,
    /// The part of its time in which no earlier event of the row ran.
    busy: Nanos,
}

impl Event {
    fn row<'c>(&self, analysis: &'c Analysis) -> &'c Row {
        &analysis.rows()[self.row]
    }

    fn op(&self, analysis: &Analysis) -> Option<CallId> {
        analysis.op_of(self.side, self.call)
    }

    fn modules<'c>(&self, analysis: &'c Analysis) -> Vec<&'c str> {
        let tree = analysis.tree(self.side);
        tree.module_stack(self.call).iter().map(|&module| tree.name(module)).collect()
    }

    fn uid(&self, analysis: &Analysis, call: Option<CallId>) -> Cell<'static> {
        let tree = analysis.tree(self.side);
        let event = call.and_then(|call| tree.event(call));
        event.map(|event| tree.trace().uid(event).0).into()
    }
}

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    op().and(arguments()).and(places()).table(
        (name, "accounted event, by row, the baseline's first"),
        analysis,
        |analysis| Box::new((0..analysis.rows().len()).flat_map(|row| events(analysis, row))),
    )
}

fn events(analysis: &Analysis, row: usize) -> Vec<Event> {
    let of_side = |side: Side| {
        let shares = analysis.busy_shares(&analysis.rows()[row], side);
        let calls = analysis.rows()[row].events[side].iter();
        calls.zip(shares).map(move |(&call, busy)| Event { row, side, call, busy })
    };
    Side::BOTH.into_iter().flat_map(of_side).collect()
}

fn op() -> Columns<Analysis, Event> {
    Columns::new()
        .text("name", "name of the GPU event", |a: &Analysis, e: &Event| {
            a.tree(e.side).name(e.call).into()
        })
        .text("cpu_op_name", "the nearest op above its launch; empty without one", |a, e| {
            e.op(a).map(|op| a.tree(e.side).name(op)).into()
        })
        .column(Column::new(
            "cpu_op_uid",
            ColumnType::Uid,
            "the same",
            |a: &Analysis, e: &Event| e.uid(a, e.op(a)),
        ))
        .word("source", "`trace1` or `trace2`", |_, e| e.side.label().into())
}

fn arguments() -> Columns<Analysis, Event> {
    const MEANING: &str = "arguments of that op";
    let titles = [
        ("Input Dims", Argument::Shape),
        ("Input Strides", Argument::Strides),
        ("Input type", Argument::Type),
        ("Concrete Inputs", Argument::Concrete),
    ];
    titles.into_iter().fold(Columns::new(), |columns, (title, argument)| {
        columns.text(title, MEANING, move |a: &Analysis, e: &Event| {
            let tree = a.tree(e.side);
            let arguments = e.op(a).and_then(|op| tree.arguments(op));
            arguments.map(|arguments| tree.trace().text(arguments.text(argument))).into()
        })
    })
}

fn places() -> Columns<Analysis, Event> {
    Columns::new()
        .micros("kernel_time", "its duration", |a: &Analysis, e: &Event| {
            a.time_of(e.side, e.call).into()
        })
        .micros(
            "busy_time",
            "the part of it in which no earlier event of the row ran; adds up to the row's `busy_time`",
            |_, e| e.busy.into(),
        )
        .text("lowest_common_ancestor_name", "of its row", |a, e| {
            a.lowest_common_name(e.row(a)).into()
        })
        .whole("lowest_common_ancestor_id", "of its row", |a, e| {
            e.row(a).lowest_common.map(|id| id.index()).into()
        })
        .column(Column::new("gpu_op_uid", ColumnType::Uid, "the GPU event", |a: &Analysis, e: &Event| {
            e.uid(a, Some(e.call))
        }))
        .column(Column::new(
            "nn_module_stack",
            ColumnType::Names,
            "modules around the launch, outermost first",
            |a: &Analysis, e: &Event| match e.modules(a) {
                modules if modules.is_empty() => Cell::Empty,
                modules => Cell::Names(modules),
            },
        ))
        .text("nn_module_parent", "the innermost of them", |a, e| {
            e.modules(a).last().copied().into()
        })
}
