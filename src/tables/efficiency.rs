//! The efficiency columns (FLOPs, bytes, rates) at the end of several tables, and the `efficiency` table, which
//! sorts ops by the time that could be saved.

use super::runs;
use super::table::{Cell, ColumnType, Columns, Table};
use crate::analysis::Analysis;
use crate::analysis::efficiency::{Efficiency, EfficiencyRow};
use crate::side::{PerSide, Side};
use std::sync::Arc;

const GFLOPS: (ColumnType, &str) = (ColumnType::Decimal(6), "10⁹");
const MBYTES: (ColumnType, &str) = (ColumnType::Decimal(6), "10⁶ B");
const TFLOPS_PER_S: (ColumnType, &str) = (ColumnType::Decimal(4), "10¹²/s");
const TB_PER_S: (ColumnType, &str) = (ColumnType::Decimal(4), "10¹² B/s");
const GB_PER_S: (ColumnType, &str) = (ColumnType::Decimal(3), "10⁹ B/s");
const MICROS: (ColumnType, &str) = (ColumnType::Decimal(3), "µs");
const PERCENT: (ColumnType, &str) = (ColumnType::Decimal(2), "%");
const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");
const WHOLE: (ColumnType, &str) = (ColumnType::Whole, "");
const TEXT: (ColumnType, &str) = (ColumnType::Text, "");
const WORD: (ColumnType, &str) = (ColumnType::Word, "");

type Of<R> = for<'c> fn(&'c R) -> &'c PerSide<Efficiency>;

/// The efficiency columns for both sides. Cells are empty unless models cover all of the row's time.
pub(super) fn columns<R: 'static>(of: Of<R>) -> Columns<Analysis, R> {
    Columns::default()
        .sides(
            "gflops_*",
            GFLOPS,
            "required floating-point operations; empty unless models cover all of the row's time \
             ([efficiency](efficiency.md))",
            move |_: &Analysis, r: &R, side| of(r)[side].gflops().into(),
        )
        .sides(
            "mbytes_*",
            MBYTES,
            "required memory traffic: inputs read once, outputs written once",
            move |_, r, side| of(r)[side].mbytes().into(),
        )
        .sides(
            "tflops_per_s_*",
            TFLOPS_PER_S,
            "operations divided by the measured time; empty if above the device's peak",
            move |_, r, side| of(r)[side].tflops_per_s().into(),
        )
        .sides(
            "tb_per_s_*",
            TB_PER_S,
            "bytes divided by the measured time; empty if above the device's peak",
            move |_, r, side| of(r)[side].tb_per_s().into(),
        )
        .sides(
            "bound_*",
            WORD,
            "the limiting resource at the device's peaks: `compute` or `memory`; `cache_resident_or_model_too_high` \
             if the op took less time than the peaks allow; empty if the peaks are unknown",
            move |_, r, side| of(r)[side].bound_label().into(),
        )
        .sides(
            "roofline_pct_*",
            PERCENT,
            "minimum time at the device's peaks as a share of the measured time; empty if above 100",
            move |_, r, side| of(r)[side].roofline_pct().into(),
        )
}

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    let runs = runs::columns(&analysis, |a: &Analysis, r: &EfficiencyRow, side| {
        runs::of_events(a, &r.events[side], side)
    });
    identity().and(columns(|row: &EfficiencyRow| &row.efficiency)).and(savings()).and(runs).table(
        (
            name,
            "one row per op and shapes, provided that models cover all of the op's time; sorted by the time that \
             could be saved in the candidate",
        ),
        analysis,
        |analysis| Box::new(analysis.by_efficiency().iter().cloned()),
    )
}

fn identity() -> Columns<Analysis, EfficiencyRow> {
    Columns::default()
        .text(
            "name",
            "name of the attribution row, or of the op if models cover only part of the row",
            |_: &Analysis, r: &EfficiencyRow| r.name.as_str().into(),
        )
        .sides("input_shape_*", TEXT, "`Input Dims` of the op", |_, r, side| text(&r.dims, side))
        .sides("input_type_*", TEXT, "`Input type`", |_, r, side| text(&r.types, side))
        .sides("count_*", WHOLE, "number of calls to the op", |_, r, side| r.count[side].into())
        .sides("kernel_us_*", TIME, "sum of the durations of the row's GPU events", |_, r, side| {
            r.efficiency[side].time.into()
        })
}

fn text(texts: &PerSide<String>, side: Side) -> Cell<'_> {
    texts[side].as_str().into()
}

fn savings() -> Columns<Analysis, EfficiencyRow> {
    Columns::default()
        .sides(
            "roofline_us_*",
            MICROS,
            "minimum time that the work takes at the device's peaks",
            |_: &Analysis, r: &EfficiencyRow, side| r.efficiency[side].roofline_us().into(),
        )
        .sides(
            "savable_us_*",
            MICROS,
            "maximum possible saving: `kernel_time` − `roofline_us`",
            |_, r, side| r.efficiency[side].savable_us().into(),
        )
        .sides(
            "flops_per_byte_*",
            (ColumnType::Decimal(3), "1/B"),
            "arithmetic intensity: operations per byte",
            |_, r, side| r.efficiency[side].intensity().into(),
        )
        .sides(
            "bus_gb_per_s_*",
            GB_PER_S,
            "for communication: bus bandwidth, which is the number of bytes that each rank must send, divided by \
             the time",
            |_, r, side| r.efficiency[side].bus_gb_per_s().into(),
        )
}
