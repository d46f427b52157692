//! The `changes` table lists what changed and how much each change costs; the costs add up to the difference
//! in step time. The `change_sites` table lists the calls in each change.

use super::table::{ColumnType, Columns, Table};
use super::uids;
use crate::analysis::Analysis;
use crate::analysis::changes::{Change, WithoutChange};
use crate::diff::MergedId;
use crate::side::Side;
use crate::trace::Nanos;
use crate::tree::CallId;
use std::sync::Arc;

/// A row of the `changes` table: a change, or a part of the difference that is not caused by a change.
#[derive(Clone)]
struct Part {
    number: Option<usize>,
    kind: &'static str,
    certainty: &'static str,
    sentence: String,
    place: String,
    hint: &'static str,
    cost: Nanos,
    busy: Option<Nanos>,
    price: Option<Nanos>,
    sites: usize,
    node: Option<MergedId>,
}

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::default()
        .whole(
            "change",
            "number of the change, as in change_sites.csv; empty for parts of the difference that are not caused by \
             a change",
            |_: &Analysis, r: &Part| r.number.into(),
        )
        .word("kind", "kind of the change; docs/concepts/changes.md lists the kinds", |_, r| r.kind.into())
        .word(
            "certainty",
            "`certain`: read from the trace; `likely`: inferred from kernel names",
            |_, r| r.certainty.into(),
        )
        .micros_difference(
            "attributed_us",
            "candidate − baseline per step (per window if the sides have no steps); all rows add up to the \
             difference in step time",
            |_, r| r.cost.into(),
        )
        .micros_difference(
            "busy_us",
            "the part of the cost that is GPU busy time",
            |_, r| r.busy.into(),
        )
        .micros_difference(
            "price_us",
            "price of the change in bill.csv: what it does to the step time, by replay; empty if the traces cannot be \
             replayed",
            |_, r| r.price.into(),
        )
        .text("sentence", "what changed", |_, r| r.sentence.as_str().into())
        .text("where", "where the change first occurs: module class and user frame", |_, r| {
            r.place.as_str().into()
        })
        .text("hint", "what usually causes this kind of change", |_, r| r.hint.into())
        .whole("sites", "number of calls that belong to the change, in all compared steps", |_, r| {
            r.number.map(|_| r.sites).into()
        })
        .whole("node", "first line with this change in `merged_tree_output.txt`, counted from 0", |_, r| {
            r.node.map(|id| id.index()).into()
        })
        .table(
            (
                name,
                "one row per change, most expensive first, then rows for unchanged work that runs at a different \
                 speed; the costs add up to the difference in step time",
            ),
            analysis,
            |analysis| Box::new(parts(analysis).into_iter()),
        )
}

fn parts(analysis: &Analysis) -> Vec<Part> {
    let changes = analysis.changes();
    let change = |(number, change): (usize, &Change)| Part {
        number: Some(number),
        kind: change.kind.label(),
        certainty: change.certainty.label(),
        sentence: change.sentence.clone(),
        place: change.place.clone(),
        hint: change.usual(),
        cost: change.cost,
        busy: Some(change.busy),
        price: analysis.bill().price_of_change(number),
        sites: change.nodes.len(),
        node: change.nodes.first().copied(),
    };
    let rest = |part: WithoutChange| Part {
        number: None,
        kind: part.name,
        certainty: "",
        sentence: part.meaning.to_owned(),
        place: String::new(),
        hint: "",
        cost: part.cost,
        busy: None,
        price: None,
        sites: 0,
        node: None,
    };
    let parts = changes.list().iter().enumerate().map(change);
    parts.chain(changes.without_change().map(rest)).collect()
}

/// A row of the `change_sites` table, which describes one call in a change.
#[derive(Clone)]
struct Site {
    change: usize,
    kind: &'static str,
    /// The line of the bill.
    line: Option<usize>,
    node: MergedId,
    /// Whether a call above it belongs to the same change.
    is_nested: bool,
}

pub(super) fn sites(name: &'static str, analysis: Arc<Analysis>) -> Table {
    const TEXT: (ColumnType, &str) = (ColumnType::Text, "");
    const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");
    Columns::default()
        .whole("bill_line", "line in bill.csv", |_: &Analysis, r: &Site| r.line.into())
        .whole("change", "number of the change, as in bill.csv", |_, r| r.change.into())
        .word("kind", "kind of the change", |_, r| r.kind.into())
        .sides("name_*", TEXT, "name of the call; empty if the side does not have the call", |a, r, side| {
            call(a, r, side).map(|call| a.tree(side).name(call)).into()
        })
        .text("module", "the innermost module around the call", |a, r| a.diff().module_of(r.node).into())
        .sides("arguments_*", TEXT, "shapes and types of the op's arguments", |a, r, side| {
            let arguments = call(a, r, side).and_then(|call| a.tree(side).arguments(call));
            arguments
                .map(|arguments| {
                    let trace = a.tree(side).trace();
                    format!("{} {}", trace.text(arguments.dims), trace.text(arguments.types))
                        .trim()
                        .to_owned()
                })
                .into()
        })
        .sides(
            "attributed_us_*",
            TIME,
            "time of the GPU events launched by the call and by the calls below it; in traces without GPU events, \
             host self time of ops",
            |a, r, side| time(a, r, side).into(),
        )
        .word(
            "nested",
            "`yes` if a call above it belongs to the same change, so that its time is part of that call's time",
            |_, r| if r.is_nested { "yes" } else { "no" }.into(),
        )
        .and(uids::columns("uid of the call", call))
        .whole("node", "the call's line in `merged_tree_output.txt`, counted from 0", |_, r| {
            r.node.index().into()
        })
        .table(
            (name, "one row per call that belongs to a change: a matched op that differs, or an outermost unmatched \
                    call"),
            analysis,
            |analysis| {
                let changes = analysis.changes().list().iter().enumerate();
                Box::new(changes.flat_map(|(at, change)| sites_of(analysis, at, change)))
            },
        )
}

/// The call of a site on a side.
fn call(analysis: &Analysis, site: &Site, side: Side) -> Option<CallId> {
    analysis.diff().merged().node(site.node).call(side)
}

/// The calls of a change, in the order of the merged tree.
fn sites_of(analysis: &Analysis, number: usize, change: &Change) -> Vec<Site> {
    let merged = analysis.diff().merged();
    let mut nodes = change.nodes.clone();
    nodes.sort_unstable();
    nodes.dedup();
    let is_site = |node: &MergedId| nodes.binary_search(node).is_ok();
    let above =
        |node: MergedId| std::iter::successors(merged.parent(node), |&up| merged.parent(up));
    let mut lines = analysis.bill().lines().iter();
    let line = lines.position(|line| line.change == Some(number));
    let site = |&node: &MergedId| Site {
        change: number,
        kind: change.kind.label(),
        line,
        node,
        is_nested: above(node).any(|up| is_site(&up)),
    };
    nodes.iter().map(site).collect()
}

fn time(analysis: &Analysis, site: &Site, side: Side) -> Option<Nanos> {
    let call = call(analysis, site, side)?;
    let tree = analysis.tree(side);
    let is_measured =
        |call: &_| analysis.ledger().row_index(analysis.diff(), side, *call).is_some();
    Some(
        tree.subtree(call)
            .filter(is_measured)
            .map(|call| analysis.ledger().time_of(analysis.diff(), side, call))
            .sum(),
    )
}
