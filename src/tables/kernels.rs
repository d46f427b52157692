//! The `kernels` table: kernels grouped by name and launching op.

use super::table::{Cell, ColumnType, Columns, Table};
use super::tallies::{counts_and_totals, delta_and_ratio, means, of_runs, presence};
use super::{efficiency, runs};
use crate::analysis::Analysis;
use crate::analysis::account::Tally;
use crate::analysis::efficiency::Efficiency;
use crate::analysis::kernels::{KernelRow, PythonStack, by_kernel, stacks};
use crate::side::{PerSide, Side};
use std::sync::Arc;

struct Kernel {
    row: KernelRow,
    efficiency: PerSide<Efficiency>,
}

type Row = Kernel;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    identity()
        .and(counts_and_totals(tally))
        .and(means(tally))
        .and(spread())
        .and(delta_and_ratio(tally))
        .and(presence(tally))
        .sides(
            "stacks_*",
            (ColumnType::Json, ""),
            "up to three (`--stacks N`) distinct Python stacks at launch, as a list of \
             `{\"count\", \"frames\"}`, outermost frame first; empty without stacks",
            |a, r, side| listed(&stacks(a.diff(), a.ledger(), a.stacks(), a.options().stacks, &r.row.tally.events)[side]),
        )
        .and(efficiency::columns(|row: &Row| &row.efficiency))
        .and(runs::columns(&analysis, |a, row: &Row, side| of_runs(a, tally(row), side)))
        .table(
            (name, "one row per event name, kind of work and launching op, sorted by the total time in both traces"),
            analysis,
            |analysis| Box::new(kernels(analysis)),
        )
}

fn kernels(analysis: &Analysis) -> impl Iterator<Item = Kernel> + '_ {
    let rows = by_kernel(analysis.diff(), analysis.ledger(), analysis.categories());
    rows.into_iter().map(|row| {
        let events = &row.tally.events;
        let did = |side: Side| analysis.efficiency()[side].of_events(&events[side]);
        Kernel { efficiency: PerSide::from_fn(did), row }
    })
}

fn identity() -> Columns<Analysis, Row> {
    Columns::default()
        .text(
            "kernel",
            "name of the GPU event or, in traces without GPU events, of the op",
            |_: &Analysis, r: &Row| r.row.kernel.as_str().into(),
        )
        .word("category", "kind of work", |a, r| {
            a.options().categories.name(r.row.category.id).into()
        })
        .word(
            "category_source",
            "evidence for the category: `event`, `op`, `autograd`, `module`, `same_kernel`, \
             `kernel_name`, `optimizer`, `none`",
            |_, r| r.row.category.source.label().into(),
        )
        .text(
            "cpu_op",
            "name of the nearest op above the launch; empty if there is no op",
            |_, r| r.row.op.as_str().into(),
        )
}

fn spread() -> Columns<Analysis, Row> {
    const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");
    Columns::default()
        .sides("min_us_*", TIME, "shortest time", |_: &Analysis, r: &Row, side| {
            r.row.tally.min(side).into()
        })
        .sides("max_us_*", TIME, "longest time", |_, r, side| r.row.tally.max(side).into())
        .sides("p50_us_*", (ColumnType::Decimal(3), "µs"), "median time", |_, r, side| {
            r.row.tally.median_us(side).into()
        })
}

fn listed(stacks: &[PythonStack]) -> Cell<'static> {
    if stacks.is_empty() {
        return Cell::Empty;
    }
    Cell::Json(serde_json::to_string(stacks).expect("stacks can be written as JSON"))
}

fn tally(row: &Row) -> &Tally {
    &row.row.tally
}
