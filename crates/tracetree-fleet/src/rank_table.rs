//! Defines the table `ranks`: one row per rank of a fleet, with the time that the rank waited for other ranks.

use super::pattern::ranges;
use super::rows::RankRow;
use std::sync::Arc;
use tracetree::side::{PerSide, Side};
use tracetree::tables::Table;
use tracetree::tables::table::{Column, ColumnType, Columns};
use tracetree::trace::Nanos;

const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");

type Ranks = Columns<Vec<RankRow>, RankRow>;

/// The table `ranks`.
pub(super) fn table(ranks: Vec<RankRow>) -> Table {
    identity().and(account()).and(collectives()).and(judgement()).table(
        ("ranks", "rank, ordered by number or name"),
        Arc::new(ranks),
        |ranks| Box::new(ranks.iter().cloned()),
    )
}

fn identity() -> Ranks {
    Columns::default()
        .whole(
            "rank",
            "rank; empty if the files were matched by name",
            |_: &Vec<RankRow>, r: &RankRow| r.rank.into(),
        )
        .text("folder", "folder of the rank's report", |_, r| r.folder.as_str().into())
        .word(
            "status",
            "`ok`; `damaged` if data is missing in a trace; `failed` if a trace is truncated",
            |_, r| r.status.into(),
        )
        .word("code", "reason code, such as `TRUNCATED`; empty for `ok`", |_, r| {
            r.code.as_str().into()
        })
        .word(
            "role",
            "hash of the baseline outline; ranks with the same hash run the same ops",
            |_, r| (&*r.role).into(),
        )
        .sides("file_*", (ColumnType::Text, ""), "path of the trace", |_, r, side| {
            r.files[side].as_str().into()
        })
}

fn account() -> Ranks {
    times("kernel_us", "total GPU time of the rank", |r, side| r.time[side])
        .ratio("ratio", "candidate / baseline", |_, r| r.time.ratio().into())
        .and(times("busy_us", "GPU busy time: union of the intervals", |r, side| r.busy[side]))
        .sides(
            "events_*",
            (ColumnType::Whole, ""),
            "number of attributed GPU events",
            |_, r, side| r.events[side].into(),
        )
        .and(times(
            "wall_us",
            "wall time of the window, excluding work that was launched before the window",
            |r, side| r.wall[side],
        ))
        .sides(
            "steps_*",
            (ColumnType::Whole, ""),
            "number of steps; 1 if the window is treated as a whole",
            |_, r, side| r.steps[side].into(),
        )
}

fn collectives() -> Ranks {
    Columns::default()
        .sides(
            "collectives_*",
            (ColumnType::Whole, ""),
            "number of communication kernels",
            |_: &Vec<RankRow>, r: &RankRow, side| r.waits[side].count.into(),
        )
        .sides(
            "matched_collectives_*",
            (ColumnType::Whole, ""),
            "number of communication kernels whose collective was matched on every rank of the \
             process group; kernels are matched by sequence number if recorded, by order if all \
             ranks have the same number of kernels, and otherwise by end time",
            |_, r, side| r.waits[side].matched.into(),
        )
        .and(times("communication_us", "total duration of the communication kernels", |r, side| {
            r.waits[side].time
        }))
        .and(times(
            "collective_wait_us",
            "time that the rank waited for other ranks: the duration of its own kernel − the \
             shortest duration on any rank, summed over the matched collectives",
            |r, side| r.waits[side].wait,
        ))
        .and(times("without_wait_us", "`kernel_us` − `collective_wait_us`", |r, side| {
            r.time[side] - r.waits[side].wait
        }))
}

fn judgement() -> Ranks {
    Columns::default()
        .sides(
            "straggler_*",
            (ColumnType::Flag, ""),
            "`yes` for the rank that the other ranks wait for: its own wait is the shortest, and \
             less than half the median wait",
            |_: &Vec<RankRow>, r: &RankRow, side| r.is_straggler[side].into(),
        )
        .sides(
            "last_in_*",
            (ColumnType::Text, ""),
            "matched collectives in which the rank arrived last (its kernel is the shortest), such as \
             `#0-#3 #7`; collectives are numbered from 0, in the order in which the first rank \
             runs them",
            |_, r, side| ranges(&r.waits[side].last_in, "#").into(),
        )
        .column(Column::new(
            "account_is_exact",
            ColumnType::Flag,
            "`yes` if the rows of the rank's report add up to the total time of its events",
            |_: &Vec<RankRow>, r: &RankRow| r.account_is_exact.into(),
        ))
        .sides(
            "notes_*",
            (ColumnType::Text, ""),
            "codes of the notes about the trace, with counts",
            |_, r, side| r.notes[side].as_str().into(),
        )
}

/// Columns for a time on each side, and for candidate − baseline.
fn times(stem: &'static str, meaning: &'static str, time: fn(&RankRow, Side) -> Nanos) -> Ranks {
    Columns::default()
        .sides(&format!("{stem}_*"), TIME, meaning, move |_: &Vec<RankRow>, r: &RankRow, side| {
            time(r, side).into()
        })
        .micros_difference(format!("{stem}_diff"), meaning, move |_, r| {
            PerSide::from_fn(|side| time(r, side)).difference().into()
        })
}
