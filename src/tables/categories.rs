//! The `categories` table: kinds of GPU work in each phase.

use super::runs;
use super::table::{ColumnType, Columns, Table};
use super::tallies::{counts_and_totals, delta_and_ratio, of_runs, presence};
use crate::analysis::Analysis;
use crate::analysis::account::Tally;
use crate::analysis::kernels::{CategoryRow, by_category};
use crate::trace::Nanos;
use std::sync::Arc;

type Row = CategoryRow;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::default()
        .word(
            "category",
            "kind of work; `unclassified` if no rule applies",
            |a: &Analysis, r: &Row| a.options().categories.name(r.category).into(),
        )
        .word("phase", "phase in which the events were launched, or `unknown`", |_, r| {
            r.phase.label().into()
        })
        .and(counts_and_totals(tally))
        .sides(
            "share_pct_*",
            (ColumnType::Decimal(3), "%"),
            "share of all attributed time in the trace",
            |a, r, side| percent(r.tally.total(side), a.account().totals[side].time).into(),
        )
        .and(delta_and_ratio(tally))
        .decimal(
            "contribution_pct",
            (3, "%"),
            "signed share of the total difference; empty if the totals are equal",
            |a, r| percent(r.tally.difference(), a.account().difference()).into(),
        )
        .and(presence(tally))
        .and(runs::columns(&analysis, |a, row: &Row, side| of_runs(a, tally(row), side)))
        .table(
            (name, "one row per kind of work and phase, sorted by the total time in both traces"),
            analysis,
            |analysis| {
                let rows = by_category(analysis.diff(), analysis.ledger(), analysis.categories());
                Box::new(rows.into_iter())
            },
        )
}

fn percent(part: Nanos, whole: Nanos) -> Option<f64> {
    (whole.0 != 0).then(|| 100.0 * part.0 as f64 / whole.0 as f64)
}

fn tally(row: &Row) -> &Tally {
    &row.tally
}
