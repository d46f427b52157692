//! The `layers` table: the layers in each phase, and the work around the layers.

use super::runs;
use super::table::{ColumnType, Columns, Table};
use crate::analysis::Analysis;
use crate::analysis::layers::{LayerRow, layer_rows};
use crate::side::{PerSide, Presence};
use std::sync::Arc;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    let runs = runs::columns(&analysis, |a: &Analysis, row: &LayerRow, side| {
        runs::of_events(a, &row.events[side], side)
    });
    identity().and(times()).and(runs).table(
        (name, "one row per layer and phase, and rows for the work before, between and after the layers"),
        analysis,
        |analysis| Box::new(layer_rows(analysis.diff(), analysis.ledger(), analysis.layer_pairs()).into_iter()),
    )
}

fn identity() -> Columns<Analysis, LayerRow> {
    Columns::default()
        .text(
            "stack",
            "class of the layers; `a | b` if the sides differ; `graph_N` for the N-th distinct \
             graph; empty outside layers",
            |a: &Analysis, r: &LayerRow| a.layer_pairs().stack_name(r.place).into(),
        )
        .word(
            "place",
            "`layer`; `pre`, `between`, `post`: work before, between and after the layers of a step; `(no layers)`: \
             work in a trace without layers; `(launch not in trace)`",
            |_, r| r.place.label().into(),
        )
        .sides("layer_*", (ColumnType::Whole, ""), "position in the stack, from 0", |_, r, side| {
            r.place.layer(side).map(|id| id.layer).into()
        })
        .sides(
            "instance_*",
            (ColumnType::Text, ""),
            "name of the module, or `graph_N.I`",
            |a, r, side| a.layer_pairs().instance(r.place, side).into(),
        )
        .word("phase", "phase in which the work was launched", |_, r| r.phase.label().into())
        .word("presence", "which side has events in the row", |_, r| {
            Presence::of(counts(r)).label().into()
        })
}

/// Number of measured events on each side.
fn counts(row: &LayerRow) -> PerSide<u64> {
    row.events.as_ref().map(|events| events.len() as u64)
}

fn times() -> Columns<Analysis, LayerRow> {
    Columns::default()
        .sides(
            "kernels_*",
            (ColumnType::Whole, ""),
            "attributed events",
            |_: &Analysis, r: &LayerRow, side| counts(r)[side].into(),
        )
        .sides(
            "total_us_*",
            (ColumnType::Time, "µs"),
            "total time of the events over all steps",
            |_, r, side| r.time[side].into(),
        )
        .micros_difference("diff_us", "candidate − baseline", |_, r| r.difference().into())
        .ratio("ratio", "candidate / baseline", |_, r| r.ratio().into())
        .sides(
            "outlier_*",
            (ColumnType::Flag, ""),
            "`yes` if the layer's time differs from the median for the stack and phase by more than 3.5 scaled \
             median deviations (Iglewicz and Hoaglin 1993) and by more than 5%",
            |_, r, side| r.outlier[side].into(),
        )
}
