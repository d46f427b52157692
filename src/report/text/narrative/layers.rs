//! Divides the step-time difference into three layers: changes in the program, unexplained parts
//! that exceed the noise, and unexplained parts that are within the noise or were not tested.

use super::super::step_figures::Figures;
use super::{Layer, Line};
use crate::analysis::Analysis;
use crate::analysis::changes::{Change, ChangeKind, Changes};
use crate::analysis::porting::Differs;
use crate::analysis::replay::{Effect, Effects};
use crate::analysis::runs::has_runs;
use crate::analysis::verdict::Repeats;
use crate::escape::one_line;
use crate::order::Order as _;
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallKind;
use std::cmp::Reverse;

/// A relative difference in the time of the same kernels is mentioned only if it reaches this
/// threshold.
const SAME_SPEED: f64 = 0.03;

/// The three layers into which a comparison's step-time difference is divided.
pub(super) struct Layers {
    pub(super) certain: Layer,
    pub(super) other_speed: Layer,
    pub(super) within_noise: Layer,
    /// Why no effects could be estimated by replay; `None` if effects were estimated, or if there
    /// are no changes.
    pub(super) no_effects: Option<String>,
}

pub(super) fn of(analysis: &Analysis, figures: Figures) -> Layers {
    let changes = analysis.changes().list();
    let effects = if changes.is_empty() { None } else { Some(analysis.effects()) };
    let no_effects = effects.and_then(Result::err).map(|(side, reason)| {
        let of = side.map_or(String::new(), |side| format!("{}: ", analysis.names()[side]));
        format!("effects by replay are unknown: {of}{reason}")
    });
    let effects = effects.and_then(Result::ok);
    let mut certain: Vec<Line> = changes
        .iter()
        .enumerate()
        .map(|(at, change)| {
            of_change(analysis, figures, at, change, effects.and_then(|of| of.of_changes[at]))
        })
        .collect();
    // Another library explains more than its own line, so it comes first. Another device does not explain what was
    // changed.
    let is_port = Differs::of(analysis.comparability()) == Some(Differs::Devices);
    let is_environment = |line: &Line| {
        let kind = line.number.map(|at| changes[at].kind);
        !is_port && kind == Some(ChangeKind::Environment)
    };
    certain.order_by_key(|line| (!is_environment(line), Reverse(line.cost.abs()), line.number));
    certain.extend(effects.and_then(|effects| together(figures, effects)));
    let rest = match effects {
        Some(effects) => {
            let wait = wait(analysis, figures);
            let left = left_of_the_step(analysis, figures, effects, wait.as_ref());
            wait.into_iter().chain(left).collect()
        }
        None => same_program(analysis, figures),
    };
    let noise = Noise::of(analysis, figures);
    let (beyond, within) = rest.into_iter().partition(|line: &Line| noise.is_beyond(line));
    Layers {
        certain: Layer { title: "Changed for certain".to_owned(), lines: certain },
        other_speed: Layer { title: noise.beyond, lines: beyond },
        within_noise: Layer { title: noise.within, lines: within },
        no_effects,
    }
}

/// The run-to-run noise. Each unexplained part of the difference either exceeds the noise or is
/// within it.
struct Noise {
    /// A part above this threshold exceeds the noise. If the noise is unknown or the step-time
    /// difference is not significant, the value is `None`, and no part exceeds the noise.
    spread: Option<Nanos>,
    /// Titles of the layers for parts that exceed the noise and for parts within the noise.
    beyond: String,
    within: String,
}

impl Noise {
    fn of(analysis: &Analysis, figures: Figures) -> Noise {
        let is_other = |change: &Change| change.kind == ChangeKind::Environment;
        if analysis.changes().list().iter().any(is_other) {
            // A different device or library is already a sufficient explanation for a different speed.
            let beyond = "Same program, different speed: the environment differs".to_owned();
            return Noise { spread: Some(Nanos::ZERO), beyond, within: String::new() };
        }
        let unknown = |why: &str| Noise {
            spread: None,
            beyond: String::new(),
            within: format!("Same program, different speed: not tested ({why})"),
        };
        match analysis.judged().repeats {
            Repeats::OtherOptions => return unknown("recorded with different options"),
            Repeats::Runs | Repeats::Steps | Repeats::None => {}
        }
        if !has_runs(analysis.runs()) {
            return unknown("a single run, so the difference may be noise");
        }
        let spread = |side: Side| analysis.run_times().noise(side).and_then(|noise| noise.wall);
        let [Some(a), Some(b)] = Side::BOTH.map(spread) else {
            return unknown("some runs have no steps");
        };
        let spread_us = a.spread_us.max(b.spread_us);
        let shown = figures.with_unit(spread_us * 1e3);
        let is_significant = analysis.judged().step.is_some_and(|step| step.verdict.is_change());
        Noise {
            // If the step-time difference is not significant, all unexplained parts count as within
            // the noise.
            spread: is_significant.then_some(Nanos((spread_us * 1e3) as i64)),
            beyond: format!("Same program, different speed: beyond run-to-run noise ({shown})"),
            within: format!("Same program, different speed: within run-to-run noise ({shown})"),
        }
    }

    fn is_beyond(&self, line: &Line) -> bool {
        self.spread.is_some_and(|spread| line.cost.abs() > spread)
    }
}

fn plain(figures: Figures, cost: Nanos, sentence: String) -> Line {
    Line {
        number: None,
        sentence,
        cost,
        shown: figures.signed(cost.0 as f64),
        attributed: None,
        last: None,
        place: String::new(),
        usual: String::new(),
        remark: String::new(),
        inferred: "",
        sites: 0,
        node: None,
    }
}

/// Formats a line for a change, with its effect if known. The effect may differ from the attributed time: GPU time that
/// overlaps host time does not lengthen the step, and work that delays other work lengthens the step by more than its
/// own time.
fn of_change(
    analysis: &Analysis,
    figures: Figures,
    at: usize,
    change: &Change,
    effect: Option<Effect>,
) -> Line {
    let shown = |time: Nanos| figures.signed(time.0 as f64);
    let cost = effect.map_or(change.cost, |effect| effect.alone);
    let is_environment = change.kind == ChangeKind::Environment;
    let port = if is_environment { port(analysis, figures) } else { None };
    // The sentence about the device replaces the list of what differs, which becomes a detail.
    let listed = port.as_ref().map(|_| one_line(&change.sentence).into_owned());
    let sentence = port.unwrap_or_else(|| one_line(&change.sentence).into_owned());
    // The sentence for a change at a single call site already names the call site.
    let place = if sentence.contains(&change.place) { "" } else { change.place.as_str() };
    Line {
        number: Some(at),
        attributed: effect.map(|_| shown(change.cost)).filter(|time| *time != shown(cost)),
        last: effect.map(|effect| shown(effect.last)).filter(|time| *time != shown(cost)),
        place: one_line(place).into_owned(),
        usual: usual(analysis, change).to_owned(),
        remark: if is_environment {
            let speed = kernel_speed(analysis);
            listed.into_iter().chain(speed).collect::<Vec<_>>().join("; ")
        } else {
            String::new()
        },
        inferred: change.inferred(),
        sites: change.nodes.len(),
        node: change.nodes.first().copied(),
        shown: if takes_no_time(change, cost) { String::new() } else { shown(cost) },
        ..plain(figures, cost, sentence)
    }
}

/// What the other device does to the GPU time; `None` if the devices are the same.
fn port(analysis: &Analysis, figures: Figures) -> Option<String> {
    // Only different devices have a ratio of minimum times.
    let sums = analysis.porting().sums();
    sums.rho.map(|_| {
        let [hardware, software] =
            [sums.hardware, sums.software].map(|part| figures.signed(part.0 as f64));
        let names = analysis.names();
        format!(
            "GPU work on the {} instead of the {}: of its GPU time, hardware {hardware}, software {software}",
            one_line(&names.candidate),
            one_line(&names.baseline)
        )
    })
}

/// Whether a change concerns the recording (such as a different device) and has no cost of its own.
fn takes_no_time(change: &Change, cost: Nanos) -> bool {
    let is_fact = matches!(change.kind, ChangeKind::Environment | ChangeKind::Recording);
    is_fact && cost == Nanos::ZERO && change.cost == Nanos::ZERO
}

/// The usual cause of a kind of change. Empty for a change in the kernels of a graph launch: such a change is more
/// likely caused by a different capture.
fn usual(analysis: &Analysis, change: &Change) -> &'static str {
    let node = change.nodes.first().map(|&node| analysis.diff().merged().node(node));
    let call = node.and_then(|node| node.calls().next());
    let is_launch =
        call.is_some_and(|(side, call)| analysis.tree(side).kind(call) == CallKind::Runtime);
    if is_launch && change.kind == ChangeKind::KernelSelection { "" } else { change.usual() }
}

/// The joint effect of all changes minus the sum of their individual effects.
fn together(figures: Figures, effects: &Effects) -> Option<Line> {
    let of_changes: Option<Vec<Effect>> = effects.of_changes.iter().copied().collect();
    let sum: Nanos = of_changes?.iter().map(|effect| effect.alone).sum();
    let more = effects.joint.alone - sum;
    let word = if more > Nanos::ZERO { "more" } else { "less" };
    let line = Line {
        attributed: Some(figures.signed(0.0)),
        ..plain(
            figures,
            more,
            format!("Together, the changes take {word} than the sum of their individual effects"),
        )
    };
    is_shown(&line).then_some(line)
}

/// The step-time difference that remains when the joint effect of all changes is subtracted.
fn left_of_the_step(
    analysis: &Analysis,
    figures: Figures,
    effects: &Effects,
    wait: Option<&Line>,
) -> Option<Line> {
    let changes = analysis.changes();
    let waited = wait.map_or(Nanos::ZERO, |line| line.cost);
    let left = changes.difference() - effects.joint.alone - waited;
    let attributed: Nanos = changes.without_change().map(|part| part.cost).into_iter().sum();
    let attributed = attributed - waited;
    // If the devices differ, the difference in kernel speed is attributed to the change of device.
    let is_other = changes.list().iter().any(|change| change.kind == ChangeKind::Environment);
    let kernels = if is_other {
        String::new()
    } else {
        kernel_speed(analysis).map_or_else(String::new, |speed| format!("; {speed}"))
    };
    let name = |name: &str| match (name, analysis.ledger().measure()) {
        ("kernel_speed", Measure::HostSelfTime) => "op speed".to_owned(),
        (name, _) => name.replace('_', " "),
    };
    let mut parts = changes.without_change();
    if let Some(between) = parts.iter_mut().find(|part| part.name == "between_calls") {
        between.cost -= waited;
    }
    parts.order_by_key(|part| Reverse(part.cost.abs()));
    let parts: Vec<String> = parts
        .into_iter()
        .map(|part| (name(part.name), figures.signed(part.cost.0 as f64)))
        .filter(|(_, shown)| !shown.starts_with('±'))
        .map(|(name, shown)| format!("{name} {shown}"))
        .collect();
    let attributed = figures.signed(attributed.0 as f64);
    let line = plain(figures, left, format!("Difference that the changes do not explain{kernels}"));
    let line = Line {
        attributed: Some(attributed).filter(|time| *time != line.shown),
        remark: if parts.is_empty() {
            String::new()
        } else {
            format!("attributed: {}", parts.join(", "))
        },
        ..line
    };
    is_shown(&line).then_some(line)
}

/// A remark such as `the same kernels take 1.36 times as long`; `None` if the ratio is too close to 1 to mention.
fn kernel_speed(analysis: &Analysis) -> Option<String> {
    let is_other_speed = |ratio: &f64| {
        (ratio - 1.0).abs() >= SAME_SPEED && analysis.ledger().measure() == Measure::GpuTime
    };
    let ratio = analysis.changes().kernel_ratio().filter(is_other_speed)?;
    Some(format!("the same kernels take {ratio:.2} times as long"))
}

/// Whether the line is shown; a line is hidden if its cost rounds to zero.
fn is_shown(line: &Line) -> bool {
    !line.shown.starts_with('±')
}

/// A sentence such as `The GPU waits more for the host between calls, most of it before aten::slice`.
fn between_calls(changes: &Changes, device: &str) -> String {
    let more = if changes.between_calls() > Nanos::ZERO { "more" } else { "less" };
    let most = changes.between_calls_before().map(|op| format!(", most of it before {op}"));
    let most = most.unwrap_or_default();
    one_line(&format!("The {device} waits {more} for the host between recorded calls{most}"))
        .into_owned()
}

/// The parts of the difference that no change explains, without parts that are too small to show.
fn same_program(analysis: &Analysis, figures: Figures) -> Vec<Line> {
    let changes = analysis.changes();
    let is_gpu = analysis.ledger().measure() == Measure::GpuTime;
    let ratio = changes
        .kernel_ratio()
        .map_or_else(String::new, |ratio| format!("{ratio:.2} times as long"));
    let kernels = if is_gpu { "kernels" } else { "ops" };
    let more = |time: Nanos| if time > Nanos::ZERO { "more" } else { "less" };
    let device = if is_gpu { "GPU" } else { "step" };
    let host = more(changes.host_speed());
    let (overlap, slower, less) = if changes.overlap() > Nanos::ZERO {
        ("more", "slower", "less")
    } else {
        ("less", "faster", "more")
    };
    let wait = wait(analysis, figures);
    let waited = wait.as_ref().map_or(Nanos::ZERO, |line| line.cost);
    let parts = [
        (changes.kernel_speed(), format!("The same {kernels} take {ratio}")),
        (changes.host_speed(), format!("The {device} waits {host} for the host in the same calls")),
        (changes.between_calls() - waited, between_calls(changes, device)),
        (
            changes.overlap(),
            format!(
                "The {device} waits {overlap} although the host is not {slower}: host and device overlap {less}"
            ),
        ),
        (changes.unexplained(), "Work without a known call".to_owned()),
    ];
    let lines = parts.into_iter().map(|(time, sentence)| plain(figures, time, sentence));
    wait.into_iter().chain(lines.filter(is_shown)).collect()
}

/// The wait in a range that the program or PyTorch marked, such as `The step waits for the data loader: 20.00 → 44.00
/// ms`; `None` if the time between calls differs elsewhere, or too little to show.
fn wait(analysis: &Analysis, figures: Figures) -> Option<Line> {
    let range = analysis.changes().between_calls_in()?;
    let steps = analysis.changes().steps();
    let per_step = PerSide::from_fn(|side| range.time[side].0 as f64 / steps[side].max(1) as f64);
    let time = figures.change(per_step);
    let sentence = match range.waits_for() {
        Some(what) => format!("The step waits for {what}: {time}"),
        None => format!("The host is between calls in the range {}: {time}", one_line(&range.name)),
    };
    let line = Line {
        remark: match range.advice() {
            "" => String::new(),
            advice => format!("try {advice}"),
        },
        ..plain(figures, range.difference, sentence)
    };
    is_shown(&line).then_some(line)
}
