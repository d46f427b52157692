//! The tables `ops` and `api_calls`: one row per op name, and one row per name of a GPU runtime
//! call.

use super::table::{ColumnType, Columns, RowsFn, Table};
use crate::analysis::Analysis;
use crate::analysis::named_calls::{self, NamedCalls, api_calls_by_name};
use crate::side::{Presence, Side};
use std::sync::Arc;

/// The table `ops`.
pub(super) fn ops(name: &'static str, analysis: Arc<Analysis>) -> Table {
    op_columns().table(
        (name, "one row per op name, including ops without GPU work"),
        analysis,
        |analysis| Box::new(analysis.ops_by_name().iter().cloned()),
    )
}

/// The rows of the `ops` table whose ops are called only on the given side.
#[doc(hidden)]
pub fn ops_only_on(side: Side, analysis: &Arc<Analysis>) -> Table {
    let rows: RowsFn<Analysis, NamedCalls> = match side {
        Side::Baseline => |analysis| {
            Box::new(named_calls::ops_only_on(analysis.ops_by_name(), Side::Baseline).into_iter())
        },
        Side::Candidate => |analysis| {
            Box::new(named_calls::ops_only_on(analysis.ops_by_name(), Side::Candidate).into_iter())
        },
    };
    op_columns().table(
        ("ops", "one row per op name that only one side has"),
        analysis.clone(),
        rows,
    )
}

fn op_columns() -> Columns<Analysis, NamedCalls> {
    columns(
        "name of the op",
        "time of the GPU events that the op launched itself, excluding events launched by nested ops",
    )
}

/// The table `api_calls`.
pub(super) fn api_calls(name: &'static str, analysis: Arc<Analysis>) -> Table {
    columns(
        "name of the call without the vendor's prefix: `launch`, `memcpy`, `StreamSynchronize`, `Malloc`, …",
        "time of the GPU events that the calls launched",
    )
    .table(
        (name, "one row per kind of call into the GPU runtime or driver; equivalent CUDA and HIP calls share a row"),
        analysis,
        |analysis| Box::new(api_calls_by_name(analysis.diff()).into_iter()),
    )
}

fn columns(name: &'static str, launched: &'static str) -> Columns<Analysis, NamedCalls> {
    const WHOLE: (ColumnType, &str) = (ColumnType::Whole, "");
    const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");
    const DECIMAL: (ColumnType, &str) = (ColumnType::Decimal(3), "");
    Columns::default()
        .text("name", name, |_: &Analysis, calls: &NamedCalls| calls.name.as_str().into())
        .word("presence", "`both`, `trace1_only` or `trace2_only`", |_, calls| {
            Presence::of(calls.calls).label().into()
        })
        .sides("calls_*", WHOLE, "number of calls in the whole trace", |_, calls, side| {
            calls.calls[side].into()
        })
        .sides(
            "calls_per_step_*",
            DECIMAL,
            "mean number of calls per step; empty if the side has no steps",
            |analysis, calls, side| per_step(analysis, calls.in_steps[side], side).into(),
        )
        .sides("matched_*", WHOLE, "number of calls whose counterpart has the same name", |_, calls, side| {
            calls.matched[side].into()
        })
        .sides(
            "host_total_us_*",
            TIME,
            "host time of the calls in the whole trace; a call nested in a call with the same name does not count \
             again",
            |_, calls, side| calls.host_total[side].into(),
        )
        .compared(
            "host_self_us",
            TIME,
            [
                "host time excluding nested calls, in the whole trace",
                "host_self_us_trace2 − host_self_us_trace1",
            ],
            |_, calls, side| calls.host_self[side].into(),
        )
        .compared(
            "kernel_us",
            TIME,
            [launched, "kernel_us_trace2 − kernel_us_trace1"],
            |_, calls, side| calls.gpu[side].into(),
        )
}

fn per_step(analysis: &Analysis, calls: u64, side: Side) -> Option<f64> {
    let steps = analysis.diff().steps(side).len();
    (steps > 0).then(|| calls as f64 / steps as f64)
}
