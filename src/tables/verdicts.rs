//! `verdicts`: places of the program, with the verdict on each and the evidence.

use super::table::{ColumnType, Columns, Table};
use crate::analysis::{Analysis, Judgement, Site};
use crate::side::{PerSide, Side};
use crate::trace::Argument;
use std::sync::Arc;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    identity().and(times()).and(evidence()).and(place()).table(
        (name, "op, arguments and module, largest difference first"),
        analysis,
        |analysis| Box::new(analysis.judged().sites.clone().into_iter()),
    )
}

/// The columns `verdict`, `p` and `q` of other tables.
pub(super) fn columns<R: 'static>(
    judgement: for<'c> fn(&'c R) -> &'c Judgement,
) -> Columns<Analysis, R> {
    Columns::new()
        .word("verdict", "what the repeats say, see `verdicts.csv`", move |_: &Analysis, r: &R| {
            judgement(r).verdict.label().into()
        })
        .and(basis())
        .and(chances(judgement))
}

/// The column `basis` of tables with verdicts.
pub(super) fn basis<R: 'static>() -> Columns<Analysis, R> {
    const DOC: &str = "the noise that the verdict rests on: `between_runs`; `within_one_run`, where run-to-run \
                       noise is unknown; `none`";
    Columns::new().word("basis", DOC, |a: &Analysis, _: &R| a.judged().repeats.basis().into())
}

fn chances<R: 'static>(judgement: for<'c> fn(&'c R) -> &'c Judgement) -> Columns<Analysis, R> {
    Columns::new()
        .decimal(
            "p",
            (4, ""),
            "moderated t test, two-sided; empty where it was not asked: no repeats, or steps without \
             any of the work",
            move |_: &Analysis, r: &R| judgement(r).p.into(),
        )
        .decimal(
            "q",
            (4, ""),
            "the false discovery rate at that `p`, among all places",
            move |_, r| judgement(r).q.into(),
        )
}

fn identity() -> Columns<Analysis, Site> {
    Columns::new()
        .text("name", "the op", |_: &Analysis, s: &Site| s.name.as_str().into())
        .sides(
            "module_*",
            (ColumnType::Text, ""),
            "the innermost module around it or its forward op; its class where there are no repeats",
            |_, s, side| s.module[side].as_str().into(),
        )
        .sides("input_shape_*", (ColumnType::Text, ""), "its shapes", |a, s, side| {
            a.argument_text(&a.rows()[s.first_row()], Argument::Shape, side).into()
        })
        .whole("row_count", "rows", |_, s| s.rows.len().into())
}

fn times() -> Columns<Analysis, Site> {
    Columns::new()
        .sides(
            "kernel_us_*",
            (ColumnType::Time, "µs"),
            "time of its rows, without steps that have no partner",
            |_: &Analysis, s: &Site, side| s.time[side].into(),
        )
        .micros_difference("delta_us", "candidate − baseline", |_, s| s.time.difference().into())
        .ratio(
            "ratio",
            "candidate / baseline of what is judged: the means of the repeats, all time without",
            |_, s| s.judgement.ratio().into(),
        )
}

fn evidence() -> Columns<Analysis, Site> {
    const NUMBER: (ColumnType, &str) = (ColumnType::Decimal(3), "µs");
    Columns::new()
        .word(
            "verdict",
            "`slower`, `faster`, `similar`, `within_noise`, `not_tested`",
            |_: &Analysis, s: &Site| s.judgement.verdict.label().into(),
        )
        .word(
            "work",
            "`same`; `changed`: other arguments, or kernels of a step; `one_sided`",
            |_, s| s.work.label().into(),
        )
        .word("repeats", "`runs` where both sides have several, `steps` where both traces have at least two, else `none`", |a, _| {
            a.judged().repeats.label().into()
        })
        .and(basis())
        .sides("repeats_*", (ColumnType::Whole, ""), "how many runs or steps", |_, s, side| {
            s.judgement.repeats[side].into()
        })
        .sides("median_us_*", NUMBER, "median over the steps, or over the runs (of an even number the lower of the two in the middle); empty without", |_, s, side| {
            of_steps(&s.judgement, side, s.judgement.median_us).into()
        })
        .sides(
            "deviation_us_*",
            NUMBER,
            "the median distance from it, scaled to a standard deviation",
            |_, s, side| of_steps(&s.judgement, side, s.judgement.deviation_us).into(),
        )
        .decimal(
            "shift_us",
            (3, "µs"),
            "Hodges–Lehmann estimate: the median of all differences between a step of trace2 and \
             one of trace1",
            |_, s| s.judgement.shift_us.into(),
        )
        .and(chances(|site| &site.judgement))
        .text("few", "the few repeats that most of the difference is in, where it is not in most of them: `in 1 of 5 candidate steps: +60.000 ms`", |_, s| {
            s.judgement.few_words().into()
        })
}

/// A side without steps has no samples, and no middle of them.
fn of_steps(judgement: &Judgement, side: Side, values: PerSide<f64>) -> Option<f64> {
    (judgement.repeats[side] > 0).then_some(values[side])
}

fn place() -> Columns<Analysis, Site> {
    Columns::new()
        .whole("first_row_id", "`row_id` of its first row", |_: &Analysis, s: &Site| {
            s.first_row().into()
        })
        .text("lowest_common_ancestor_name", "that of the first row", |a, s| {
            a.lowest_common_name(&a.rows()[s.first_row()]).into()
        })
        .sides(
            "spread_us_*",
            (ColumnType::Decimal(3), "µs"),
            "the largest difference between two repeats; empty without",
            |_, s, side| of_steps(&s.judgement, side, s.judgement.spread_us).into(),
        )
}
