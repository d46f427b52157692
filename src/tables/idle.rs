//! The `idle` table: the time during which no device ran anything, attributed to the calls that the GPU was waiting
//! for.

use super::runs;
use super::table::{ColumnType, Columns, Table};
use crate::analysis::Analysis;
use crate::analysis::wall::{IdleRow, idle_owner_name, node_name};
use crate::side::Side;
use std::sync::Arc;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");
    const WHOLE: (ColumnType, &str) = (ColumnType::Whole, "");
    const TEXT: (ColumnType, &str) = (ColumnType::Text, "");
    Columns::default()
        .word(
            "kind",
            "reason for the idle time. `host`: the host had not yet launched the event that ended the gap; `sync`: \
             not yet launched because the host waited for the GPU; `latency`: from the launch to the start of the \
             event; `queue`: the event was launched before the gap began; `tail`: after the last event; `unknown`: \
             the launch of the event is not in the trace",
            |_: &Analysis, r: &IdleRow| r.kind.label().into(),
        )
        .word(
            "launched",
            "where the work that ended the gap was launched. `window`: in a compared step; `unpaired_step`: in a \
             step without a counterpart, because one trace has more steps; `before_window`: before the window, or \
             in work that was not selected",
            |_, r| r.part.label().into(),
        )
        .text(
            "owner",
            "innermost call on the launching thread during the gap; `(between calls)` if no call was open; for \
             `latency` and `queue`, the launch",
            |analysis, r| idle_owner_name(analysis.diff(), r).into(),
        )
        .sides("idle_us_*", TIME, "idle time attributed to the owner, over the whole window", |_, r, side| {
            r.time[side].into()
        })
        .sides("gaps_*", WHOLE, "number of gaps", |_, r, side| r.count[side].into())
        .micros_difference("diff_us", "candidate − baseline", |_, r| r.difference().into())
        .whole(
            "step",
            "position of the step that contains the owner, from 0 (the baseline's step if there is one)",
            |a, r| r.step.map(|step| a.options().displayed_step(step)).into(),
        )
        .text("nn_module", "innermost `nn.Module` around the owner", |analysis, r| {
            r.owner.map_or("", |owner| analysis.diff().module_of(owner)).into()
        })
        .text(
            "lowest_common_ancestor_name",
            "the owner if both traces have it, otherwise the nearest enclosing call that both traces have",
            |analysis, r| r.lowest_common.map(|id| node_name(analysis.diff(), id)).into(),
        )
        .whole(
            "lowest_common_ancestor_id",
            "line of the lowest common call in `merged_tree_output.txt`, counted from 0",
            |_, r| r.lowest_common.map(|id| id.index()).into(),
        )
        .sides(
            "waited_for_*",
            TEXT,
            "for `sync`: the GPU event that ran last before the longest gap",
            |analysis, r, side: Side| {
                r.waited_for[side].map(|event| analysis.tree(side).name(event)).into()
            },
        )
        .and(runs::columns(&analysis, |a: &Analysis, r, side| {
            a.run_times().of_idle(side, r)
        }))
        .table(
            (name, "one row per owner and kind of idle time, in the order of the merged tree; the idle times of all \
                    rows and the busy times of all attribution rows add up to the wall time"),
            analysis,
            |analysis| Box::new(analysis.wall().idle().iter().cloned()),
        )
}
