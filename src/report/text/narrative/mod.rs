//! [`Analysis`] → the answer in words and figures, built once per comparison and rendered by every format.
//!
//! ```text
//! headline        37% slower: 9.48 → 13.03 ms per step
//! leading         Convolutions run in FP32 instead of TF32 …: +2.65 ms per step
//! certain         what changed in the program, with the effect of each change
//! other speed     the same program, other speed: beyond the noise of the runs
//! within noise    the same program, other speed: within noise, or not tested
//! next            what to do
//! ```
//! The layers add up: the effects of the changes by replay and the other two layers are the difference of the
//! step, and so are the attributed times.

mod headline;
mod layers;
mod next;

use super::remarks::{remarks, runs};
use super::step_figures::Figures;
use crate::analysis::{Analysis, Certainty};
use crate::diff::MergedId;
use crate::side::PerSide;
use crate::trace::Nanos;

/// What a person should read about a comparison.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Narrative {
    /// Display names of the sides.
    pub names: PerSide<String>,
    /// `NVIDIA H100 80GB HBM3, 2 steps, 1 run per side`.
    pub inputs: String,
    /// `37% slower: 9.48 → 13.03 ms per step`.
    pub headline: String,
    /// Whether the difference is significant, and against which noise; or why that is unknown.
    pub confidence: String,
    /// The leading change with its cost, or that there is none.
    pub leading: String,
    /// How much of the difference is busy and idle time; empty if the times are equal.
    pub split: String,
    /// Whether the programs are identical, have little in common, or do nothing; `None` otherwise.
    pub state: Option<String>,
    /// What changed in the program, the largest first.
    pub certain: Layer,
    /// The same program at a different speed, beyond the noise of the runs.
    pub other_speed: Layer,
    /// The same program at a different speed, within noise or not tested.
    pub within_noise: Layer,
    /// Whether the figures of the changes are effects by replay.
    pub has_effects: bool,
    /// Why there are no effects; `None` if there are, or if no change needs one.
    pub no_effects: Option<String>,
    /// What the figures omit.
    pub remarks: Vec<String>,
    /// With several runs, how much those of each side vary.
    pub runs: Vec<String>,
    /// What to do next, the most useful first; at most three.
    pub next: Vec<Action>,
    figures: Figures,
}

/// Parts of the difference of a step that are equally certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// What the parts have in common.
    pub title: String,
    /// The parts, the largest first.
    pub lines: Vec<Line>,
}

/// A part of the difference of a step, with its cost.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// Position in [`Changes::list`](crate::analysis::Changes::list), if it is a change.
    pub number: Option<usize>,
    /// What changed.
    pub sentence: String,
    /// Candidate − baseline per step: the effect by replay where it is known, otherwise the attributed time.
    pub cost: Nanos,
    /// The cost with sign and unit; empty for a fact that takes no time itself, such as another device.
    pub shown: String,
    /// Attributed to it, with sign and unit, where the cost is an effect that differs from it.
    pub attributed: Option<String>,
    /// What it does to the candidate's step, where all other changes are made, if that differs from the cost.
    pub last: Option<String>,
    /// Where it is first; empty if unknown or named in the sentence.
    pub place: String,
    /// What usually causes it; empty if unknown.
    pub usual: String,
    /// Other remarks, such as the parts of a sum; may be empty.
    pub remark: String,
    /// Whether it was read from the trace.
    pub certainty: Certainty,
    /// Number of calls in all compared steps.
    pub sites: usize,
    /// The first node of the merged tree with this change; `None` if it has no call.
    pub node: Option<MergedId>,
}

/// Something to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// What to do.
    pub text: String,
    /// The command that does it; empty if there is none.
    pub command: String,
}

impl Narrative {
    /// The answer of a comparison.
    pub fn of(analysis: &Analysis) -> Narrative {
        let figures = Figures::of_steps(analysis);
        let layers = layers::of(analysis, figures);
        Narrative {
            names: headline::names(analysis),
            inputs: headline::inputs(analysis),
            headline: headline::headline(analysis, figures),
            confidence: headline::confidence(analysis, figures),
            leading: headline::leading(analysis, &layers.certain),
            split: headline::split(analysis, figures),
            state: headline::state(analysis),
            remarks: remarks(analysis),
            runs: runs(analysis),
            next: next::actions(analysis, &layers),
            certain: layers.certain,
            other_speed: layers.other_speed,
            within_noise: layers.within_noise,
            has_effects: layers.no_effects.is_none() && !analysis.changes().list().is_empty(),
            no_effects: layers.no_effects,
            figures,
        }
    }

    /// The headline, the split of the difference, and with several runs what supports it, in one sentence.
    pub fn answer(&self) -> String {
        let runs = match self.runs.is_empty() {
            true => String::new(),
            false => format!("; {}", self.confidence),
        };
        format!("{}; {}{runs}", self.headline, self.split)
    }

    /// The layers that are not empty, the most certain first.
    pub fn layers(&self) -> impl Iterator<Item = &Layer> {
        let all = [&self.certain, &self.other_speed, &self.within_noise];
        all.into_iter().filter(|layer| !layer.lines.is_empty())
    }

    /// `and 3 smaller, together +0.10 ms`: the lines of a layer after the first ones; `None` if there are
    /// none.
    pub fn rest(&self, layer: &Layer, shown: usize) -> Option<String> {
        let others = layer.lines.get(shown..).filter(|others| !others.is_empty())?;
        let sum: Nanos = others.iter().map(|line| line.cost).sum();
        let sum = self.figures.signed(sum.0 as f64);
        Some(format!("and {} smaller, together {sum}", others.len()))
    }

    /// What the figures of the changes are: `effect on the step by replay (attributed time)`.
    pub fn measure(&self) -> &'static str {
        match self.has_effects {
            true => "effect on the step, by replay (attributed time)",
            false => "attributed time per step",
        }
    }
}

impl Line {
    /// The range of the effect, the place, the usual cause and the certainty; may be empty.
    pub fn detail(&self) -> String {
        let last = self.last.as_ref().map_or_else(String::new, |last| {
            format!("{} in the baseline, {last} in the candidate", self.shown)
        });
        let place = match self.place.as_str() {
            "" => String::new(),
            place => format!("first {place}"),
        };
        let usual = match self.usual.as_str() {
            "" => String::new(),
            usual => format!("usually {usual}"),
        };
        let likely = match self.certainty {
            Certainty::Certain => "",
            Certainty::Likely => "inferred from kernel names",
        };
        let parts = [&last, &place, &usual, likely, &self.remark];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("; ")
    }
}
