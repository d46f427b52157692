//! Writes the headline, the evidence for it, and the sentence about the leading change.

use super::Line;
use super::layers::Layers;
use crate::analysis::changes::{Change, ChangeKind};
use crate::analysis::steps::WallBasis;
use crate::analysis::verdict::{Repeats, Verdict};
use crate::analysis::wall::WallTotals;
use crate::analysis::{Analysis, Figures};
use crate::escape::one_line;
use crate::program::{Measure, counted};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// A relative difference in step time below this threshold is reported as unchanged.
const UNCHANGED: f64 = 0.005;
/// If the fraction of matched ops is below this value, the list of changes is not useful.
const LITTLE_IN_COMMON: f64 = 0.5;

/// The mean wall time of a compared step on each side, in ns.
fn step_times(analysis: &Analysis) -> PerSide<f64> {
    PerSide::from_fn(|side| {
        let totals = analysis.wall().totals(side);
        totals.own().0 as f64 / totals.steps.max(1) as f64
    })
}

/// `37% slower: 9.48 → 13.03 ms per step`.
pub(super) fn headline(analysis: &Analysis, figures: Figures) -> String {
    let time = step_times(analysis);
    let per = match analysis.compared().basis() {
        WallBasis::Steps => "per step",
        WallBasis::Events => "for the whole recording",
    };
    let is_noise = analysis.judged().step.is_some_and(|step| step.verdict == Verdict::WithinNoise);
    let words = if is_noise {
        format!("No significant difference ({})", compared(time))
    } else {
        compared(time)
    };
    let is_identical = analysis.changes().is_identical();
    let what = identical_ones(analysis);
    let same = match (is_identical, is_noise || is_unchanged(time)) {
        (true, true) => format!(", and the {what} are identical"),
        (true, false) => format!(", although the {what} are identical"),
        (false, _) => String::new(),
    };
    let limit =
        if is_identical { as_far(analysis.changes().identity().limit().as_deref()) } else { "" };
    let memory = if is_noise || is_unchanged(time) { memory(analysis) } else { String::new() };
    format!("{words}: {} {per}{same}{limit}{memory}", figures.change(time))
}

/// How live memory grows, such as `; live memory on gpu 0 grows by 275.6 MB per step`; empty if both sides keep the same.
fn memory(analysis: &Analysis) -> String {
    let grows = analysis.changes().memory_growth();
    grows.map_or_else(String::new, |grows| format!("; live memory {}", one_line(grows)))
}

fn is_unchanged(time: PerSide<f64>) -> bool {
    (time.candidate - time.baseline).abs() <= UNCHANGED * time.baseline
}

/// A relative change such as `37% slower`, `2.7 times as long`, `12% faster`, `19 times as fast`,
/// `unchanged`.
fn compared(time: PerSide<f64>) -> String {
    let ratio = time.candidate / time.baseline;
    let percent = |share: f64| match 100.0 * share {
        percent if percent < 9.95 => format!("{percent:.1}%"),
        percent => format!("{percent:.0}%"),
    };
    let factor = |factor: f64| match factor {
        10.0.. => format!("{factor:.0}"),
        _ => format!("{factor:.1}"),
    };
    match ratio {
        _ if is_unchanged(time) => "Unchanged".to_owned(),
        _ if time.baseline <= 0.0 || time.candidate <= 0.0 => "Not comparable".to_owned(),
        2.0.. => format!("{} times as long", factor(ratio)),
        1.0.. => format!("{} slower", percent(ratio - 1.0)),
        0.5.. => format!("{} faster", percent(1.0 - ratio)),
        _ => format!("{} times as fast", factor(1.0 / ratio)),
    }
}

/// Says how the busy time and the idle time changed. For example: `GPU busy +4.72 ms, GPU idle −1.17 ms; the device was
/// idle 31 → 13% of the step`.
pub(super) fn split(analysis: &Analysis, figures: Figures) -> String {
    let totals = PerSide::from_fn(|side| analysis.wall().totals(side));
    let what = match analysis.compared().basis() {
        WallBasis::Steps => "step",
        WallBasis::Events => "window",
    };
    let (busy, idle, device) = match analysis.ledger().measure() {
        Measure::GpuTime => ("GPU busy", "GPU idle", "the device was idle"),
        Measure::HostSelfTime => ("in ops", "outside ops", "no op ran for"),
    };
    let part = |pick: fn(&WallTotals) -> Nanos| {
        let time = totals.map(|of| pick(&of).0 as f64 / of.steps.max(1) as f64);
        figures.signed(time.candidate - time.baseline)
    };
    let mut text = format!("{busy} {}, {idle} {}", part(|of| of.busy), part(|of| of.idle));
    let shares = totals.map(|of| of.idle_share().map(|share| format!("{:.0}", 100.0 * share)));
    if let PerSide { baseline: Some(a), candidate: Some(b) } = shares {
        text += &if a == b {
            format!("; {device} {a}% of the {what}")
        } else {
            format!("; {device} {a} → {b}% of the {what}")
        };
    }
    text
}

/// Says whether the difference is significant, and how large the noise is; empty if a side has a single run, which the
/// description of the inputs says.
pub(super) fn confidence(analysis: &Analysis, figures: Figures) -> String {
    let counts = PerSide::from_fn(|side| analysis.runs()[side].len() + 1);
    if counts.baseline.min(counts.candidate) == 1 {
        return String::new();
    }
    let spread = |side: Side| match analysis.run_times().noise(side).and_then(|noise| noise.wall) {
        Some(wall) => figures.with_unit(wall.spread_us * 1e3),
        None => "unknown (some runs have no steps)".to_owned(),
    };
    let runs = if counts.baseline == counts.candidate {
        format!("{} runs each", counts.baseline)
    } else {
        format!("{} and {} runs", counts.baseline, counts.candidate)
    };
    let [a, b] = Side::BOTH.map(spread);
    let verdict = match (analysis.judged().repeats, analysis.judged().step) {
        (Repeats::OtherOptions, _) => "; not tested: recorded with different options".to_owned(),
        (_, Some(step)) => format!("; {}", step.words()),
        (_, None) => String::new(),
    };
    format!("medians of {runs}, spread {a} and {b}{verdict}")
}

/// A remark that the programs are identical, have little in common, or run nothing at all; `None` in all other cases.
pub(super) fn state(analysis: &Analysis) -> Option<String> {
    let changes = analysis.changes();
    if !changes.has_work() {
        return Some(
            "Nothing was compared: the compared windows contain no ops and no GPU events"
                .to_owned(),
        );
    }
    if changes.is_identical() {
        return Some(identical(analysis));
    }
    if let Some(remainder) = changes.remainder() {
        return Some(format!("The programs cannot be called identical: {remainder}"));
    }
    let is_rebuilt =
        |change: &Change| matches!(change.kind, ChangeKind::Compilation | ChangeKind::Graphs);
    let share = changes.matched_share();
    (share < LITTLE_IN_COMMON && !changes.list().iter().any(is_rebuilt)).then(|| {
        format!(
            "These are different programs: only {:.0}% of the ops have a counterpart",
            100.0 * share
        )
    })
}

fn identical(analysis: &Analysis) -> String {
    let what = match (analysis.ledger().measure(), analysis.changes().has_arguments()) {
        (Measure::GpuTime, true) => "every call, argument and kernel matches",
        (Measure::GpuTime, false) => "every call and kernel matches",
        (Measure::HostSelfTime, true) => "every call and argument matches",
        (Measure::HostSelfTime, false) => "every call matches",
    };
    let of = identical_ones(analysis);
    match analysis.changes().identity().limit() {
        None => format!("The {of} are identical: {what}"),
        Some(limit) => format!("The {of} are identical as far as recorded: {what}; {limit}"),
    }
}

/// What is identical: only the median runs are compared call by call.
fn identical_ones(analysis: &Analysis) -> &'static str {
    let varies = |side: Side| {
        let noise = analysis.run_times().noise(side);
        noise.is_some_and(|noise| noise.variable > 0)
    };
    if Side::BOTH.into_iter().any(varies) { "median runs" } else { "programs" }
}

/// Limits the statement that the programs are identical.
fn as_far(limit: Option<&str>) -> &'static str {
    if limit.is_some() { " as far as recorded" } else { "" }
}

/// The leading change with its cost, such as `Convolutions run in FP32 instead of TF32 at 22 ops per step: +2.65 ms`. If
/// the cost has the other sign than the difference, the largest line follows.
pub(super) fn leading(analysis: &Analysis, layers: &Layers) -> String {
    if let Some(state) = state(analysis) {
        return state;
    }
    let Some(line) = layers.certain.lines.first() else {
        return "No change in the program was found".to_owned();
    };
    let difference = analysis.changes().difference().0.signum();
    let all = [&layers.certain, &layers.other_speed, &layers.within_noise];
    let same_sign = all
        .into_iter()
        .flat_map(|layer| &layer.lines)
        .filter(|other| other.cost.0.signum() == difference && !other.shown.is_empty());
    let largest = same_sign.max_by_key(|line| line.cost.0.abs());
    let is_opposite = difference != 0 && line.cost.0.signum() == -difference;
    let own = with_cost(analysis, line);
    match largest.filter(|_| is_opposite) {
        Some(largest) => format!("{own}; largest: {}", with_cost(analysis, largest)),
        None => own,
    }
}

fn with_cost(analysis: &Analysis, line: &Line) -> String {
    match analysis.compared().basis() {
        _ if line.shown.is_empty() => line.sentence.clone(),
        WallBasis::Steps => format!("{}: {} per step", line.sentence, line.shown),
        WallBasis::Events => format!("{}: {}", line.sentence, line.shown),
    }
}

/// The display names of the sides, or the file names if the sides have no display names of their own.
pub(super) fn names(analysis: &Analysis) -> PerSide<String> {
    let names = PerSide::from_fn(|side| analysis.names()[side].to_owned());
    if Side::BOTH.iter().any(|&side| names[side] != side.word()) {
        return names;
    }
    let paths = PerSide::from_fn(|side| analysis.tree(side).trace().source());
    let files = paths.map(file_name);
    if files.baseline == files.candidate || files.baseline.is_empty() {
        names
    } else {
        files.map(|file| one_line(file).into_owned())
    }
}

/// A file name without trace file extensions.
fn file_name(path: &str) -> &str {
    let mut name = path.rsplit('/').next().unwrap_or(path);
    let endings = [".gz", ".zst", ".json", ".pt.trace", ".trace"];
    while let Some(rest) = endings.iter().find_map(|ending| name.strip_suffix(ending)) {
        name = rest;
    }
    name
}

/// `NVIDIA H100 80GB HBM3, 2 steps, one run per side: not tested`.
pub(super) fn inputs(analysis: &Analysis) -> String {
    let devices = PerSide::from_fn(|side| {
        let devices = &analysis.tree(side).trace().header().devices;
        devices.first().map(|device| one_line(&device.name).into_owned()).unwrap_or_default()
    });
    let device = match (devices.baseline.as_str(), devices.candidate.as_str()) {
        ("", "") => String::new(),
        (a, b) if a == b => a.to_owned(),
        ("", b) => format!("unknown device → {b}"),
        (a, "") => format!("{a} → unknown device"),
        (a, b) => format!("{a} → {b}"),
    };
    let numbers = |counts: PerSide<u64>, noun: &str| {
        if counts.baseline == counts.candidate {
            counted(counts.baseline, noun)
        } else {
            format!("{} → {}", counts.baseline, counted(counts.candidate, noun))
        }
    };
    let steps = PerSide::from_fn(|side| analysis.diff().steps(side).len() as u64);
    let steps =
        if steps == PerSide::default() { "no steps".to_owned() } else { numbers(steps, "step") };
    let runs = PerSide::from_fn(|side| analysis.runs()[side].len() as u64 + 1);
    let runs = match (runs.baseline, runs.candidate) {
        (1, 1) => "one run per side: not tested".to_owned(),
        (one, other) if one == other => format!("{one} runs per side"),
        (1, _) | (_, 1) => numbers(runs, "run") + ": not tested",
        _ => numbers(runs, "run"),
    };
    let parts = [device, steps, runs];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::compared;
    use crate::side::PerSide;

    #[test]
    fn ratios_are_worded_as_people_say_them() {
        let words = |a: f64, b: f64| compared(PerSide::new(a, b));
        assert_eq!(words(10.0, 13.7), "37% slower");
        assert_eq!(words(10.0, 10.36), "3.6% slower");
        assert_eq!(words(10.0, 27.0), "2.7 times as long");
        assert_eq!(words(10.0, 8.8), "12% faster");
        assert_eq!(words(11.48, 0.59), "19 times as fast");
        assert_eq!(words(10.0, 10.04), "Unchanged");
        assert_eq!(words(0.0, 0.0), "Unchanged");
        assert_eq!(words(0.0, 1.0), "Not comparable");
    }
}
