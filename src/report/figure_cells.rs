//! The figures of a group on both sides → the cells that steps.csv and phases.csv share.

use super::csv_table::{optional, optional_ratio};
use crate::analysis::{Figures, Judgement};
use crate::side::{PerSide, Presence, Side};
use crate::trace::Nanos;

/// Columns of [`cells`]: for each figure both sides and candidate − baseline.
pub(super) const COLUMNS: [&str; 36] = [
    "presence",
    "kernel_us_trace1",
    "kernel_us_trace2",
    "kernel_us_delta",
    "kernel_us_ratio",
    "events_trace1",
    "events_trace2",
    "launches_trace1",
    "launches_trace2",
    "launches_delta",
    "wall_us_trace1",
    "wall_us_trace2",
    "wall_us_delta",
    "busy_us_trace1",
    "busy_us_trace2",
    "busy_us_delta",
    "idle_us_trace1",
    "idle_us_trace2",
    "idle_us_delta",
    "copies_us_trace1",
    "copies_us_trace2",
    "copies_us_delta",
    "communication_us_trace1",
    "communication_us_trace2",
    "communication_us_delta",
    "exposed_communication_us_trace1",
    "exposed_communication_us_trace2",
    "exposed_communication_us_delta",
    "kernel_us_per_step_trace1",
    "kernel_us_per_step_trace2",
    "kernel_us_per_step_delta",
    "tokens_trace1",
    "tokens_trace2",
    "kernel_us_per_token_trace1",
    "kernel_us_per_token_trace2",
    "kernel_us_per_token_delta",
];

/// The cells of one row, in the order of [`COLUMNS`].
pub(super) fn cells(figures: &PerSide<Figures>) -> Vec<String> {
    let mut cells = vec![Presence::of(figures.map(|f| f.events)).label().to_owned()];
    cells.extend(times(figures, |f| f.time));
    cells.push(optional_ratio(figures.map(|f| f.time).ratio()));
    cells.extend(Side::BOTH.map(|side| figures[side].events.to_string()));
    cells.extend(Side::BOTH.map(|side| figures[side].launches.to_string()));
    let launches = figures.map(|f| f.launches as i64);
    cells.push((launches.candidate - launches.baseline).to_string());
    let picks: [fn(&Figures) -> Nanos; 6] = [
        Figures::wall,
        |f| f.busy,
        |f| f.idle,
        |f| f.copies,
        |f| f.communication,
        |f| f.exposed_communication,
    ];
    cells.extend(picks.iter().flat_map(|&pick| times(figures, pick)));
    cells.extend(rates(figures, Figures::time_per_step_us));
    cells.extend(Side::BOTH.map(|side| optional(figures[side].tokens)));
    cells.extend(rates(figures, Figures::time_per_token_us));
    cells
}

fn times(figures: &PerSide<Figures>, pick: fn(&Figures) -> Nanos) -> [String; 3] {
    let PerSide { baseline, candidate } = figures.map(|f| pick(&f));
    [baseline, candidate, candidate - baseline].map(|time| time.to_string())
}

fn rates(figures: &PerSide<Figures>, pick: fn(&Figures) -> Option<f64>) -> [String; 3] {
    let PerSide { baseline, candidate } = figures.map(|f| pick(&f));
    let delta = baseline.zip(candidate).map(|(a, b)| b - a);
    [baseline, candidate, delta].map(|rate| rate.map_or_else(String::new, |r| format!("{r:.3}")))
}

/// The cells `verdict`, `p` and `q`.
pub(super) fn verdict_cells(judgement: &Judgement) -> [String; 3] {
    let chance = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.4}"));
    [judgement.verdict.label().to_owned(), chance(judgement.p), chance(judgement.q)]
}
