//! [`Analysis`] → what happened end to end: one sentence, and the causes that explain most of it.

use super::figures::percent;
use crate::analysis::{Analysis, Cause, Reason, Repeats, RunFigures, WallBasis, WallTotals};
use crate::diff::MergedId;
use crate::escape::one_line;
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::ModuleName;

/// `step 177.6 → 141.1 ms (−20.6 %): GPU idle −38.1 ms, GPU busy +1.6 ms; the device was idle 43 → 27 %
/// of the step`.
pub fn answer(analysis: &Analysis) -> String {
    let totals = PerSide::from_fn(|side| analysis.wall().totals(side));
    let figures = Figures::of(totals);
    let what = match analysis.wall().basis() {
        WallBasis::Steps => "step",
        WallBasis::Events => "window",
    };
    let (idle, busy, device) = match analysis.measure() {
        Measure::GpuTime => ("GPU idle", "GPU busy", "the device was idle"),
        Measure::HostSelfTime => ("outside of ops", "in ops", "no op ran"),
    };
    let own = totals.map(|totals| figures.per_step(totals.own(), totals));
    let mut text = format!("{what} {}", figures.change(own));
    if own.baseline != own.candidate {
        let part = |pick: fn(&WallTotals) -> Nanos| {
            let time = totals.map(|totals| figures.per_step(pick(&totals), totals));
            figures.signed(time.candidate - time.baseline)
        };
        text += &format!(": {idle} {}, {busy} {}", part(|t| t.idle), part(|t| t.busy));
    }
    let shares =
        totals.map(|totals| totals.idle_share().map(|share| format!("{:.0}", 100.0 * share)));
    if let PerSide { baseline: Some(a), candidate: Some(b) } = shares {
        text += &match a == b {
            true => format!("; {device} {a} % of the {what}"),
            false => format!("; {device} {a} → {b} % of the {what}"),
        };
    }
    text
}

/// What the sentence leaves out: work that was launched before the window or was not selected, steps without a
/// counterpart, and how far several runs of a side lie apart.
pub fn answer_remarks(analysis: &Analysis) -> Vec<String> {
    let totals = PerSide::from_fn(|side| analysis.wall().totals(side));
    let figures = Figures::of(totals);
    let mut remarks: Vec<String> =
        analysis.damage().iter().map(|damage| format!("incomplete: {damage}")).collect();
    if totals.baseline.before > Nanos::ZERO || totals.candidate.before > Nanos::ZERO {
        let [a, b] = Side::BOTH.map(|side| figures.show(totals[side].before.0 as f64));
        let is_selected =
            Side::BOTH.iter().any(|&side| !analysis.tree(side).trace().unselected().is_empty());
        let more = if is_selected { " or was not selected" } else { "" };
        remarks.push(format!(
            "not in it: {a} → {b} {} of the window for work that was launched before it{more}",
            figures.unit
        ));
    }
    if let Some(paired) = analysis.wall().paired_steps() {
        let [a, b] = Side::BOTH.map(|side| analysis.steps(side).len() as u64 - paired);
        remarks.push(format!("not in it: {a} → {b} steps without a counterpart"));
    }
    let runs = Side::BOTH.into_iter().filter_map(|side| runs(analysis, side, figures));
    remarks.extend(runs);
    remarks.extend(unknown_noise(analysis).map(str::to_owned));
    remarks
}

/// Steps of one run share a machine's temperature: what lies between two runs is not in their spread.
fn unknown_noise(analysis: &Analysis) -> Option<&'static str> {
    let has_one = PerSide::from_fn(|side| analysis.runs(side).is_empty());
    match (analysis.judged().repeats, has_one.baseline, has_one.candidate) {
        (Repeats::Steps, true, true) => Some("one run each: noise between runs unknown"),
        (Repeats::Steps, ..) => Some("one run of a side: noise between runs unknown"),
        (Repeats::Runs | Repeats::None, ..) => None,
    }
}

/// `3 runs of main: step 34.12 ms in the middle, 1.50 ms (4.4 %) apart; GPU time …`: less is noise.
fn runs(analysis: &Analysis, side: Side, figures: Figures) -> Option<String> {
    let noise = analysis.run_noise(side)?;
    let shown = |of: RunFigures| {
        let [median, spread] = [of.median_us, of.spread_us].map(|time| figures.show(time * 1e3));
        let share = of.spread_pct().map_or_else(String::new, |share| format!(" ({share:.1} %)"));
        format!("{median} {unit}, {spread} {unit}{share} apart", unit = figures.unit)
    };
    let step = noise.wall.map_or_else(String::new, |wall| format!("step {}; ", shown(wall)));
    let measure = match analysis.measure() {
        Measure::GpuTime => "GPU time",
        Measure::HostSelfTime => "time in ops",
    };
    let varying = match noise.variable {
        0 => String::new(),
        1 => "; they part at 1 point".to_owned(),
        points => format!("; they part at up to {points} points"),
    };
    Some(format!(
        "{} runs of {}, medians (figures are of the first): {step}{measure} {}{varying}",
        noise.time.runs,
        analysis.side_name(side),
        shown(noise.time),
    ))
}

/// One cause for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CauseLine {
    /// Candidate − baseline per step, with sign and unit.
    pub difference: String,
    /// The reason in its word.
    pub reason: &'static str,
    /// Where, with module class.
    pub place: String,
    /// What shows it.
    pub evidence: String,
    /// Candidate − baseline per step.
    pub time: Nanos,
    /// The first node of the merged tree that has it; `None` where it is nowhere in particular.
    pub node: Option<MergedId>,
}

/// The causes that a person should read, and what is left: `and 12 smaller, together +0.1 ms`.
pub fn cause_lines(analysis: &Analysis) -> (Vec<CauseLine>, Option<String>) {
    let totals = PerSide::from_fn(|side| analysis.wall().totals(side));
    let (figures, causes) = (Figures::of(totals), analysis.causes());
    let leading = causes.leading();
    let is_like = |a: &Cause, b: &Cause| (&a.place, &a.module) == (&b.place, &b.module);
    let is_alone =
        |cause: &Cause| leading.iter().filter(|other| is_like(cause, other)).count() == 1;
    let lines = leading.iter().map(|cause| line(figures, cause, is_alone(cause))).collect();
    // What was launched before the steps is no part of the difference that the causes add up to.
    let others = causes.list()[leading.len()..].iter();
    let others: Vec<&Cause> = others.filter(|cause| cause.reason != Reason::BeforeWindow).collect();
    let sum: Nanos = others.iter().map(|cause| cause.difference).sum();
    let rest = (!others.is_empty()).then(|| {
        let sum = figures.signed(sum.0 as f64);
        format!("and {} smaller, together {sum}", others.len())
    });
    (lines, rest)
}

/// Several causes of the steps together.
#[cfg(feature = "html")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CauseSum {
    /// How many.
    pub count: usize,
    /// Their sum with sign and unit, per step.
    pub difference: String,
    /// The same.
    pub time: Nanos,
}

/// The causes of the steps that are not among [`cause_lines`], and all of them: with what was launched
/// before the steps left out, since that is no part of them.
#[cfg(feature = "html")]
pub(crate) fn cause_sums(analysis: &Analysis) -> (CauseSum, CauseSum) {
    let figures = Figures::of(PerSide::from_fn(|side| analysis.wall().totals(side)));
    let causes = analysis.causes();
    let sum = |list: &[Cause]| {
        let of_steps = list.iter().filter(|cause| cause.reason != Reason::BeforeWindow);
        let time: Nanos = of_steps.clone().map(|cause| cause.difference).sum();
        let difference = figures.signed(time.0 as f64);
        CauseSum { count: of_steps.count(), difference, time }
    };
    (sum(&causes.list()[causes.leading().len()..]), sum(causes.list()))
}

/// Of several causes at one op its shapes tell which is meant.
fn line(figures: Figures, cause: &Cause, is_alone: bool) -> CauseLine {
    let place = match cause.module.as_str() {
        "" => cause.place.clone(),
        module if cause.place == module => cause.place.clone(),
        module => format!("{}: {}", ModuleName::instance_or_name(module), cause.place),
    };
    let mut evidence = one_line(&cause.evidence).into_owned();
    if !is_alone {
        let sizes = cause.arguments.as_ref().map(|arguments| first_sizes(arguments));
        let sizes = if sizes.baseline.is_empty() { sizes.candidate } else { sizes.baseline };
        evidence = if sizes.is_empty() { evidence } else { format!("{sizes}: {evidence}") };
    }
    let outside = match cause.reason == Reason::BeforeWindow {
        true => " (no part of the step)",
        false => "",
    };
    CauseLine {
        difference: figures.signed(cause.difference.0 as f64),
        reason: cause.reason.label(),
        place: one_line(&place).into_owned() + outside,
        evidence,
        time: cause.difference,
        node: cause.node,
    }
}

/// The sizes of the first tensors of recorded arguments: `[[8, 64], [64, 32], []] ["float", …]` →
/// `8×64, 64×32`.
fn first_sizes(arguments: &str) -> String {
    const TOLD: usize = 3;
    let lists = arguments.split('[').filter_map(|part| part.split(']').next());
    let tensors = lists.filter(|list| list.starts_with(|c: char| c.is_ascii_digit()));
    let sizes: Vec<String> = tensors.take(TOLD).map(|list| list.replace(", ", "×")).collect();
    sizes.join(", ")
}

/// How the figures of one answer are shown: all in one unit, with about four digits.
#[derive(Debug, Clone, Copy)]
struct Figures {
    unit: &'static str,
    scale: f64,
    decimals: usize,
}

impl Figures {
    fn of(totals: PerSide<WallTotals>) -> Figures {
        let largest = totals.baseline.step_ms().max(totals.candidate.step_ms());
        match largest {
            1e5.. => Figures { unit: "s", scale: 1e9, decimals: 1 },
            100.0.. => Figures { unit: "ms", scale: 1e6, decimals: 1 },
            10.0.. => Figures { unit: "ms", scale: 1e6, decimals: 2 },
            1.0.. => Figures { unit: "ms", scale: 1e6, decimals: 3 },
            _ => Figures { unit: "us", scale: 1e3, decimals: 2 },
        }
    }

    /// A sum over the window as a mean of its steps, in ns.
    fn per_step(self, sum: Nanos, totals: WallTotals) -> f64 {
        sum.0 as f64 / totals.steps.max(1) as f64
    }

    fn show(self, nanos: f64) -> String {
        format!("{:.*}", self.decimals, nanos / self.scale)
    }

    fn signed(self, nanos: f64) -> String {
        let shown = self.show(nanos.abs());
        let is_zero = shown.bytes().all(|byte| matches!(byte, b'0' | b'.'));
        let sign = match (is_zero, nanos < 0.0) {
            (true, _) => "±",
            (false, true) => "−",
            (false, false) => "+",
        };
        format!("{sign}{shown} {}", self.unit)
    }

    /// `177.6 → 141.1 ms (−20.6 %)`.
    fn change(self, time: PerSide<f64>) -> String {
        let [a, b] = [time.baseline, time.candidate].map(|time| self.show(time));
        let whole = |nanos: f64| Nanos(nanos.round() as i64);
        let share = percent(whole(time.candidate - time.baseline), whole(time.baseline));
        let share = match share.strip_prefix('-') {
            Some(less) => format!(" (−{less})"),
            None if share.is_empty() => share,
            None => format!(" (+{share})"),
        };
        match time.baseline == time.candidate {
            true => format!("{a} {} on both sides", self.unit),
            false => format!("{a} → {b} {}{share}", self.unit),
        }
    }
}
