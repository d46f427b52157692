//! Builds the page's overview, which is visible without scripts: the inputs, the totals, and the segments that make
//! up the totals.

use super::data::{per_compared_step, steps};
use crate::analysis::Analysis;
use crate::analysis::account::{Row, RowKind, Totals};
use crate::analysis::wall::WallTotals;
use crate::program::Measure;
use crate::report::lists::change;
use crate::report::text::{Unit, measure_words};
use crate::side::{PerSide, Side};
use crate::trace::{Nanos, Trace};

/// An input trace, with a title and facts about the trace.
pub(super) struct Input<'a> {
    pub(super) label: &'a str,
    pub(super) path: &'a str,
    pub(super) facts: Vec<(&'static str, String)>,
}

/// A line in the table of totals; the cells of undefined figures are empty.
pub(super) struct Line {
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    pub(super) times: [String; 2],
    /// The time on each side in µs, as in `summary.json`.
    pub(super) micros: [f64; 2],
    pub(super) nanos: [i64; 2],
    pub(super) difference: String,
    pub(super) ratio: String,
    pub(super) change: &'static str,
}

/// A segment of the total time: all rows of one kind. The segments add up to the total.
pub(super) struct Segment {
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    pub(super) bars: [Bar; 2],
}

pub(super) struct Bar {
    pub(super) time: String,
    pub(super) nanos: i64,
    /// Percentage of the side's total time.
    pub(super) share: String,
    /// Width of the segment's bar, in percent of the larger total.
    pub(super) width: String,
}

pub(super) fn input<'a>(analysis: &'a Analysis, side: Side) -> Input<'a> {
    let trace = analysis.tree(side).trace();
    let header = trace.header();
    let mut facts = vec![("device", devices(trace)), ("events", trace.total_events().to_string())];
    facts.push(("recorded with", header.options.join(", ")));
    let versions: Vec<String> =
        header.versions.iter().map(|(key, value)| format!("{key} {value}")).collect();
    facts.push(("versions", versions.join(", ")));
    if let Some(group) = &header.distributed {
        let number = |n: Option<i64>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
        let of = format!("{} of {}", number(group.rank), number(group.world_size));
        facts.push(("rank", format!("{of} {}", group.backend)));
    }
    facts.retain(|(_, text)| !text.trim().is_empty());
    Input { label: &analysis.names()[side], path: trace.source(), facts }
}

/// Device names with their counts: `NVIDIA H100 ×8`.
pub(super) fn devices(trace: &Trace) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for device in &trace.header().devices {
        let name = if device.name.is_empty() { "unnamed device" } else { device.name.as_str() };
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    let texts: Vec<String> = counts
        .into_iter()
        .map(|(name, count)| match count {
            1 => name.to_owned(),
            _ => format!("{name} ×{count}"),
        })
        .collect();
    texts.join(", ")
}

pub(super) fn totals(analysis: &Analysis, unit: Unit) -> Vec<Line> {
    let totals = &analysis.account().totals;
    let line = |key, title, pick: fn(&Totals) -> Nanos| {
        line(unit, key, title, PerSide::from_fn(|side| pick(&totals[side])))
    };
    // The page divides all totals by the same numbers of steps.
    let counts = steps(analysis);
    let of_step = |key, title, pick: fn(&WallTotals) -> Nanos| {
        let times = per_compared_step(analysis, pick);
        let time = |side: Side| Nanos(times[side as usize] * counts[side as usize] as i64);
        self::line(unit, key, title, PerSide::from_fn(time))
    };
    let measure = analysis.ledger().measure();
    let (busy, idle) = match measure {
        Measure::GpuTime => {
            ("GPU busy in the compared steps (events at the same time count once)", "GPU idle")
        }
        Measure::HostSelfTime => ("in ops in the compared steps", "outside ops"),
    };
    let mut lines = vec![
        line("time", measure_words(measure), |totals| totals.time),
        of_step("busy", busy, |totals| totals.busy),
        of_step("idle", idle, |totals| totals.idle),
        line("matched", "in rows that both sides have", |totals| totals.paired),
        line("unmatched", "in rows that only this side has", |totals| totals.one_sided),
        line("unlinked", "launch not in trace", |totals| totals.unlinked),
    ];
    lines.retain(|line| line.key == "time" || line.micros.iter().any(|&micros| micros > 0.0));
    lines
}

fn line(unit: Unit, key: &'static str, title: &'static str, time: PerSide<Nanos>) -> Line {
    let [one, two, difference, ratio] = unit.figures(time);
    Line {
        key,
        title,
        times: [one, two],
        micros: Side::BOTH.map(|side| time[side].as_micros()),
        nanos: Side::BOTH.map(|side| time[side].0),
        difference,
        ratio,
        change: change(time.difference()),
    }
}

/// The segments of the total that are not zero.
pub(super) fn segments(analysis: &Analysis, unit: Unit) -> Vec<Segment> {
    const PARTS: [(&str, &str); 6] = [
        ("common", "below ops in both traces"),
        ("replaced", "below calls that replace others"),
        ("renamed", "below renamed ops"),
        ("only", "in rows that only one side has"),
        ("launch", "launched outside any op"),
        ("unlinked", "launch not in trace"),
    ];
    let totals = analysis.account().totals.map(|totals| totals.time);
    PARTS
        .into_iter()
        .filter_map(|(key, title)| {
            let rows = analysis.rows().iter().filter(|row| part(row) == key);
            let time = rows.fold(PerSide::<Nanos>::default(), |sum, row| {
                PerSide::from_fn(|side| sum[side] + row.time[side])
            });
            let bars = Side::BOTH.map(|side| bar(unit, time[side], totals, side));
            (time != PerSide::default()).then_some(Segment { key, title, bars })
        })
        .collect()
}

fn part(row: &Row) -> &'static str {
    let one_sided = Side::BOTH.iter().any(|&side| row.events[side].is_empty());
    match row.kind {
        RowKind::Unlinked => "unlinked",
        RowKind::Launch => "launch",
        RowKind::Replaced => "replaced",
        RowKind::CommonOp | RowKind::RenamedOp | RowKind::OneSidedOp if one_sided => "only",
        RowKind::RenamedOp => "renamed",
        RowKind::CommonOp | RowKind::OneSidedOp => "common",
    }
}

fn bar(unit: Unit, time: Nanos, totals: PerSide<Nanos>, side: Side) -> Bar {
    Bar {
        time: unit.show(time),
        nanos: time.0,
        share: share(time, totals[side]),
        width: width(time, totals.baseline.max(totals.candidate)),
    }
}

/// `part` as a percentage of `whole` with one decimal; empty if `whole` is zero.
fn share(part: Nanos, whole: Nanos) -> String {
    if whole == Nanos::ZERO {
        return String::new();
    }
    format!("{:.1}%", 100.0 * part.0 as f64 / whole.0 as f64)
}

/// A time as a percentage of `most`, for use as a CSS width; `0` if `most` is zero.
pub(super) fn width(time: Nanos, most: Nanos) -> String {
    if most > Nanos::ZERO {
        format!("{:.3}", 100.0 * time.0.max(0) as f64 / most.0 as f64)
    } else {
        "0".to_owned()
    }
}
