//! Draws one step on each side as a bar to scale, split into busy time, idle time, and time attributed to changes.
//!
//! ```text
//! baseline    busy 6.55                      idle 2.92
//! candidate   busy 6.55           change +4.72      idle 1.75
//! without 1   step 10.88
//! ```
//! The candidate's bar shows the work that a change adds; the baseline's bar shows the work that a change removes. Each
//! of the remaining bars shows the candidate's step time with one change undone, as estimated by replay.

use crate::analysis::Analysis;
use crate::analysis::changes::Change;
use crate::program::Measure;
use crate::report::text::{Figures, Line};
use crate::side::Side;
use crate::trace::Nanos;

/// Maximum number of changes that are drawn as separate parts of a bar.
const CHANGES: usize = 3;

/// One step on each side, and the candidate's step with each of the leading changes undone.
pub(super) struct Scale {
    /// The kinds of time that the bars distinguish, such as `GPU busy and idle`.
    pub(super) parts: &'static str,
    pub(super) bars: [StepBar; 2],
    /// The candidate's step with each leading change undone; empty if no effects were estimated by replay.
    pub(super) without: Vec<StepBar>,
}

/// The bar for one side's step.
pub(super) struct StepBar {
    pub(super) name: String,
    /// The step time with its unit.
    pub(super) total: String,
    pub(super) parts: Vec<Part>,
}

pub(super) struct Part {
    /// `busy`, `idle`, or `change0` to `change2`.
    pub(super) style: String,
    /// Width of the part, in percent of the width of the longest bar.
    pub(super) width: String,
    /// A short text that is shown inside the bar.
    pub(super) label: String,
    pub(super) title: String,
}

impl Scale {
    /// Draws both steps; `lines` contains the changes in the order of the page.
    pub(super) fn of(analysis: &Analysis, figures: Figures, lines: &[Line]) -> Scale {
        let steps = Side::BOTH.map(|side| {
            let totals = analysis.wall().totals(side);
            let mean = |sum: Nanos| Nanos(sum.0 / totals.steps.max(1) as i64);
            [mean(totals.busy), mean(totals.idle)]
        });
        let leading: Vec<usize> =
            lines.iter().take(CHANGES).filter_map(|line| line.number).collect();
        let changes: Vec<&Change> =
            leading.iter().map(|&number| &analysis.changes().list()[number]).collect();
        let candidate = steps[1][0] + steps[1][1];
        let mut undone = without(analysis, &leading, candidate);
        // A change gets no bar if undoing it does not alter the displayed step time.
        let shown = |time: Nanos| figures.show(time.0 as f64);
        undone.retain(|&(_, time)| shown(time) != shown(candidate));
        let times = steps.iter().map(|[busy, idle]| *busy + *idle);
        let longest = times.chain(undone.iter().map(|&(_, time)| time)).max().unwrap_or_default();
        let width = |time: Nanos| format!("{:.3}", 100.0 * time.0 as f64 / longest.0.max(1) as f64);
        let total = |time: Nanos| format!("{} {}", figures.show(time.0 as f64), figures.unit);
        let (parts, words) = match analysis.ledger().measure() {
            Measure::GpuTime => ("GPU busy and idle", ["busy", "idle"]),
            Measure::HostSelfTime => ("time in ops and outside ops", ["in ops", "outside"]),
        };
        let bar = |side: Side| {
            let step = steps[side as usize];
            let mut parts = Vec::new();
            for (at, of) in [busy_of as fn(&Change) -> Nanos, idle_of].into_iter().enumerate() {
                let changed = changed(&changes, side, of, step[at]);
                let rest = step[at] - changed.iter().map(|&(_, time)| time).sum();
                let mut push = |style: String, time: Nanos, [label, title]: [String; 2]| {
                    let time_shown = figures.show(time.0 as f64);
                    parts.push(Part {
                        style,
                        width: width(time),
                        label: format!("{label} {time_shown}"),
                        title: format!("{title} {time_shown} {}", figures.unit),
                    });
                };
                let word = words[at].to_owned();
                push(if at == 0 { "busy" } else { "idle" }.to_owned(), rest, [word.clone(), word]);
                for (number, time) in changed {
                    let style = format!("{} change{number}", if at == 0 { "busy" } else { "idle" });
                    let name = format!("change {}", number + 1);
                    let title = format!("{name}, {}:", words[at]);
                    push(style, time, [name + ":", title]);
                }
            }
            StepBar {
                name: analysis.names()[side].to_owned(),
                total: total(step[0] + step[1]),
                parts,
            }
        };
        let without = undone.into_iter().map(|(at, time)| {
            let name = format!("without change {}", at + 1);
            let (label, title) = (String::new(), name.clone());
            let part = Part { style: "without".to_owned(), width: width(time), label, title };
            StepBar { name, total: total(time), parts: vec![part] }
        });
        Scale { parts, bars: Side::BOTH.map(bar), without: without.collect() }
    }
}

/// For each leading change: its position in `leading`, and the candidate's step time if the change is undone.
fn without(analysis: &Analysis, leading: &[usize], candidate: Nanos) -> Vec<(usize, Nanos)> {
    if leading.is_empty() {
        return Vec::new();
    }
    let Ok(effects) = analysis.effects() else { return Vec::new() };
    let undone =
        |(at, &number): (usize, &usize)| Some((at, candidate - effects.of_changes[number]?.last));
    leading.iter().enumerate().filter_map(undone).collect()
}

fn busy_of(change: &Change) -> Nanos {
    change.busy
}

fn idle_of(change: &Change) -> Nanos {
    change.cost - change.busy
}

/// The parts of a side's bar that represent the time of the leading changes on this side. Returns no parts if they do
/// not fit into `most`, the side's busy or idle time: the work of a change may overlap with other work, so their sum
/// can be larger.
fn changed(
    changes: &[&Change],
    side: Side,
    of: fn(&Change) -> Nanos,
    most: Nanos,
) -> Vec<(usize, Nanos)> {
    let sign = if side == Side::Baseline { -1 } else { 1 };
    let parts = changes.iter().enumerate().map(|(at, change)| (at, Nanos(sign * of(change).0)));
    let parts: Vec<(usize, Nanos)> = parts.filter(|&(_, time)| time > Nanos::ZERO).collect();
    let sum: Nanos = parts.iter().map(|&(_, time)| time).sum();
    if sum > most { Vec::new() } else { parts }
}
