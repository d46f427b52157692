//! The `layer_ops` table: the ops of an average layer of each stack and phase, in execution order.

use super::table::{ColumnType, Columns, Table};
use crate::analysis::Analysis;
use crate::analysis::layers::{LayerOpRow, layer_op_rows};
use crate::side::Presence;
use std::sync::Arc;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    identity().and(figures()).table(
        (name, "one row per op of an average layer, for each stack and phase, in execution order"),
        analysis,
        |analysis| {
            Box::new(
                layer_op_rows(analysis.diff(), analysis.ledger(), analysis.layer_pairs())
                    .into_iter(),
            )
        },
    )
}

fn identity() -> Columns<Analysis, LayerOpRow> {
    Columns::default()
        .text("stack", "as in `layers.csv`", |a: &Analysis, r: &LayerOpRow| {
            a.layer_pairs().stack_name(r.place).into()
        })
        .word("place", "as in `layers.csv`", |_, r| r.place.label().into())
        .word("phase", "as in `layers.csv`", |_, r| r.phase.label().into())
        .whole("position", "position within the stack and phase, from 0", |_, r| r.position.into())
        .text("name", "name of the attribution rows or, in a graph, of the kernel", |_, r| {
            r.name.as_str().into()
        })
        .whole("nth", "index among the ops with the same name in the layer, from 0", |_, r| {
            r.nth.into()
        })
        .word("presence", "which side has events in the row", |_, r| {
            Presence::of(r.spread.map(|spread| spread.events)).label().into()
        })
}

fn figures() -> Columns<Analysis, LayerOpRow> {
    const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");
    const MEAN: (ColumnType, &str) = (ColumnType::Decimal(3), "µs");
    const MEAN_OF: &str =
        "mean over all layers of the stack in all steps; a layer without the op counts as 0";
    Columns::default()
        .sides(
            "layers_*",
            (ColumnType::Whole, ""),
            "number of layers that contain the op, over all steps",
            |_: &Analysis, r: &LayerOpRow, side| r.spread[side].layers.into(),
        )
        .sides("kernels_*", (ColumnType::Whole, ""), "attributed events", |_, r, side| {
            r.spread[side].events.into()
        })
        .compared("mean_us", MEAN, [MEAN_OF; 2], |_, r, side| r.spread[side].mean_us().into())
        .sides(
            "stddev_us_*",
            MEAN,
            "standard deviation over all layers of the stack in all steps",
            |_, r, side| r.spread[side].deviation_us().into(),
        )
        .sides("total_us_*", TIME, "sum of the op's time over all layers", |_, r, side| {
            r.spread[side].total.into()
        })
        .micros_difference("diff_us", "candidate − baseline of the total times", |_, r| {
            r.spread.map(|spread| spread.total).difference().into()
        })
        .ratio("ratio", "candidate / baseline of the total times", |_, r| {
            r.spread.map(|spread| spread.total).ratio().into()
        })
}
