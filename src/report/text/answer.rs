//! [`Analysis`] → what happened end to end: one sentence, and the causes that explain most of it.

use super::figures::percent;
use crate::analysis::{
    Analysis, Cause, Few, Reason, Repeats, RunFigures, Verdict, WallBasis, WallTotals,
};
use crate::diff::MergedId;
use crate::escape::one_line;
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::ModuleName;

/// `step 177.6 → 141.1 ms (−20.6%): GPU idle −38.1 ms, GPU busy +1.6 ms; the device was idle 43 → 27%
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
        Measure::HostSelfTime => ("outside ops", "in ops", "no op ran"),
    };
    let own = totals.map(|totals| figures.per_step(totals.own(), totals));
    let mut text = format!("{what} {}", figures.change(own));
    if let Some(runs) = medians(analysis, figures) {
        text += &runs;
    }
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
            true => format!("; {device} {a}% of the {what}"),
            false => format!("; {device} {a} → {b}% of the {what}"),
        };
    }
    text
}

/// `, medians of 3 runs each, spread 1.50 ms and 0.80 ms`: with several runs, which runs the figures
/// describe and how much the step times of each side's runs vary.
fn medians(analysis: &Analysis, figures: Figures) -> Option<String> {
    let walls = PerSide::from_fn(|side| analysis.run_noise(side).map(|noise| noise.wall));
    if walls.baseline.is_none() && walls.candidate.is_none() {
        return None;
    }
    let spread = |side: Side| match walls[side] {
        None => "unknown".to_owned(),
        Some(None) => "unknown (some runs have no steps)".to_owned(),
        Some(Some(wall)) => format!("{} {}", figures.show(wall.spread_us * 1e3), figures.unit),
    };
    let [one, two] = Side::BOTH.map(|side| analysis.runs(side).len() + 1);
    let runs = match one == two {
        true => format!("{one} runs each"),
        false => format!("{one} and {two} runs"),
    };
    let [a, b] = Side::BOTH.map(spread);
    let is_noise = analysis.judged().step.is_some_and(|step| step.verdict == Verdict::WithinNoise);
    let noise = if is_noise { ", not significant" } else { "" };
    Some(format!(", medians of {runs}, spread {a} and {b}{noise}"))
}

/// What the sentence omits: work launched before the window or not selected, steps without a counterpart,
/// and how much the runs of a side vary.
pub fn answer_remarks(analysis: &Analysis) -> Vec<String> {
    let totals = PerSide::from_fn(|side| analysis.wall().totals(side));
    let figures = Figures::of(totals);
    let mut remarks: Vec<String> =
        analysis.damage().iter().map(|damage| format!("incomplete: {damage}")).collect();
    if totals.baseline.before > Nanos::ZERO || totals.candidate.before > Nanos::ZERO {
        let [a, b] = Side::BOTH.map(|side| figures.show(totals[side].before.0 as f64));
        let is_selected =
            Side::BOTH.iter().any(|&side| !analysis.tree(side).trace().unselected().is_empty());
        let more = if is_selected { " or not selected" } else { "" };
        remarks.push(format!(
            "excluded: GPU work launched before the window{more} ({a} → {b} {})",
            figures.unit
        ));
    }
    if let Some(paired) = analysis.wall().paired_steps() {
        let [a, b] = Side::BOTH.map(|side| analysis.steps(side).len() as u64 - paired);
        remarks.push(format!("excluded: steps without a counterpart ({a} → {b})"));
    }
    remarks.extend(few_steps(analysis));
    let runs = Side::BOTH.into_iter().filter_map(|side| runs(analysis, side, figures));
    remarks.extend(runs);
    remarks.extend(unknown_noise(analysis).map(str::to_owned));
    remarks
}

/// `most of the difference is in 1 of 5 candidate steps: +60.000 ms`, which a mean over the steps hides.
fn few_steps(analysis: &Analysis) -> Option<String> {
    let mut samples: PerSide<Vec<f64>> = PerSide::default();
    for row in analysis.step_rows() {
        if Side::BOTH.iter().all(|&side| row.steps[side].is_some()) {
            for side in Side::BOTH {
                samples[side].push(row.figures[side].wall().as_micros());
            }
        }
    }
    let few = Few::among(&samples)?;
    Some(format!("most of the difference is {}", few.words("steps")))
}

/// Steps of one run share its conditions (such as temperature), so their spread does not cover run-to-run
/// noise.
fn unknown_noise(analysis: &Analysis) -> Option<&'static str> {
    let has_one = PerSide::from_fn(|side| analysis.runs(side).is_empty());
    match (analysis.judged().repeats, has_one.baseline, has_one.candidate) {
        (Repeats::Steps, true, true) => Some("one run per side: run-to-run noise is unknown"),
        (Repeats::Steps, ..) => Some("only one run on one side: run-to-run noise is unknown"),
        (Repeats::Runs | Repeats::None | Repeats::OtherOptions, ..) => None,
    }
}

/// `3 runs of main; figures are from the median run: median step 34.12 ms (spread 1.50 ms, 4.4%); median GPU
/// time …`: smaller differences are noise.
fn runs(analysis: &Analysis, side: Side, figures: Figures) -> Option<String> {
    let noise = analysis.run_noise(side)?;
    let shown = |of: RunFigures| {
        let [median, spread] = [of.median_us, of.spread_us].map(|time| figures.show(time * 1e3));
        let share = of.spread_pct().map_or_else(String::new, |share| format!(", {share:.1}%"));
        format!("{median} {unit} (spread {spread} {unit}{share})", unit = figures.unit)
    };
    let step = noise.wall.map_or_else(String::new, |wall| format!("median step {}; ", shown(wall)));
    let measure = match analysis.measure() {
        Measure::GpuTime => "GPU time",
        Measure::HostSelfTime => "time in ops",
    };
    let varying = match noise.variable {
        0 => String::new(),
        1 => "; the runs diverge at 1 point".to_owned(),
        points => format!("; the runs diverge at up to {points} points"),
    };
    Some(format!(
        "{} runs of {}; figures are from the median run: {step}median {measure} {}{varying}",
        noise.time.runs,
        analysis.side_name(side),
        shown(noise.time),
    ))
}

/// One cause, formatted for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CauseLine {
    /// Candidate − baseline per step, with sign and unit.
    pub difference: String,
    /// Label of the reason.
    pub reason: &'static str,
    /// Call site, with module class.
    pub place: String,
    /// The evidence.
    pub evidence: String,
    /// Candidate − baseline per step.
    pub time: Nanos,
    /// The first node of the merged tree with this cause; `None` if it has no specific call site.
    pub node: Option<MergedId>,
}

/// The leading causes, and a line for the rest: `and 12 smaller, together +0.1 ms`.
pub fn cause_lines(analysis: &Analysis) -> (Vec<CauseLine>, Option<String>) {
    let totals = PerSide::from_fn(|side| analysis.wall().totals(side));
    let (figures, causes) = (Figures::of(totals), analysis.causes());
    let leading = causes.leading();
    let is_like = |a: &Cause, b: &Cause| (&a.place, &a.module) == (&b.place, &b.module);
    let is_alone =
        |cause: &Cause| leading.iter().filter(|other| is_like(cause, other)).count() == 1;
    let lines = leading.iter().map(|cause| line(figures, cause, is_alone(cause))).collect();
    // Work launched before the steps is not part of the difference that the causes add up to.
    let others = causes.list()[leading.len()..].iter();
    let others: Vec<&Cause> = others.filter(|cause| cause.reason != Reason::BeforeWindow).collect();
    let sum: Nanos = others.iter().map(|cause| cause.difference).sum();
    let rest = (!others.is_empty()).then(|| {
        let sum = figures.signed(sum.0 as f64);
        format!("and {} smaller, together {sum}", others.len())
    });
    (lines, rest)
}

/// The sum of several causes.
#[cfg(feature = "html")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CauseSum {
    /// Number of causes.
    pub count: usize,
    /// The sum of the differences per step, with sign and unit.
    pub difference: String,
    /// The sum of the differences per step.
    pub time: Nanos,
}

/// The sum of the causes that are not among [`cause_lines`], and the sum of all causes. Both exclude work
/// launched before the steps, which is not part of them.
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

/// If several causes are at one op, its shapes distinguish them.
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
        true => " (not part of the step)",
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

/// The sizes of the first tensors in recorded arguments: `[[8, 64], [64, 32], []] ["float", …]` →
/// `8×64, 64×32`.
fn first_sizes(arguments: &str) -> String {
    const TOLD: usize = 3;
    let lists = arguments.split('[').filter_map(|part| part.split(']').next());
    let tensors = lists.filter(|list| list.starts_with(|c: char| c.is_ascii_digit()));
    let sizes: Vec<String> = tensors.take(TOLD).map(|list| list.replace(", ", "×")).collect();
    sizes.join(", ")
}

/// How the figures of one answer are shown: all in the same unit, with about four digits.
#[derive(Debug, Clone, Copy)]
pub(in crate::report) struct Figures {
    unit: &'static str,
    scale: f64,
    decimals: usize,
}

impl Figures {
    pub(in crate::report) fn of(totals: PerSide<WallTotals>) -> Figures {
        let largest = totals.baseline.step_ms().max(totals.candidate.step_ms());
        match largest {
            1e5.. => Figures { unit: "s", scale: 1e9, decimals: 1 },
            100.0.. => Figures { unit: "ms", scale: 1e6, decimals: 1 },
            10.0.. => Figures { unit: "ms", scale: 1e6, decimals: 2 },
            1.0.. => Figures { unit: "ms", scale: 1e6, decimals: 3 },
            _ => Figures { unit: "µs", scale: 1e3, decimals: 2 },
        }
    }

    /// A sum over the window as a mean per step, in ns.
    fn per_step(self, sum: Nanos, totals: WallTotals) -> f64 {
        sum.0 as f64 / totals.steps.max(1) as f64
    }

    pub(in crate::report) fn show(self, nanos: f64) -> String {
        format!("{:.*}", self.decimals, nanos / self.scale)
    }

    #[cfg(feature = "html")]
    pub(in crate::report) fn unit(self) -> &'static str {
        self.unit
    }

    /// With sign and unit.
    pub(in crate::report) fn signed(self, nanos: f64) -> String {
        format!("{} {}", self.signed_bare(nanos), self.unit)
    }

    /// With a sign, without the unit.
    pub(in crate::report) fn signed_bare(self, nanos: f64) -> String {
        let shown = self.show(nanos.abs());
        let is_zero = shown.bytes().all(|byte| matches!(byte, b'0' | b'.'));
        let sign = match (is_zero, nanos < 0.0) {
            (true, _) => "±",
            (false, true) => "−",
            (false, false) => "+",
        };
        format!("{sign}{shown}")
    }

    /// `177.6 → 141.1 ms (−20.6%)`.
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
