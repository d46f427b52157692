//! The `categories` table: kinds of GPU work in each phase.

use super::table::{ColumnType, Columns, Table};
use super::tallies::{self, Judged, counts_and_totals, delta_and_ratio, presence, runs};
use crate::analysis::Analysis;
use crate::analysis::account::Tally;
use crate::analysis::kernels::{CategoryRow, by_category};
use crate::trace::Nanos;
use std::sync::Arc;

type Row = Judged<CategoryRow>;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::default()
        .word(
            "category",
            "kind of work; `unclassified` if no rule applies",
            |a: &Analysis, r: &Row| a.options().categories.name(r.group.category).into(),
        )
        .word("phase", "phase in which the events were launched, or `unknown`", |_, r| {
            r.group.phase.label().into()
        })
        .and(counts_and_totals(tally))
        .sides(
            "share_pct_*",
            (ColumnType::Decimal(3), "%"),
            "share of all attributed time in the trace",
            |a, r, side| percent(r.group.tally.total(side), a.account().totals[side].time).into(),
        )
        .and(delta_and_ratio(tally))
        .decimal(
            "contribution_pct",
            (3, "%"),
            "signed share of the total difference; empty if the totals are equal",
            |a, r| percent(r.group.tally.difference(), a.account().difference()).into(),
        )
        .and(presence(tally))
        .word(
            "verdict",
            "result of the significance test, with runs or steps as repeats; see `verdicts.csv`",
            |_, r| r.verdict().into(),
        )
        .and(super::verdicts::basis())
        .and(runs(&analysis))
        .table(
            (name, "one row per kind of work and phase, sorted by the total time in both traces"),
            analysis,
            |analysis| {
                tallies::judged(
                    analysis,
                    by_category(analysis.diff(), analysis.ledger(), analysis.categories()),
                    |row| &row.tally,
                )
            },
        )
}

fn percent(part: Nanos, whole: Nanos) -> Option<f64> {
    (whole.0 != 0).then(|| 100.0 * part.0 as f64 / whole.0 as f64)
}

fn tally(row: &Row) -> &Tally {
    &row.group.tally
}
