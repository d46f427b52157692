//! Builds remarks about facts that the headline does not mention (lost events, different layers, excluded work), and
//! about how much the runs on one side vary.

use crate::analysis::comparability::damage;
use crate::analysis::robust::Few;
use crate::analysis::runs::RunFigures;
use crate::analysis::{Analysis, Figures};
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// Returns remarks about incomplete traces, different work, work outside the compared steps (launched before the
/// window, or not selected), steps without a counterpart, and differences concentrated in a few steps.
pub(super) fn remarks(analysis: &Analysis) -> Vec<String> {
    let totals = PerSide::from_fn(|side| analysis.wall().totals(side));
    let figures = Figures::of_wall(analysis.wall());
    let mut remarks: Vec<String> = damage(analysis.diff(), analysis.names())
        .iter()
        .map(|damage| format!("incomplete: {damage}"))
        .collect();
    let window = analysis.comparability().both.get("DIFFERENT_WINDOW");
    remarks.extend(window.map(|note| format!("different work: {}", note.message)));
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
    if let Some(paired) = analysis.compared().count() {
        let [a, b] = Side::BOTH.map(|side| analysis.diff().steps(side).len() as u64 - paired);
        remarks.push(format!("excluded: steps without a counterpart ({a} → {b})"));
    }
    remarks.extend(few_steps(analysis));
    remarks
}

/// A remark such as `most of the difference is in 1 of 5 candidate steps: +60.000 ms`. Without the remark, the mean
/// over the steps would hide such a difference.
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

/// For each side with several runs, a remark that says how much the runs vary.
pub(super) fn runs(analysis: &Analysis) -> Vec<String> {
    let figures = Figures::of_wall(analysis.wall());
    Side::BOTH.into_iter().filter_map(|side| runs_of(analysis, side, figures)).collect()
}

/// A remark such as `3 runs of main; figures are from the median run: median step 34.12 ms (spread 1.50 ms, 4.4%);
/// median GPU time …`. A difference between the sides that is smaller than this spread is noise.
fn runs_of(analysis: &Analysis, side: Side, figures: Figures) -> Option<String> {
    let noise = analysis.run_times().noise(side)?;
    let shown = |of: RunFigures| {
        let [median, spread] = [of.median_us, of.spread_us].map(|time| figures.show(time * 1e3));
        let share = of.spread_pct().map_or_else(String::new, |share| format!(", {share:.1}%"));
        format!("{median} {unit} (spread {spread} {unit}{share})", unit = figures.unit)
    };
    let step = noise.wall.map_or_else(String::new, |wall| format!("median step {}; ", shown(wall)));
    let measure = match analysis.ledger().measure() {
        Measure::GpuTime => "GPU time",
        Measure::HostSelfTime => "time in ops",
    };
    let varying = match noise.variable {
        0 => String::new(),
        1 => "; the runs differ at 1 call site".to_owned(),
        points => format!("; the runs differ at up to {points} call sites"),
    };
    Some(format!(
        "{} runs of {}; figures are from the median run: {step}median {measure} {}{varying}",
        noise.time.runs,
        analysis.names()[side],
        shown(noise.time),
    ))
}
