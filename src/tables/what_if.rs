//! The `whatif` table shows the results of replays: the effect of each change on the step time, and lower bounds of the
//! step time. The `critical_path` table shows what determines when a step ends.

use super::table::{ColumnType, Columns, Table};
use crate::analysis::Analysis;
use crate::analysis::replay::{Effect, Limit, PathPart, PathRange, Reason};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use std::sync::Arc;

#[derive(Clone)]
struct What {
    what: &'static str,
    change: Option<usize>,
    sentence: String,
    effect: Option<Effect>,
    step: PerSide<Option<Nanos>>,
}

const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::default()
        .word(
            "what",
            "what the row shows. `change`: the effect of one change; `all_changes`: all changes together; \
             `host_times`: different host times of matched calls; `kernel_times`: different times of the same \
             kernels at matched calls; `recorded`, `replayed`: the step time as recorded and as replayed; \
             `no_effect`: why there are no effects; all other values: lower bounds of the step time",
            |_: &Analysis, r: &What| r.what.into(),
        )
        .whole("change", "number of the change, as in bill.csv", |_, r| r.change.into())
        .text("sentence", "what changed, what a bound assumes, or why there is no effect", |_, r| {
            r.sentence.as_str().into()
        })
        .micros_difference(
            "effect_alone_us",
            "step time of the baseline with this part taken from the candidate, minus step time of the baseline",
            |_, r| r.effect.map(|effect| effect.alone).into(),
        )
        .micros_difference(
            "effect_last_us",
            "step time of the candidate, minus step time of the candidate with this part taken from the baseline",
            |_, r| r.effect.map(|effect| effect.last).into(),
        )
        .sides("step_us_*", TIME, "step time, or length of the window if the side has no steps", |_, r, side| {
            r.step[side].into()
        })
        .table(
            (name, "one row per change, then rows for all changes together, for unchanged work that runs at a \
                    different speed, and for lower bounds of the step time"),
            analysis,
            |analysis| Box::new(rows(analysis).into_iter()),
        )
}

fn rows(analysis: &Analysis) -> Vec<What> {
    let (effects, bounds) = match (analysis.effects(), analysis.bounds()) {
        (Ok(effects), Ok(bounds)) => (effects, bounds),
        (Err(reason), _) | (_, &Err(reason)) => return vec![no_effect(analysis, reason)],
    };
    let row = |what, sentence: &str, effect| What {
        what,
        change: None,
        sentence: sentence.to_owned(),
        effect,
        step: PerSide::default(),
    };
    let changes = analysis.changes().list().iter().zip(&effects.of_changes).enumerate();
    let mut rows: Vec<What> = changes
        .map(|(number, (change, effect))| What {
            change: Some(number),
            ..row("change", &change.sentence, *effect)
        })
        .collect();
    if !rows.is_empty() {
        rows.push(row("all_changes", "all changes together", Some(effects.joint)));
    }
    let host = "different host times of matched calls: noise, or a different host";
    rows.push(row("host_times", host, Some(bounds.host)));
    let kernels = "different times of the same kernels at matched calls: noise, clocks, or a different device";
    rows.push(row("kernel_times", kernels, Some(bounds.kernels)));
    let step = |what, sentence: &str, step: PerSide<Nanos>| What {
        step: step.map(Some),
        ..row(what, sentence, None)
    };
    rows.push(step("recorded", "as recorded", bounds.checks.map(|check| check.recorded)));
    rows.push(step("replayed", "as replayed", bounds.checks.map(|check| check.replayed)));
    let limits = Limit::ALL.into_iter().zip(bounds.limits);
    rows.extend(limits.map(|(limit, time)| step(limit.label(), limit.meaning(), time)));
    rows
}

fn no_effect(analysis: &Analysis, (side, reason): (Option<Side>, Reason)) -> What {
    let sentence = match side {
        Some(side) => format!("{}: {reason}", analysis.names()[side]),
        None => reason.to_string(),
    };
    What { what: "no_effect", change: None, sentence, effect: None, step: PerSide::default() }
}

/// A row of `critical_path`: the name of a part of the path, the time of this part on each side, and the smallest and
/// largest time of this part on each side in several replays. The last row is the part of the recorded step time that
/// the replay does not reproduce.
type PathRow = (&'static str, PerSide<Nanos>, PerSide<Option<(Nanos, Nanos)>>);

pub(super) fn critical_path(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::default()
        .word(
            "part",
            "part of the critical path. `host`: host time outside of runtime calls; `calls`: runtime calls, \
             excluding waits; `launch`: from a launch until an idle device starts the work; `kernel`: kernels, \
             copies and memsets; `gap`: between two GPU events; `sync`: from the end of the awaited work until the \
             waiting call returns; `before`: work launched before the window; `not_reproduced`: recorded minus \
             replayed step time",
            |_: &Analysis, r: &PathRow| r.0.into(),
        )
        .sides("path_us_*", TIME, "time on the critical path per step", |_, r, side| r.1[side].into())
        .micros_difference(
            "diff_us",
            "candidate − baseline; all rows add up to the difference of the recorded step times",
            |_, r| r.1.difference().into(),
        )
        .sides(
            "least_us_*",
            TIME,
            "the smallest time in three replays: with GPU work 2% faster, as recorded, and 2% slower. `least` and \
             `most` differ if several chains of work are almost equally long",
            |_, r, side| r.2[side].map(|range| range.0).into(),
        )
        .sides(
            "most_us_*",
            TIME,
            "the largest time in three replays: with GPU work 2% faster, as recorded, and 2% slower",
            |_, r, side| r.2[side].map(|range| range.1).into(),
        )
        .table(
            (name, "one row per part of a step's critical path; no rows if the traces cannot be replayed"),
            analysis,
            |analysis| Box::new(path_rows(analysis).into_iter()),
        )
}

fn path_rows(analysis: &Analysis) -> Vec<PathRow> {
    let Ok(bounds) = analysis.bounds() else { return Vec::new() };
    let paths = bounds.paths;
    let part = |(at, part): (usize, PathPart)| -> PathRow {
        let range = |path: PathRange| Some((path.least[at], path.most[at]));
        (part.label(), paths.map(|path| path.time[at]), paths.map(range))
    };
    let mut rows: Vec<PathRow> = PathPart::ALL.into_iter().enumerate().map(part).collect();
    let sum = |side: Side| paths[side].time.iter().copied().sum::<Nanos>();
    let rest = PerSide::from_fn(|side| bounds.checks[side].recorded - sum(side));
    rows.push(("not_reproduced", rest, PerSide::default()));
    rows
}
