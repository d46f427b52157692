//! Options that select the work to compare and set the thresholds for differences.

use super::headings;
use super::limit;
use clap::Args;
use tracetree::ComparisonOptions;
use tracetree::analysis::verdict::Thresholds;
use tracetree::program::{Phase, Selection, StepRange};
use tracetree::trace::Nanos;

/// Options that select which work in each trace is compared.
#[derive(Args)]
pub(super) struct PartArgs {
    /// Compare only work of this phase (prefill, decode, mixed, idle, train.forward, train.backward,
    /// train.optimizer, unknown).
    #[arg(long, value_name = "PHASE", value_parser = phase, help_heading = headings::WORK)]
    pub(super) phase: Option<Phase>,
    /// Compare only these steps in both traces, given by position from 0 (`3`, `3..8`, `3..=8`, `3..`).
    #[arg(long, value_name = "RANGE", help_heading = headings::WORK)]
    steps: Option<StepRange>,
    /// Compare only these steps of the baseline.
    #[arg(long, value_name = "RANGE", help_heading = headings::WORK)]
    base_steps: Option<StepRange>,
    /// Compare only these steps of the candidate.
    #[arg(long, value_name = "RANGE", help_heading = headings::WORK)]
    new_steps: Option<StepRange>,
}

#[derive(Args)]
pub(super) struct SelectionArgs {
    #[command(flatten)]
    part: PartArgs,
    /// Treat relative differences smaller than this (`5%`) as similar.
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = limit::share, help_heading = headings::LIMITS)]
    rel_threshold: f64,
    /// Treat differences per step smaller than this (`50us`) as similar [default: no limit].
    #[arg(long, value_name = "TIME", alias = "abs-threshold-us", value_parser = limit::time, help_heading = headings::LIMITS)]
    abs_threshold: Option<Nanos>,
    /// Exit with 3 if the traces differ in model, shapes, types, tokens or world size.
    #[arg(long, help_heading = headings::LIMITS)]
    pub(super) strict_comparability: bool,
}

fn phase(text: &str) -> std::result::Result<Phase, String> {
    Phase::from_label(text).ok_or_else(|| {
        let known = Phase::ALL.map(Phase::label);
        format!("unknown phase; expected one of {}", known.join(", "))
    })
}

impl PartArgs {
    /// The selected steps of the baseline and of the candidate; `None` selects all steps.
    pub(super) fn steps(&self) -> (Option<StepRange>, Option<StepRange>) {
        (self.base_steps.or(self.steps), self.new_steps.or(self.steps))
    }
}

impl SelectionArgs {
    /// Adds the phase and the steps that the user selected to the options.
    pub(super) fn add_to(&self, options: ComparisonOptions) -> ComparisonOptions {
        let (base, new) = self.part.steps();
        let select = |steps: Option<StepRange>| Selection { phase: self.part.phase, steps };
        options.selection(select(base), select(new))
    }

    pub(super) fn thresholds(&self) -> Thresholds {
        Thresholds { relative: self.rel_threshold, absolute: self.abs_threshold }
    }
}
