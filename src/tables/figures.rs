//! Defines the columns for the times and counts of a group of work (a step, a phase or a batch class), which several
//! tables share.

use super::table::{ColumnType, Columns};
use crate::analysis::Analysis;
use crate::analysis::steps::Figures;
use crate::side::{PerSide, Presence};
use crate::trace::Nanos;

const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");
const RATE: (ColumnType, &str) = (ColumnType::Decimal(3), "µs");

type Of<R> = for<'c> fn(&'c R) -> &'c PerSide<Figures>;

/// Three columns for each quantity: one for each side, and candidate − baseline.
pub(super) fn columns<R: 'static>(of: Of<R>) -> Columns<Analysis, R> {
    Columns::default()
        .word("presence", "which side has work in the row", move |_: &Analysis, r: &R| {
            Presence::of(of(r).map(|figures| figures.events)).label().into()
        })
        .and(time("kernel_us", "sum of the durations of the row's events", of, |f| f.time))
        .ratio("kernel_us_ratio", "candidate / baseline", move |_, r| {
            of(r).map(|figures| figures.time).ratio().into()
        })
        .and(counts(of))
        .and(time("wall_us", "busy + idle", of, Figures::wall))
        .and(time(
            "busy_us",
            "busy time; if several events run at the same moment, the moment counts only for the row of the event \
             that started first",
            of,
            |f| f.busy,
        ))
        .and(time(
            "idle_us",
            "idle time; each gap counts only for the row whose event ends the gap",
            of,
            |f| f.idle,
        ))
        .and(time("copies_us", "part of `kernel_us`: copies and memsets", of, |f| f.copies))
        .and(time("communication_us", "part of `kernel_us`: communication kernels", of, |f| f.communication))
        .and(time(
            "exposed_communication_us",
            "time in which a communication kernel runs and no compute kernel does",
            of,
            |f| f.exposed_communication,
        ))
        .and(rate(
            "kernel_us_per_step",
            "`kernel_us` / number of steps; comparable even if the traces have different numbers of steps",
            of,
            Figures::time_per_step_us,
        ))
        .sides(
            "tokens_*",
            (ColumnType::Whole, ""),
            "number of tokens in the batches, if recorded in the annotations",
            move |_, r, side| of(r)[side].tokens.into(),
        )
        .and(rate("kernel_us_per_token", "`kernel_us` / tokens", of, Figures::time_per_token_us))
}

fn counts<R: 'static>(of: Of<R>) -> Columns<Analysis, R> {
    let launches = move |r: &R| of(r).map(|figures| figures.launches as i64);
    Columns::default()
        .sides(
            "events_*",
            (ColumnType::Whole, ""),
            "attributed events",
            move |_: &Analysis, r: &R, side| of(r)[side].events.into(),
        )
        .sides(
            "launches_*",
            (ColumnType::Whole, ""),
            "number of calls that launched the events",
            move |_, r, side| of(r)[side].launches.into(),
        )
        .whole("launches_diff", "candidate − baseline of `launches`", move |_, r| {
            let PerSide { baseline, candidate } = launches(r);
            (candidate - baseline).into()
        })
}

fn time<R: 'static>(
    stem: &'static str,
    meaning: &'static str,
    of: Of<R>,
    pick: fn(&Figures) -> Nanos,
) -> Columns<Analysis, R> {
    Columns::default().compared(stem, TIME, [meaning; 2], move |_: &Analysis, r: &R, side| {
        pick(&of(r)[side]).into()
    })
}

fn rate<R: 'static>(
    stem: &'static str,
    meaning: &'static str,
    of: Of<R>,
    pick: fn(&Figures) -> Option<f64>,
) -> Columns<Analysis, R> {
    Columns::default().compared(stem, RATE, [meaning; 2], move |_: &Analysis, r: &R, side| {
        pick(&of(r)[side]).into()
    })
}
