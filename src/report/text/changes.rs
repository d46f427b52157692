//! [`Analysis`] → what changed, what each change costs, and what the same program costs at another speed.

use super::answer::Figures;
use crate::analysis::replay::Effect;
use crate::analysis::{Analysis, Certainty, Change, ChangeKind, Changes};
use crate::diff::MergedId;
use crate::escape::one_line;
use crate::program::Measure;
use crate::side::PerSide;
use crate::trace::Nanos;

/// Maximum number of changes that are shown.
const SHOWN: usize = 6;

/// What a person should read about the changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeLines {
    /// Whether the programs are identical, have little in common, or do nothing; `None` otherwise.
    pub headline: Option<String>,
    /// The most expensive changes.
    pub changes: Vec<ChangeLine>,
    /// The other changes: `and 3 smaller changes, together +0.10 ms`.
    pub rest: Option<String>,
    /// The same program at another speed, and what is left.
    pub same_program: Vec<ChangeLine>,
}

/// A part of the difference of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeLine {
    /// Candidate − baseline per step, with sign and unit.
    pub difference: String,
    /// Candidate − baseline per step.
    pub time: Nanos,
    /// What changed.
    pub sentence: String,
    /// The usual cause, and whether the change was inferred; may be empty.
    pub detail: String,
    /// The first node of the merged tree with this change; `None` if it has no call.
    pub node: Option<MergedId>,
}

/// The changes and the remaining parts. Together they add up to the difference of a step.
pub fn change_lines(analysis: &Analysis) -> ChangeLines {
    let figures = Figures::of(PerSide::from_fn(|side| analysis.wall().totals(side)));
    let changes = analysis.changes();
    let shown = &changes.list()[..changes.list().len().min(SHOWN)];
    let others = &changes.list()[shown.len()..];
    let rest: Nanos = others.iter().map(|change| change.cost).sum();
    ChangeLines {
        headline: headline(analysis),
        changes: shown
            .iter()
            .zip(0..)
            .map(|(change, at)| line(figures, change, analysis.effect_of_change(at)))
            .collect(),
        rest: (!others.is_empty()).then(|| {
            let noun = if others.len() == 1 { "change" } else { "changes" };
            let sum = figures.signed(rest.0 as f64);
            format!("and {} smaller {noun}, together {sum}", others.len())
        }),
        same_program: same_program(analysis, figures),
    }
}

/// Below this share of matched ops, the list of changes is not worth reading.
const LITTLE_IN_COMMON: f64 = 0.5;

fn headline(analysis: &Analysis) -> Option<String> {
    let changes = analysis.changes();
    if !changes.has_work() {
        return Some("Nothing was compared: the windows have no op and no GPU event".to_owned());
    }
    if changes.is_identical() {
        return Some(identical(analysis));
    }
    let is_rebuilt =
        |change: &Change| matches!(change.kind, ChangeKind::Compilation | ChangeKind::Graphs);
    let share = changes.matched_share();
    (share < LITTLE_IN_COMMON && !changes.list().iter().any(is_rebuilt)).then(|| {
        format!("These are different programs: {:.0}% of the ops have a counterpart", 100.0 * share)
    })
}

fn identical(analysis: &Analysis) -> String {
    let what = match (analysis.measure(), analysis.changes().has_arguments()) {
        (Measure::GpuTime, true) => "every call, argument and kernel matches",
        (Measure::GpuTime, false) => "every call and kernel matches (arguments were not recorded)",
        (Measure::HostSelfTime, true) => "every call and argument matches",
        (Measure::HostSelfTime, false) => "every call matches (arguments were not recorded)",
    };
    format!("The programs are identical: {what}")
}

/// Share of the cost by which an effect must differ to be mentioned.
const OTHER_EFFECT: f64 = 0.1;

/// `effect by replay: +2.65 ms of the step`, if that is not what is attributed to the change. GPU time that
/// overlaps with host time costs nothing, and work that delays other work costs more.
fn effect_words(figures: Figures, cost: Nanos, effect: Effect) -> String {
    let [alone, last] = [effect.alone, effect.last].map(|time| figures.signed(time.0 as f64));
    let far = |time: Nanos| (time - cost).abs().0 as f64 > OTHER_EFFECT * cost.0.abs() as f64;
    let is_other = (far(effect.alone) && alone != figures.signed(cost.0 as f64))
        || (far(effect.last) && last != figures.signed(cost.0 as f64));
    match is_other {
        false => String::new(),
        true if alone == last => format!("effect by replay: {alone} of the step"),
        true => {
            format!("effect by replay: {alone} of the baseline's step, {last} of the candidate's")
        }
    }
}

fn line(figures: Figures, change: &Change, effect: Option<Effect>) -> ChangeLine {
    let usual = match change.kind.usual() {
        "" => String::new(),
        usual => format!("usually {usual}"),
    };
    let likely = match change.certainty {
        Certainty::Certain => "",
        Certainty::Likely => "inferred from kernel names",
    };
    // Sentences about calls at one position already name it.
    let place = if change.sentence.contains(&change.place) { "" } else { change.place.as_str() };
    let first = if place.is_empty() { String::new() } else { format!("first {place}") };
    let effect = effect.map_or_else(String::new, |of| effect_words(figures, change.cost, of));
    let parts = [effect.as_str(), first.as_str(), usual.as_str(), likely];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    ChangeLine {
        difference: figures.signed(change.cost.0 as f64),
        time: change.cost,
        sentence: one_line(&change.sentence).into_owned(),
        detail: one_line(&parts.join("; ")).into_owned(),
        node: change.nodes.first().copied(),
    }
}

/// `The GPU waits more for the host between calls, most of it before aten::slice`.
fn between_calls(changes: &Changes, device: &str) -> String {
    let more = if changes.between_calls() > Nanos::ZERO { "more" } else { "less" };
    let most = changes.between_calls_before().map(|op| format!(", most of it before {op}"));
    let most = most.unwrap_or_default();
    format!("The {device} waits {more} for the host between recorded calls{most}")
}

/// The parts without a change, unless they are too small to show.
fn same_program(analysis: &Analysis, figures: Figures) -> Vec<ChangeLine> {
    let changes = analysis.changes();
    let is_gpu = analysis.measure() == Measure::GpuTime;
    let ratio = changes
        .kernel_ratio()
        .map_or_else(String::new, |ratio| format!("{ratio:.2} times as long"));
    let kernels = if is_gpu { "kernels" } else { "ops" };
    let more = |time: Nanos| if time > Nanos::ZERO { "more" } else { "less" };
    let device = if is_gpu { "GPU" } else { "step" };
    let parts = [
        (changes.kernel_speed(), format!("The same {kernels} take {ratio}")),
        (
            changes.host_speed(),
            format!(
                "The {device} waits {} for the host in the same calls: noise, or another machine",
                more(changes.host_speed())
            ),
        ),
        (changes.between_calls(), between_calls(changes, device)),
        (
            changes.overlap(),
            format!(
                "The {device} waits {} where the host is not {}: host and device overlap {}",
                more(changes.overlap()),
                if changes.overlap() > Nanos::ZERO { "slower" } else { "faster" },
                if changes.overlap() > Nanos::ZERO { "less" } else { "more" },
            ),
        ),
        (changes.unexplained(), "Work without a known call".to_owned()),
    ];
    let shown = parts.into_iter().map(|(time, sentence)| ChangeLine {
        difference: figures.signed(time.0 as f64),
        time,
        sentence,
        detail: String::new(),
        node: None,
    });
    shown.filter(|line| !line.difference.starts_with('±')).collect()
}
