//! The `memory` table lists device memory by matched op and shapes. The `memory_timeline` table lists device
//! memory by step.

use super::table::{Cell, ColumnType, Columns, Table};
use crate::analysis::Analysis;
use crate::analysis::memory::{
    MemoryFigures, MemoryRow, MemorySource, MemorySpan, MemoryTimelineRow, memory_rows,
    memory_timeline,
};
use crate::side::{Presence, Side};
use std::sync::Arc;

pub(super) const BYTES: (ColumnType, &str) = (ColumnType::Whole, "B");
/// The meaning of a column with a difference.
pub(super) const DIFFERENCE: &str = "candidate − baseline";
const COUNT: (ColumnType, &str) = (ColumnType::Whole, "");

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::default()
        .text("device", "`gpu N`, or `cpu`", |_: &Analysis, r: &MemoryRow| {
            r.place.to_string().into()
        })
        .and(source(
            "the nearest matched op around the allocations or, if there is no matched op, the nearest op; `a | b` \
             if the names differ; `(outside ops)`; `(live before the recording)`; `(not recorded)`: memory that is \
             part of `Total Allocated` but not explained by any event",
            |r: &MemoryRow| &r.source,
        ))
        .word("presence", "which side allocates memory for the row", |_, r| {
            let counts = r.figures.as_ref().map(|figures| {
                figures.map_or(0, |figures| match r.source {
                    MemorySource::Op { .. } | MemorySource::OutsideOps => figures.allocations,
                    MemorySource::Before | MemorySource::NotRecorded => 1,
                })
            });
            Presence::of(counts).label().into()
        })
        .and(figure("allocations", COUNT, "number of allocations", |f| {
            Some(f.allocations.cast_signed())
        }))
        .and(figure(
            "allocated_bytes",
            BYTES,
            "total number of bytes allocated; memory that is freed and allocated again counts again",
            |f| Some(f.allocated),
        ))
        .and(figure(
            "temporary_bytes",
            BYTES,
            "part of `allocated_bytes` that is freed before the outermost op around the allocation ends, such as \
             workspaces",
            |f| f.temporary,
        ))
        .and(figure(
            "kept_bytes",
            BYTES,
            "part of `allocated_bytes` that is live when the op ends: its results, and what is saved for the backward \
             pass; empty outside of ops",
            |f| f.kept,
        ))
        .and(figure(
            "peak_bytes",
            BYTES,
            "bytes that are live when the device is at its peak, separately for each side; the rows of a device add \
             up to the device's peak",
            |f| f.at_peak,
        ))
        .and(figure("end_bytes", BYTES, "bytes that are live after the last event", |f| f.at_end))
        .table(
            (
                name,
                "one row per device, matched op, outermost op and shapes, and rows for memory that was live before \
                 the recording; sorted by descending bytes at the peak",
            ),
            analysis,
            |analysis| Box::new(memory_rows(analysis.diff()).into_iter()),
        )
}

pub(super) fn timeline(name: &'static str, analysis: Arc<Analysis>) -> Table {
    let step = |a: &Analysis, r: &MemoryTimelineRow, side: Side| {
        Some(a.options().displayed_step(r.step.as_ref()?[side]?))
    };
    Columns::default()
        .text("device", "as in `memory.csv`", |_: &Analysis, r: &MemoryTimelineRow| {
            r.place.to_string().into()
        })
        .text(
            "step",
            "`(whole recording)`, or the position of the step, from 0: in the baseline, or in the candidate \
             if only the candidate has the step",
            move |a, r| {
                let step = step(a, r, Side::Baseline).or_else(|| step(a, r, Side::Candidate));
                step.map_or("(whole recording)".to_owned(), |step| step.to_string()).into()
            },
        )
        .sides("step_*", COUNT, "position of the step on each side, from 0", move |a, r, side| {
            step(a, r, side).into()
        })
        .sides(
            "basis_*",
            (ColumnType::Word, ""),
            "`absolute`, or `relative` if the bytes exclude memory that was live before the recording, because its \
             size is unknown",
            |_, r, side| {
                let basis = |span: &MemorySpan| if span.is_absolute { "absolute" } else { "relative" };
                r.spans[side].as_ref().map(basis).into()
            },
        )
        .and(of_span("allocations", COUNT, "number of allocations", |s| {
            Some(s.allocations.cast_signed())
        }))
        .and(of_span("frees", COUNT, "number of frees", |s| Some(s.frees.cast_signed())))
        .and(of_span(
            "start_bytes",
            BYTES,
            "bytes that are allocated at the start of the row's time span",
            |s| Some(s.start),
        ))
        .and(of_span(
            "end_bytes",
            BYTES,
            "bytes that are allocated at the end of the row's time span",
            |s| Some(s.end),
        ))
        .and(of_span("peak_bytes", BYTES, "maximum number of bytes allocated at one time", |s| Some(s.peak)))
        .sides(
            "peak_op_*",
            (ColumnType::Text, ""),
            "the op in which the peak is reached; empty if the peak is at the start or outside of ops",
            |_, r, side| r.spans[side].as_ref().map(|span| span.peak_op.as_str()).into(),
        )
        .and(of_span(
            "reserved_bytes",
            BYTES,
            "bytes that the allocator has reserved at the end of the row's time span; empty on the host",
            |s| s.reserved,
        ))
        .table(
            (name, "for each device, one row for the whole recording, then one row per matched step"),
            analysis,
            |analysis| Box::new(memory_timeline(analysis.diff(), analysis.compared()).into_iter()),
        )
}

/// The columns for the op in which memory was allocated; `meaning` describes the column with its name.
pub(super) fn source<R: 'static>(
    meaning: &'static str,
    of: for<'c> fn(&'c R) -> &'c MemorySource,
) -> Columns<Analysis, R> {
    Columns::default()
        .text("op", meaning, move |_: &Analysis, r: &R| of(r).name().into())
        .text("root_op", "the outermost op around the matched op", move |_, r| {
            if let MemorySource::Op { root, .. } = of(r) { root.as_str() } else { "" }.into()
        })
        .sides(
            "input_shape_*",
            (ColumnType::Text, ""),
            "`Input Dims` of the op",
            move |_, r, side| {
                let MemorySource::Op { shapes, .. } = of(r) else { return Cell::Empty };
                shapes[side as usize].as_str().into()
            },
        )
}

/// Three columns for a quantity: one for each side, and candidate − baseline.
fn figure(
    name: &str,
    kind: (ColumnType, &'static str),
    meaning: &'static str,
    of: fn(&MemoryFigures) -> Option<i64>,
) -> Columns<Analysis, MemoryRow> {
    Columns::default().compared(
        name,
        kind,
        [meaning, DIFFERENCE],
        move |_: &Analysis, r: &MemoryRow, side| r.figures[side].as_ref().and_then(of).into(),
    )
}

/// Three columns for a quantity in [`MemorySpan`]: one for each side, and candidate − baseline.
fn of_span(
    name: &str,
    kind: (ColumnType, &'static str),
    meaning: &'static str,
    of: fn(&MemorySpan) -> Option<i64>,
) -> Columns<Analysis, MemoryTimelineRow> {
    Columns::default().compared(
        name,
        kind,
        [meaning, DIFFERENCE],
        move |_: &Analysis, r: &MemoryTimelineRow, side| r.spans[side].as_ref().and_then(of).into(),
    )
}
