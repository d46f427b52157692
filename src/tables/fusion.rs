//! The `fusion` table: call sites at which the two sides run different numbers of kernels.

use super::table::{Cell, ColumnType, Columns, Table};
use crate::analysis::Analysis;
use crate::analysis::fusion::{FusionRow, KernelChange};
use std::sync::Arc;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    changes().and(sides()).and(instances()).table(
        (
            name,
            "one row per call site at which the two sides run different numbers of kernels, largest time difference \
             first",
        ),
        analysis,
        |analysis| Box::new(analysis.fusions().iter().cloned()),
    )
}

fn changes() -> Columns<Analysis, FusionRow> {
    Columns::default()
        .text(
            "path",
            "names of the modules and ops above the call site, then the name of the call itself, joined by ` / `",
            |_: &Analysis, r: &FusionRow| r.path.as_str().into(),
        )
        .word(
            "change",
            "`fusion`, or `kernel_count_change` if the different counts cannot be explained as a fusion",
            |_, r| match r.change {
                KernelChange::FusedIn(..) => "fusion".into(),
                KernelChange::Count => "kernel_count_change".into(),
            },
        )
        .word("fused_in", "for a `fusion`: the side with fewer kernels", |_, r| match r.change {
            KernelChange::FusedIn(side, _) => side.label().into(),
            KernelChange::Count => Cell::Empty,
        })
        .word(
            "evidence",
            "for a `fusion`, the kind of evidence: `names`, `kinds`, `shapes` or `place`",
            |_, r| match r.change {
                KernelChange::FusedIn(_, evidence) => evidence.label().into(),
                KernelChange::Count => Cell::Empty,
            },
        )
}

fn sides() -> Columns<Analysis, FusionRow> {
    Columns::default()
        .sides(
            "kernel_count_*",
            (ColumnType::Whole, ""),
            "number of kernels in one instance of the call site",
            |_: &Analysis, r: &FusionRow, side| r.kernel_count[side].into(),
        )
        .sides(
            "ops_*",
            (ColumnType::Names, ""),
            "names of the ops that launch the kernels, in order; the kernel name if a kernel has no op",
            |_, r, side| Cell::Names(r.ops[side].iter().map(String::as_str).collect()),
        )
        .sides(
            "kernels_*",
            (ColumnType::Json, ""),
            "kernel names in the first instance, with counts",
            |_, r, side| {
                Cell::Json(serde_json::to_string(&r.kernels[side]).expect("names and counts"))
            },
        )
        .sides(
            "total_us_*",
            (ColumnType::Time, "µs"),
            "total kernel time over the `agreeing` instances",
            |_, r, side| r.time[side].into(),
        )
}

fn instances() -> Columns<Analysis, FusionRow> {
    Columns::default()
        .micros_difference("diff_us", "candidate − baseline", |_: &Analysis, r: &FusionRow| {
            r.difference().into()
        })
        .whole(
            "instances",
            "number of instances: nodes with this path at which both sides launch kernels from these ops",
            |_, r| r.instances.into(),
        )
        .whole(
            "agreeing",
            "how many of the `instances` have the row's kernel counts and change",
            |_, r| r.agreeing.into(),
        )
        .whole(
            "lowest_common_ancestor_id",
            "line of the first `agreeing` instance in `merged_tree_output.txt`, counted from 0",
            |_, r| r.first.index().into(),
        )
}
