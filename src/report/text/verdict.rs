//! Describes in a sentence how the total time changed.

use super::figures::{Unit, times};
use crate::analysis::Analysis;
use crate::program::Measure;
use crate::report::summary::VerdictSummary;
use crate::side::{PerSide, Side};
use crate::signed::signed;
use crate::trace::Nanos;

/// A sentence that says how the total time changed, such as `trace2 takes 1.32x the GPU time of trace1: 119.853 ms →
/// 158.433 ms (+38.580 ms, +32.2%)`.
#[doc(hidden)]
pub fn sentence(analysis: &Analysis) -> String {
    let time = analysis.account().totals.map(|totals| totals.time);
    let unit = Unit::fitting(time);
    let (measure, label) = (measure_words(analysis.ledger().measure()), unit.label());
    let difference = time.candidate - time.baseline;
    if difference.0 == 0 {
        return format!("both traces take {} {label} of {measure}", unit.show(time.baseline));
    }
    let figures = format!(
        "{} {label} → {} {label} ({} {label}{})",
        unit.show(time.baseline),
        unit.show(time.candidate),
        unit.show_signed(difference),
        match time.baseline {
            Nanos::ZERO => String::new(),
            Nanos(all) => format!(", {}%", signed(100.0 * difference.0 as f64 / all as f64, 1)),
        }
    );
    match analysis.account().ratio() {
        Some(ratio) => {
            let [one, two] = Side::BOTH.map(|side| &analysis.names()[side]);
            let steps = per_step(analysis, unit);
            format!("{two} takes {ratio:.2}x the {measure} of {one}: {figures}{steps}")
        }
        None => format!("{measure}: {figures}"),
    }
}

/// Adds the time per compared step, because totals over different numbers of steps cannot be
/// compared.
fn per_step(analysis: &Analysis, unit: Unit) -> String {
    let counts = PerSide::from_fn(|side| analysis.diff().steps(side).len());
    if counts.baseline == counts.candidate || counts.baseline.min(counts.candidate) == 0 {
        return String::new();
    }
    let Some(total) = analysis.judged().total else { return String::new() };
    let time = total.median_us.map(|micros| Nanos((micros * 1e3).round() as i64));
    format!(
        "; per step {} {label} → {} {label} ({})",
        unit.show(time.baseline),
        unit.show(time.candidate),
        times(time),
        label = unit.label(),
    )
}

/// The measured quantity in words.
#[doc(hidden)]
pub fn measure_words(measure: Measure) -> &'static str {
    match measure {
        Measure::GpuTime => "GPU time",
        Measure::HostSelfTime => "host self time of ops",
    }
}

/// The evidence from several runs, such as `step slower (6 runs, p 0.002); GPU time slower (6 runs, all apart)`. The text
/// says which time each verdict is about, because the step time may change even if the GPU time does not. With a single
/// run, nothing is tested, and the text is empty.
#[doc(hidden)]
pub fn evidence(analysis: &Analysis, verdict: &VerdictSummary) -> String {
    if verdict.basis != "runs" {
        return String::new();
    }
    let step = verdict.step.as_ref();
    let step = step.map_or_else(String::new, |step| format!("step {}; ", step.words));
    format!("{step}{} {}", measure_words(analysis.ledger().measure()), verdict.words)
}
