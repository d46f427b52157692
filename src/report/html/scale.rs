//! Draws one step of both sides as bars to scale: busy and idle time, with the parts that belong to
//! changes.
//!
//! ```text
//! baseline    busy 6.55                      idle 2.92
//! candidate   busy 6.55           change +4.72      idle 1.75
//! ```
//! What a change adds is part of the candidate's bar; what it removes is part of the baseline's
//! bar.

use crate::analysis::{Analysis, Change};
use crate::program::Measure;
use crate::report::text::Figures;
use crate::side::Side;
use crate::trace::Nanos;

/// Maximum number of changes with a separate part.
const CHANGES: usize = 3;

pub(super) struct Scale {
    pub(super) bars: [StepBar; 2],
}

/// The bar for one step of one side.
pub(super) struct StepBar {
    pub(super) name: String,
    /// The step time with its unit.
    pub(super) total: String,
    pub(super) parts: Vec<Part>,
}

pub(super) struct Part {
    /// `busy`, `idle`, or `change0` to `change2`.
    pub(super) style: String,
    /// Width of the part, in percent of the longer step.
    pub(super) width: String,
    pub(super) label: String,
}

impl Scale {
    pub(super) fn of(analysis: &Analysis, figures: Figures) -> Scale {
        let steps = Side::BOTH.map(|side| {
            let totals = analysis.wall().totals(side);
            let mean = |sum: Nanos| Nanos(sum.0 / totals.steps.max(1) as i64);
            [mean(totals.busy), mean(totals.idle)]
        });
        let longest = steps.iter().map(|[busy, idle]| *busy + *idle).max().unwrap_or_default();
        let (busy, idle) = match analysis.measure() {
            Measure::GpuTime => ("GPU busy", "idle"),
            Measure::HostSelfTime => ("in ops", "between ops"),
        };
        let words = [busy, idle];
        let bar = |side: Side| {
            let step = steps[side as usize];
            let mut parts = Vec::new();
            for (at, of) in [busy_of as fn(&Change) -> Nanos, idle_of].into_iter().enumerate() {
                let changed = changed(analysis, side, of, step[at]);
                let rest = step[at] - changed.iter().map(|&(_, time)| time).sum();
                let mut push = |style: String, time: Nanos, label: String| {
                    let width = format!("{:.3}", 100.0 * time.0 as f64 / longest.0.max(1) as f64);
                    parts.push(Part {
                        style,
                        width,
                        label: format!("{label} {}", figures.show(time.0 as f64)),
                    });
                };
                push(if at == 0 { "busy" } else { "idle" }.to_owned(), rest, words[at].to_owned());
                for (number, time) in changed {
                    let style = format!("{} change{number}", if at == 0 { "busy" } else { "idle" });
                    push(style, time, format!("change {}, {}", number + 1, words[at]));
                }
            }
            StepBar {
                name: analysis.side_name(side).to_owned(),
                total: format!("{} {}", figures.show((step[0] + step[1]).0 as f64), figures.unit),
                parts,
            }
        };
        Scale { bars: Side::BOTH.map(bar) }
    }
}

fn busy_of(change: &Change) -> Nanos {
    change.busy
}

fn idle_of(change: &Change) -> Nanos {
    change.cost - change.busy
}

/// The parts of the leading changes that only this side has. Empty if they exceed `most`, because
/// the work of a change may overlap other GPU work.
fn changed(
    analysis: &Analysis,
    side: Side,
    of: fn(&Change) -> Nanos,
    most: Nanos,
) -> Vec<(usize, Nanos)> {
    let sign = if side == Side::Baseline { -1 } else { 1 };
    let leading = analysis.changes().list().iter().take(CHANGES).enumerate();
    let parts = leading.map(|(at, change)| (at, Nanos(sign * of(change).0)));
    let parts: Vec<(usize, Nanos)> = parts.filter(|&(_, time)| time > Nanos::ZERO).collect();
    let sum: Nanos = parts.iter().map(|&(_, time)| time).sum();
    if sum > most { Vec::new() } else { parts }
}
