//! The `regions` table: regions that the program marks with `record_function`, by name and nesting.

use super::table::{ColumnType, Columns, Table};
use crate::analysis::Analysis;
use crate::analysis::annotated::{AnnotatedFigures, AnnotatedRow};
use crate::side::Presence;
use crate::trace::Nanos;
use std::sync::Arc;

const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");
const WHOLE: (ColumnType, &str) = (ColumnType::Whole, "");

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::default()
        .text(
            "region",
            "path of region names, outermost first, with numbers and hashes replaced by `N`; `(outside regions)` \
             for GPU work launched outside of all regions",
            |_: &Analysis, row: &AnnotatedRow| if row.path.is_empty() { "(outside regions)".into() } else { row.path.join(" / ").into() },
        )
        .whole("depth", "number of enclosing regions", |_, row| {
            (row.path.len().saturating_sub(1) as i64).into()
        })
        .word("presence", "`both`, `trace1_only` or `trace2_only`", |_, row| {
            Presence::of(row.figures.map(|figures| u64::from(figures.is_some()))).label().into()
        })
        .sides("count_*", WHOLE, "number of regions", |_, row, side| {
            row.figures[side].map(|f| f.count).into()
        })
        .and(time("wall", "sum of the regions' durations on the host", |f| Some(f.wall)))
        .and(time("host_self", "part of `wall` in which no nested region was open", |f| {
            Some(f.host_self)
        }))
        .sides(
            "gpu_events_*",
            WHOLE,
            "number of GPU events launched in the regions, including nested regions",
            |_, row, side| row.figures[side].map(|f| f.gpu_events).into(),
        )
        .sides(
            "inferred_*",
            WHOLE,
            "number of `gpu_events` that were launched on a thread without regions (such as the thread of the \
             backward pass) while this region was open on another thread",
            |_, row, side| row.figures[side].map(|f| f.inferred).into(),
        )
        .and(time("kernel_time", "sum of the durations of `gpu_events`", |f| Some(f.gpu_time)))
        .and(time(
            "gpu_busy",
            "time in which at least one of `gpu_events` ran; overlapping events count once",
            |f| Some(f.gpu_busy),
        ))
        .and(time(
            "gpu_idle",
            "part of `wall` in which the GPU ran nothing, not even events launched outside of the region",
            |f| f.gpu_idle,
        ))
        .table(
            (name, "one row per path of nested user annotations, in alphabetical order"),
            analysis,
            |analysis| Box::new(analysis.annotated().iter().cloned()),
        )
}

/// Three columns for a time: one for each side, and candidate − baseline.
fn time(
    stem: &'static str,
    meaning: &'static str,
    of: fn(&AnnotatedFigures) -> Option<Nanos>,
) -> Columns<Analysis, AnnotatedRow> {
    Columns::default().compared(
        stem,
        TIME,
        [meaning, "candidate − baseline"],
        move |_: &Analysis, row: &AnnotatedRow, side| {
            row.figures[side].as_ref().and_then(of).into()
        },
    )
}
