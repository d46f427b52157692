//! Builds the narrative of a comparison, which every output format renders.
//!
//! ```text
//! headline        37% slower: 9.48 → 13.03 ms per step
//! leading         Convolutions run in FP32 instead of TF32 …: +2.65 ms per step
//! certain         what changed in the program, with the effect of each change
//! other speed     same program, different speed: beyond run-to-run noise
//! within noise    same program, different speed: within noise, or not tested
//! next            what to do
//! ```
//! The lines are those of the [bill](crate::analysis::bill), so they add up to the step-time difference.

mod headline;
mod layers;
mod next;

use super::port::Port;
use super::remarks::{remarks, runs};
use crate::analysis::bill::BillKind;
use crate::analysis::{Analysis, Figures};
use crate::diff::MergedId;
use crate::order::Order as _;
use crate::side::PerSide;
use crate::trace::Nanos;
use std::cmp::Reverse;

/// The explanation of a comparison for human readers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Narrative {
    /// Display names of the two sides.
    pub names: PerSide<String>,
    /// A description of the inputs, such as `NVIDIA H100 80GB HBM3, 2 steps, one run per side: not tested`.
    pub inputs: String,
    /// The headline, such as `37% slower: 9.48 → 13.03 ms per step`.
    pub headline: String,
    /// Says whether the difference is significant and how large the noise is, or why the significance is unknown.
    pub confidence: String,
    /// The leading change with its cost, or a statement that no change was found.
    pub leading: String,
    /// How the busy time and the idle time changed, and how much of the step is idle.
    pub split: String,
    /// A remark that the programs are identical, have little in common, or run nothing at all; `None` otherwise.
    pub state: Option<String>,
    /// The comparison of the two platforms; `None` if the devices are the same.
    pub port: Option<Port>,
    /// The changes in the program, largest absolute cost first.
    pub certain: Layer,
    /// Parts of the difference that no change explains and that exceed run-to-run noise.
    pub other_speed: Layer,
    /// Parts of the difference that no change explains. They are within noise or were not tested.
    pub within_noise: Layer,
    /// Whether the figures are prices by replay, not attributed times.
    pub has_prices: bool,
    /// A sentence that says why no price is known; `None` if prices are known, or if there are no changes.
    pub no_prices: Option<String>,
    /// The sum of all lines, such as `= +3.55 ms (including +0.05 ms that nothing explains)`; `None` for a single line.
    pub total: Option<String>,
    /// Remarks about times that the figures do not include.
    pub remarks: Vec<String>,
    /// For each side with several runs, how much the runs vary.
    pub runs: Vec<String>,
    /// Suggested actions, at most three, most useful first.
    pub next: Vec<Action>,
    figures: Figures,
}

/// A layer of the narrative: the parts of the step-time difference that have the same degree of
/// certainty.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct Layer {
    /// The title of the layer, which says what its parts have in common.
    pub title: String,
    /// The parts of the layer, largest first.
    pub lines: Vec<Line>,
    /// Number of lines that are worth listing; the others are small.
    pub notable: usize,
}

/// A part of the step-time difference and its cost.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[doc(hidden)]
pub struct Line {
    /// What the line is about.
    pub kind: BillKind,
    /// Position in [`Changes::list`](crate::analysis::changes::Changes::list) if the part is a change.
    pub number: Option<usize>,
    /// What changed.
    pub sentence: String,
    /// Difference per step, candidate − baseline: the price by replay if it is known, otherwise the attributed time.
    pub cost: Nanos,
    /// The cost with sign and unit; empty for a change that takes no time itself, such as a different device.
    pub shown: String,
    /// First call site of the change; empty if the call site is unknown or if the sentence already names the call
    /// site.
    pub place: String,
    /// The usual cause of this kind of change; empty if unknown.
    pub usual: String,
    /// An additional remark, such as how a sum is composed; may be empty.
    pub remark: String,
    /// Why the change is only likely; empty if the trace shows it directly.
    pub inferred: &'static str,
    /// Whether the cost has the same sign for all pairs of runs; also `false` if a side has a single run.
    pub is_apart: bool,
    /// Number of changed calls in all compared steps.
    pub sites: usize,
    /// The first node of the merged tree with this change; `None` if the change concerns no call.
    pub node: Option<MergedId>,
}

/// A suggested action.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[doc(hidden)]
pub struct Action {
    /// A description of the suggested action.
    pub text: String,
    /// The command that performs the action; empty if there is none.
    pub command: String,
    /// Whether the command opens the page.
    pub opens_page: bool,
}

impl Narrative {
    /// Builds the narrative of a comparison.
    #[doc(hidden)]
    pub fn of(analysis: &Analysis) -> Narrative {
        let figures = Figures::of_wall(analysis.wall());
        let layers = layers::of(analysis, figures);
        Narrative {
            names: headline::names(analysis),
            inputs: headline::inputs(analysis),
            headline: headline::headline(analysis, figures),
            confidence: headline::confidence(analysis, figures),
            leading: headline::leading(analysis, &layers),
            split: headline::split(analysis, figures),
            state: headline::state(analysis),
            port: Port::of(analysis),
            remarks: remarks(analysis),
            runs: runs(analysis),
            next: next::actions(analysis, figures, &layers),
            certain: layers.certain,
            other_speed: layers.other_speed,
            within_noise: layers.within_noise,
            has_prices: analysis.bill().is_priced(),
            no_prices: layers.no_prices,
            total: layers::total(analysis.bill(), figures),
            figures,
        }
    }

    /// A sentence with the headline, the split into busy and idle time, and, with several runs, the significance.
    pub fn answer(&self) -> String {
        let parts = [&self.headline, &self.split, &self.confidence];
        let parts: Vec<&str> =
            parts.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        parts.join("; ")
    }

    /// The non-empty layers, most certain first.
    pub fn layers(&self) -> impl Iterator<Item = &Layer> {
        let all = [&self.certain, &self.other_speed, &self.within_noise];
        all.into_iter().filter(|layer| !layer.lines.is_empty())
    }

    /// The lines of all layers, largest first.
    #[doc(hidden)]
    pub fn bill(&self) -> Layer {
        let mut lines: Vec<Line> = self.layers().flat_map(|layer| &layer.lines).cloned().collect();
        lines.order_by_key(|line| (Reverse(line.cost.abs()), line.kind, line.number));
        let measure = self.measure();
        let title = measure[..1].to_uppercase() + &measure[1..];
        Layer { title, notable: lines.len(), lines }
    }

    /// A summary of a layer's lines after the first `shown` lines, such as `3 smaller, together +0.10 ms`; `None` if there
    /// are no further lines.
    #[doc(hidden)]
    pub fn rest(&self, layer: &Layer, shown: usize) -> Option<String> {
        let others = layer.lines.get(shown..).filter(|others| !others.is_empty())?;
        let sum: Nanos = others.iter().map(|line| line.cost).sum();
        let sum = self.figures.signed(sum.0 as f64);
        Some(format!("{} smaller, together {sum}", others.len()))
    }

    /// A description of the figures, such as `price per step, by replay`.
    #[doc(hidden)]
    pub fn measure(&self) -> &'static str {
        if self.has_prices { "price per step, by replay" } else { "attributed time per step" }
    }
}

impl Line {
    /// Details about the change: the call site, the usual cause and the certainty; may be
    /// empty.
    pub fn detail(&self) -> String {
        let place = match self.place.as_str() {
            "" => String::new(),
            place => format!("first {place}"),
        };
        let usual = match self.usual.as_str() {
            "" => String::new(),
            usual => format!("usually {usual}"),
        };
        let parts = [&place, &usual, self.inferred, &self.remark];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("; ")
    }
}
