//! `ranks`: a row for each rank of a fleet, with what it waited for the others.

use super::RankRow;
use crate::side::{PerSide, Side};
use crate::tables::Table;
use crate::tables::table::{Column, ColumnType, Columns};
use crate::trace::Nanos;
use std::sync::Arc;

const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");

type Ranks = Columns<Vec<RankRow>, RankRow>;

/// The table of the ranks.
pub(super) fn table(ranks: Vec<RankRow>) -> Table {
    identity().and(account()).and(collectives()).and(judgement()).table(
        ("ranks", "rank, in the order of their numbers or names"),
        Arc::new(ranks),
        |ranks| Box::new(ranks.iter().cloned()),
    )
}

fn identity() -> Ranks {
    Columns::new()
        .whole(
            "rank",
            "the rank; empty where the files were paired by name",
            |_: &Vec<RankRow>, r: &RankRow| r.rank.into(),
        )
        .text("folder", "its report", |_, r| r.folder.as_str().into())
        .word("status", "`ok`; `damaged` where data is missing in a trace, `failed` where it could not be compared", |_, r| r.status.into())
        .word("code", "why not: `TRUNCATED`", |_, r| r.code.as_str().into())
        .word("role", "outline of its baseline: ranks with the same one run the same", |_, r| {
            (&*r.role).into()
        })
        .sides("file_*", (ColumnType::Text, ""), "its traces", |_, r, side| {
            r.files[side].as_str().into()
        })
}

fn account() -> Ranks {
    times("kernel_us", "the account of the rank", |r, side| r.time[side])
        .ratio("ratio", "candidate / baseline", |_, r| r.time.ratio().into())
        .and(times("busy_us", "union of the intervals", |r, side| r.busy[side]))
        .sides("events_*", (ColumnType::Whole, ""), "accounted events", |_, r, side| {
            r.events[side].into()
        })
        .and(times("wall_us", "wall time of the window's own work", |r, side| r.wall[side]))
        .sides(
            "steps_*",
            (ColumnType::Whole, ""),
            "number of steps; 1 where the window is looked at as a whole",
            |_, r, side| r.steps[side].into(),
        )
}

fn collectives() -> Ranks {
    Columns::new()
        .sides("collectives_*", (ColumnType::Whole, ""), "communication kernels", |_: &Vec<RankRow>, r: &RankRow, side| {
            r.waits[side].count.into()
        })
        .sides(
            "matched_collectives_*",
            (ColumnType::Whole, ""),
            "those that every rank of their process group has: by sequence number where it is recorded, \
             by order where every rank has as many, else by the ends, which a collective has in common",
            |_, r, side| r.waits[side].matched.into(),
        )
        .and(times("communication_us", "sum of their durations", |r, side| r.waits[side].time))
        .and(times(
            "collective_wait_us",
            "own duration − shortest on any rank, summed over the matched ones: what the rank waited \
             for the others",
            |r, side| r.waits[side].wait,
        ))
        .and(times("without_wait_us", "`kernel_us` − wait", |r, side| {
            r.time[side] - r.waits[side].wait
        }))
}

fn judgement() -> Ranks {
    Columns::new()
        .sides(
            "straggler_*",
            (ColumnType::Flag, ""),
            "`yes` for the rank that the others wait for: its own wait is the least, and less than \
             half of the median",
            |_: &Vec<RankRow>, r: &RankRow, side| r.is_straggler[side].into(),
        )
        .sides(
            "last_in_*",
            (ColumnType::Text, ""),
            "matched collectives in which the rank came last, that is had the shortest kernel: \
             `#0-#3 #7`, numbered from 0 in the order in which the first rank has them",
            |_, r, side| ranges(&r.waits[side].last_in).into(),
        )
        .column(Column::new(
            "account_is_exact",
            ColumnType::Flag,
            "`yes` where the rows of the rank's report add up to its events",
            |_: &Vec<RankRow>, r: &RankRow| r.account_is_exact.into(),
        ))
        .sides(
            "notes_*",
            (ColumnType::Text, ""),
            "what was odd about the file: codes with their counts",
            |_, r, side| r.notes[side].as_str().into(),
        )
}

/// `#0-#3 #6`: numbers that follow each other as a range.
pub fn ranges(numbers: &[u64]) -> String {
    let mut found: Vec<(u64, u64)> = Vec::new();
    for &number in numbers {
        match found.last_mut().filter(|(_, last)| *last + 1 == number) {
            Some((_, last)) => *last = number,
            None => found.push((number, number)),
        }
    }
    let text = |(first, last): (u64, u64)| match first == last {
        true => format!("#{first}"),
        false => format!("#{first}-#{last}"),
    };
    found.into_iter().map(text).collect::<Vec<_>>().join(" ")
}

/// A time of each side, and candidate − baseline.
fn times(stem: &'static str, meaning: &'static str, time: fn(&RankRow, Side) -> Nanos) -> Ranks {
    Columns::new()
        .sides(&format!("{stem}_*"), TIME, meaning, move |_: &Vec<RankRow>, r: &RankRow, side| {
            time(r, side).into()
        })
        .micros_difference(format!("{stem}_delta"), meaning, move |_, r| {
            PerSide::from_fn(|side| time(r, side)).difference().into()
        })
}
