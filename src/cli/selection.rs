//! Options that choose which work is compared, and from where on a difference matters.

use clap::Args;
use tracetree::ComparisonOptions;
use tracetree::analysis::Thresholds;
use tracetree::program::{Phase, Selection, StepRange};
use tracetree::trace::Nanos;

#[derive(Args)]
pub(super) struct SelectionArgs {
    /// Compare only work of this phase (prefill, decode, mixed, idle, train.forward,
    /// train.backward, train.optimizer, unknown).
    #[arg(long, value_name = "PHASE", value_parser = phase)]
    phase: Option<Phase>,
    /// Compare only these steps of both traces, by position from 0 (`3`, `3..8`, `3..=8`, `3..`).
    #[arg(long, value_name = "RANGE")]
    steps: Option<StepRange>,
    /// Compare only these steps of the baseline.
    #[arg(long, value_name = "RANGE")]
    base_steps: Option<StepRange>,
    /// Compare only these steps of the candidate.
    #[arg(long, value_name = "RANGE")]
    new_steps: Option<StepRange>,
    /// Differences below this share (0.02 is 2 %) count as similar.
    #[arg(long, value_name = "SHARE", default_value_t = 0.02, value_parser = number)]
    rel_threshold: f64,
    /// Differences per step below this many µs count as similar [default: none is too small; 0.1 % of the total to be listed].
    #[arg(long, value_name = "US", value_parser = micros)]
    abs_threshold_us: Option<Nanos>,
    /// Exit with 3 if the traces are not of the same model, shapes, types, tokens or world size.
    #[arg(long)]
    pub(super) strict_comparability: bool,
}

fn phase(text: &str) -> std::result::Result<Phase, String> {
    Phase::from_label(text).ok_or_else(|| {
        let known = Phase::ALL.map(Phase::label);
        format!("no such phase; one of {}", known.join(", "))
    })
}

fn number(text: &str) -> std::result::Result<f64, String> {
    let value: Option<f64> = text.trim().parse().ok();
    value
        .filter(|value| value.is_finite() && *value >= 0.0)
        .ok_or_else(|| format!("`{text}` is no number of at least 0"))
}

fn micros(text: &str) -> std::result::Result<Nanos, String> {
    number(text).map(|micros| Nanos((micros * 1e3).round() as i64))
}

impl SelectionArgs {
    /// The options with the chosen part of both traces.
    pub(super) fn add_to(&self, options: ComparisonOptions) -> ComparisonOptions {
        let select =
            |steps: Option<StepRange>| Selection { phase: self.phase, steps: steps.or(self.steps) };
        options.selection(select(self.base_steps), select(self.new_steps))
    }

    pub(super) fn thresholds(&self) -> Thresholds {
        Thresholds {
            relative: self.rel_threshold,
            absolute: self.abs_threshold_us,
            ..Thresholds::default()
        }
    }
}
