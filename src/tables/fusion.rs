//! The `fusion` table: call sites where the sides run different numbers of kernels.

use super::table::{Cell, Column, ColumnType, Columns, Table};
use crate::analysis::{Analysis, FusionRow, KernelChange};
use std::sync::Arc;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    changes().and(sides()).and(instances()).table(
        (
            name,
            "call site where the sides run different numbers of kernels, largest difference first",
        ),
        analysis,
        |analysis| Box::new(analysis.fusions().iter().cloned()),
    )
}

fn changes() -> Columns<Analysis, FusionRow> {
    Columns::new()
        .text(
            "path",
            "modules and ops down to the node, then the node, joined by ` / `",
            |_: &Analysis, r: &FusionRow| r.path.as_str().into(),
        )
        .word(
            "change",
            "`fusion`, or `kernel_count_change` if nothing explains the counts",
            |_, r| match r.change {
                KernelChange::FusedIn(..) => "fusion".into(),
                KernelChange::Count => "kernel_count_change".into(),
            },
        )
        .word("fused_in", "for a `fusion`: the side with fewer kernels", |_, r| match r.change {
            KernelChange::FusedIn(side, _) => side.label().into(),
            KernelChange::Count => Cell::Empty,
        })
        .word("evidence", "for a `fusion`: the evidence", |_, r| match r.change {
            KernelChange::FusedIn(_, evidence) => evidence.label().into(),
            KernelChange::Count => Cell::Empty,
        })
}

fn sides() -> Columns<Analysis, FusionRow> {
    Columns::new()
        .sides(
            "kernel_count_*",
            (ColumnType::Whole, ""),
            "number of kernels of one instance",
            |_: &Analysis, r: &FusionRow, side| r.kernel_count[side].into(),
        )
        .sides(
            "ops_*",
            (ColumnType::Names, ""),
            "ops that launch the kernels, in order; the kernels themselves if there is no op",
            |_, r, side| Cell::Names(r.ops[side].iter().map(String::as_str).collect()),
        )
        .sides(
            "kernels_*",
            (ColumnType::Json, ""),
            "names of the kernels of the first instance, with counts",
            |_, r, side| {
                Cell::Json(serde_json::to_string(&r.kernels[side]).expect("names and counts"))
            },
        )
        .sides(
            "total_us_*",
            (ColumnType::Time, "µs"),
            "sum of the kernels' times over the agreeing instances",
            |_, r, side| r.time[side].into(),
        )
}

fn instances() -> Columns<Analysis, FusionRow> {
    let first = Column::new(
        "lowest_common_ancestor_id",
        ColumnType::Whole,
        "line of the first agreeing instance in `merged_tree_output.txt`",
        |_: &Analysis, r: &FusionRow| r.first.index().into(),
    );
    Columns::new()
        .micros_difference("delta_us", "candidate − baseline", |_: &Analysis, r: &FusionRow| {
            r.difference().into()
        })
        .whole(
            "instances",
            "nodes of this path with kernels on both sides, launched by these ops",
            |_, r| r.instances.into(),
        )
        .whole("agreeing", "number of these instances with the same counts and change", |_, r| {
            r.agreeing.into()
        })
        .column(first)
}
