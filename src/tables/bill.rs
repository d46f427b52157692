//! The `bill` table divides the step-time difference into lines. Their prices add up to the difference.

use super::table::{Columns, Table};
use super::uids;
use crate::analysis::Analysis;
use crate::analysis::bill::BillLine;
use crate::analysis::changes::{Change, Code};
use std::sync::Arc;

/// A line of the bill, with its number.
type Row = (usize, BillLine);

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::default()
        .whole("bill_line", "number of the line, counted from 0", |_: &Analysis, r: &Row| r.0.into())
        .word(
            "kind",
            "what the line is about. `environment`: other versions or another device; `change`: the program; `recording`: what was recorded; \
             `together`: all changes together, minus the sum of their prices; `hardware`, `software`: what another \
             device explains, and what its libraries and kernels do beyond that; `wait`: waiting for something else \
             than the GPU; `host`: host times of the same calls; `pauses`: single long host times; `clock`: durations \
             of the same kernels; `overlap`: idle time at the same calls (only without prices); `rest`: \
             unexplained",
            |_, r| r.1.kind.label().into(),
        )
        .word(
            "certainty",
            "of changes: `certain`: read from the trace; `likely`: inferred from kernel names",
            |a, r| change(a, r).map(|change| change.certainty.label()).into(),
        )
        .micros_difference(
            "price_us",
            "what the line does to the step time, by replay: candidate − baseline per step; empty if the traces cannot \
             be replayed. All rows add up to the difference in step time",
            |a, r| Some(r.1.price).filter(|_| a.bill().is_priced()).into(),
        )
        .micros_difference(
            "attributed_us",
            "the time that is attributed to the line; only if no prices are known. All rows add up to the difference in \
             step time",
            |a, r| Some(r.1.price).filter(|_| !a.bill().is_priced()).into(),
        )
        .micros_difference("price_low_us", "lowest price over all pairs of runs; empty with one run per side", |_, r| {
            r.1.over_runs.map(|runs| runs.low).into()
        })
        .micros_difference("price_median_us", "median price over all pairs of runs", |_, r| {
            r.1.over_runs.map(|runs| runs.median).into()
        })
        .micros_difference("price_high_us", "highest price over all pairs of runs", |_, r| {
            r.1.over_runs.map(|runs| runs.high).into()
        })
        .word(
            "apart",
            "`yes` if the price has the same sign for all pairs of runs; empty if a side has a single run",
            |_, r| r.1.over_runs.and_then(|runs| runs.is_apart).map(|is| if is { "yes" } else { "no" }).into(),
        )
        .text("sentence", "what happened", |_, r| r.1.sentence.as_str().into())
        .text(
            "where",
            "where the change first occurs: module class and user frame; of a wait: the range; of the same kernels: the op \
             that has most of the difference",
            |_, r| r.1.place.as_str().into(),
        )
        .text("file", "file of the innermost function of user code around the first call of the change", |a, r| {
            code(a, r).function.map(|(file, ..)| file).into()
        })
        .whole("line", "first line of this function", |a, r| code(a, r).function.map(|(_, line, _)| line).into())
        .text("function", "name of this function", |a, r| code(a, r).function.map(|(.., name)| name).into())
        .text("module_class", "class of the innermost module around this call", |a, r| code(a, r).module.into())
        .text("hint", "what to try or to check", |_, r| r.1.advice.as_str().into())
        .whole("change", "number of the change, as in change_sites.csv", |_, r| r.1.change.into())
        .whole("sites", "number of calls that belong to the change, in all compared steps", |a, r| {
            change(a, r).map(|change| change.nodes.len()).into()
        })
        .and(uids::columns("uid of the first call of the change", |a, r: &Row, side| {
            r.1.node.and_then(|node| a.diff().merged().node(node).call(side))
        }))
        .whole("node", "first line with this change in `merged_tree_output.txt`, counted from 0", |_, r| {
            r.1.node.map(|node| node.index()).into()
        })
        .table(
            (name, "one row per line of the bill: changes first, then the same program at another speed, then the rest"),
            analysis,
            |analysis| Box::new(analysis.bill().lines().to_vec().into_iter().enumerate()),
        )
}

fn change<'a>(analysis: &'a Analysis, row: &Row) -> Option<&'a Change> {
    row.1.change.map(|at| &analysis.changes().list()[at])
}

fn code<'a>(analysis: &'a Analysis, row: &Row) -> Code<'a> {
    row.1.node.map_or_else(Code::default, |node| Code::of(analysis.diff(), node))
}
