//! The `verdicts` table: call sites with their verdicts and evidence.

use super::table::{ColumnType, Columns, Table};
use crate::analysis::Analysis;
use crate::analysis::verdict::{Judgement, Site};
use crate::side::{PerSide, Side};
use crate::trace::Argument;
use std::sync::Arc;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    identity().and(times()).and(evidence()).and(place()).table(
        (name, "one row per call site (op, arguments and module), largest difference first"),
        analysis,
        |analysis| Box::new(analysis.judged().sites.clone().into_iter()),
    )
}

/// The columns `verdict`, `basis`, `p` and `q`, which several tables share.
pub(super) fn columns<R: 'static>(
    judgement: for<'c> fn(&'c R) -> &'c Judgement,
) -> Columns<Analysis, R> {
    Columns::default()
        .word(
            "verdict",
            "result of the significance test over the runs; `not_tested` if a side has a single run",
            move |_: &Analysis, r: &R| judgement(r).verdict.label().into(),
        )
        .and(basis())
        .and(chances(judgement))
}

/// The column `basis`, which shows what the verdicts in the table are based on.
pub(super) fn basis<R: 'static>() -> Columns<Analysis, R> {
    const DOC: &str = "what the verdict is based on: `runs`; `none` if a side has a single run; `other_options` (host \
     times recorded with different options are not tested)";
    Columns::default().word("basis", DOC, |a: &Analysis, _: &R| a.judged().repeats.basis().into())
}

fn chances<R: 'static>(judgement: for<'c> fn(&'c R) -> &'c Judgement) -> Columns<Analysis, R> {
    Columns::default()
        .decimal(
            "p",
            (4, ""),
            "p-value of a two-sided moderated t test over the runs; empty with a single run, or if the time in a run is zero",
            move |_: &Analysis, r: &R| judgement(r).p.into(),
        )
        .decimal(
            "q",
            (4, ""),
            "false discovery rate over all call sites if every test with at most this `p` counts as a finding",
            move |_, r| judgement(r).q.into(),
        )
}

fn identity() -> Columns<Analysis, Site> {
    Columns::default()
        .text("name", "the op", |_: &Analysis, s: &Site| s.name.as_str().into())
        .sides(
            "module_*",
            (ColumnType::Text, ""),
            "innermost module around the op or, for backward work, around the forward op; only the module class if \
             there are no repeats",
            |_, s, side| s.module[side].as_str().into(),
        )
        .sides("input_shape_*", (ColumnType::Text, ""), "`Input Dims` of the op", |a, s, side| {
            a.rows()[s.first_row()].argument_text(a.diff(), Argument::Shape, side).into()
        })
        .whole("row_count", "number of rows", |_, s| s.rows.len().into())
}

fn times() -> Columns<Analysis, Site> {
    Columns::default()
        .sides(
            "kernel_us_*",
            (ColumnType::Time, "µs"),
            "time of the call site's rows, excluding steps without a counterpart",
            |_: &Analysis, s: &Site, side| s.time[side].into(),
        )
        .micros_difference("delta_us", "candidate − baseline", |_, s| s.time.difference().into())
        .ratio(
            "ratio",
            "candidate / baseline of the mean times over the repeats or, without repeats, of the total times",
            |_, s| s.judgement.ratio().into(),
        )
}

fn evidence() -> Columns<Analysis, Site> {
    const NUMBER: (ColumnType, &str) = (ColumnType::Decimal(3), "µs");
    Columns::default()
        .word(
            "verdict",
            "`slower`, `faster`, `similar`, `within_noise`, `not_tested`",
            |_: &Analysis, s: &Site| s.judgement.verdict.label().into(),
        )
        .word(
            "work",
            "`same`; `changed`: different arguments, or different kernels per step; `one_sided`: only one side has \
             the work",
            |_, s| s.work.label().into(),
        )
        .and(basis())
        .sides("repeats_*", (ColumnType::Whole, ""), "number of runs or steps", |_, s, side| {
            s.judgement.repeats[side].into()
        })
        .sides(
            "median_us_*",
            NUMBER,
            "median over the repeats (for an even number of runs, the lower of the two middle values); empty \
             without repeats",
            |_, s, side| of_steps(&s.judgement, side, s.judgement.median_us).into(),
        )
        .sides(
            "deviation_us_*",
            NUMBER,
            "median absolute deviation of the repeats, scaled to estimate the standard deviation",
            |_, s, side| of_steps(&s.judgement, side, s.judgement.deviation_us).into(),
        )
        .decimal(
            "shift_us",
            (3, "µs"),
            "Hodges–Lehmann estimate: median of all differences between a candidate repeat and a baseline repeat",
            |_, s| s.judgement.shift_us.into(),
        )
        .and(chances(|site| &site.judgement))
        .text(
            "few",
            "set if a minority of the repeats contains most of the difference, for example `in 1 of 5 candidate \
             steps: +60.000 ms`",
            |_, s| s.judgement.few_words().into(),
        )
}

/// The value of a statistic on one side; `None` if this side has no repeats, and therefore no
/// samples.
fn of_steps(judgement: &Judgement, side: Side, values: PerSide<f64>) -> Option<f64> {
    (judgement.repeats[side] > 0).then_some(values[side])
}

fn place() -> Columns<Analysis, Site> {
    Columns::default()
        .whole("first_row_id", "`row_id` of the call site's first row", |_: &Analysis, s: &Site| {
            s.first_row().into()
        })
        .text("lowest_common_ancestor_name", "lowest common node of the first row", |a, s| {
            a.rows()[s.first_row()].lowest_common_name(a.diff()).into()
        })
        .sides(
            "spread_us_*",
            (ColumnType::Decimal(3), "µs"),
            "largest difference between two repeats; empty without repeats",
            |_, s, side| of_steps(&s.judgement, side, s.judgement.spread_us).into(),
        )
}
