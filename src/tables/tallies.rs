//! Defines the columns shared by tables whose rows are groups of GPU events.

use super::runs;
use super::table::{ColumnType, Columns};
use crate::analysis::Analysis;
use crate::analysis::account::Tally;
use crate::analysis::kernels::judge_tallies;
use crate::analysis::verdict::Judgement;

/// A group of attributed events, and the verdict on the time of these events.
pub(super) struct Judged<T> {
    /// The group.
    pub(super) group: T,
    /// The verdict on the group's time; `None` if there is nothing to test.
    pub(super) judgement: Option<Judgement>,
}

impl<T> Judged<T> {
    /// The label of the verdict, such as `slower`; `None` if there is nothing to test.
    pub(super) fn verdict(&self) -> Option<&'static str> {
        self.judgement.map(|judgement| judgement.verdict.label())
    }
}

/// Tests the time difference of each group, and returns the groups with their verdicts. The groups must contain every
/// attributed event exactly once.
pub(super) fn judged<T>(
    analysis: &Analysis,
    groups: Vec<T>,
    tally: impl Fn(&T) -> &Tally,
) -> Box<dyn Iterator<Item = Judged<T>>>
where
    T: 'static,
{
    let tallies: Vec<&Tally> = groups.iter().map(tally).collect();
    let judgements =
        judge_tallies(analysis.diff(), analysis.ledger(), &analysis.group_judge(), &tallies);
    let pairs = groups.into_iter().zip(judgements);
    Box::new(pairs.map(|(group, judgement)| Judged { group, judgement: Some(judgement) }))
}

/// Columns for the number of runs on each side, and for the median and the spread of the time over these runs.
pub(super) fn runs<T: 'static>(analysis: &Analysis) -> Columns<Analysis, Judged<T>> {
    runs::columns(analysis, |_, row: &Judged<T>, side| {
        runs::of_judgement(row.judgement.as_ref()?, side)
    })
}

pub(super) fn counts_and_totals<R: 'static>(
    tally: for<'c> fn(&'c R) -> &'c Tally,
) -> Columns<Analysis, R> {
    Columns::default()
        .sides(
            "count_*",
            (ColumnType::Whole, ""),
            "number of events",
            move |_: &Analysis, r: &R, side| tally(r).count(side).into(),
        )
        .sides(
            "total_us_*",
            (ColumnType::Time, "µs"),
            "total time of the events",
            move |_, r, side| tally(r).total(side).into(),
        )
}

pub(super) fn means<R: 'static>(tally: for<'c> fn(&'c R) -> &'c Tally) -> Columns<Analysis, R> {
    const MEAN: (ColumnType, &str) = (ColumnType::Decimal(3), "µs");
    Columns::default().sides(
        "mean_us_*",
        MEAN,
        "mean time of an event; empty without events",
        move |_: &Analysis, r: &R, side| tally(r).mean_us(side).into(),
    )
}

pub(super) fn delta_and_ratio<R: 'static>(
    tally: for<'c> fn(&'c R) -> &'c Tally,
) -> Columns<Analysis, R> {
    Columns::default()
        .micros_difference(
            "delta_us",
            "candidate − baseline of the total times",
            move |_: &Analysis, r: &R| tally(r).difference().into(),
        )
        .ratio(
            "ratio",
            "candidate / baseline of the total times; empty if either is zero",
            move |_, r| tally(r).ratio().into(),
        )
}

/// The column `presence`, which shows whether a row has events on both sides or on only one side.
pub(super) fn presence<R: 'static>(tally: for<'c> fn(&'c R) -> &'c Tally) -> Columns<Analysis, R> {
    Columns::default().word(
        "presence",
        "`both`, `trace1_only`, `trace2_only`",
        move |_: &Analysis, r: &R| tally(r).presence().label().into(),
    )
}
