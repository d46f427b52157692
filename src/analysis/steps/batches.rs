//! Lists which steps of an inference engine are compared and why, and computes the times for each class of
//! batches.

use super::{Figures, StepName, StepPlace};
use crate::analysis::steps::StepRow;
use crate::diff::TraceDiff;
use crate::program::{BatchClass, StepSpan};
use crate::side::{PerSide, Side};
use std::collections::BTreeMap;

/// The evidence for comparing two steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepEvidence {
    /// The annotations of both steps record the same phase and the same numbers of requests and tokens.
    SameBatch,
    /// The annotations of both steps record the same phase and similar numbers of requests or tokens.
    BatchClass,
    /// The two steps were matched because their calls are similar.
    Calls,
    /// The two steps have the same position among the steps of their traces.
    Position,
}

impl StepEvidence {
    /// The name of the evidence in tables.
    pub fn label(self) -> &'static str {
        match self {
            StepEvidence::SameBatch => "same_batch",
            StepEvidence::BatchClass => "batch_class",
            StepEvidence::Calls => "calls",
            StepEvidence::Position => "position",
        }
    }
}

/// Two steps that are compared with each other, or a step without a counterpart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepPairRow {
    /// The step on each side. If a step has no counterpart, the entry of the other side is `None`.
    pub steps: PerSide<Option<StepName>>,
    /// The class of each step's batches, if known.
    pub classes: PerSide<Option<BatchClass>>,
    /// Why the two steps are compared; `None` if the step has no counterpart.
    pub evidence: Option<StepEvidence>,
}

/// The steps with batches of one class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchClassRow {
    /// The phase and size of the batches in the class.
    pub class: BatchClass,
    /// Number of steps with batches of this class in each trace.
    pub steps: PerSide<u64>,
    /// Times and counts of the compared steps in this class.
    pub figures: PerSide<Figures>,
}

/// All steps in both traces with their counterparts, in the order of [`Analysis::step_rows`](crate::Analysis::step_rows).
pub fn step_pair_rows(diff: &TraceDiff, step_rows: &[StepRow]) -> Vec<StepPairRow> {
    let rows = step_rows.iter();
    let rows = rows.filter(|row| matches!(row.place, StepPlace::Step(_)));
    rows.map(|row| {
        let spans = spans(diff, &row.steps);
        let both = spans.baseline.zip(spans.candidate);
        StepPairRow {
            classes: spans.map(|span| span.and_then(BatchClass::of)),
            evidence: both.map(|(one, two)| step_evidence(diff, one, two)),
            steps: row.steps.clone(),
        }
    })
    .collect()
}

/// All classes of batches that occur in either trace, by phase and size, with the times of the compared
/// steps. Empty unless the engine annotated the batches.
pub fn batch_class_rows(diff: &TraceDiff, step_rows: &[StepRow]) -> Vec<BatchClassRow> {
    let mut rows: BTreeMap<BatchClass, BatchClassRow> = BTreeMap::new();
    for row in step_rows {
        let spans = spans(diff, &row.steps);
        let is_compared = spans.baseline.is_some() && spans.candidate.is_some();
        for side in Side::BOTH {
            let Some(class) = spans[side].and_then(BatchClass::of) else { continue };
            let all = rows.entry(class).or_insert_with(|| BatchClassRow {
                class,
                steps: PerSide::default(),
                figures: PerSide::default(),
            });
            all.steps[side] += 1;
            if is_compared {
                all.figures[side].include(&row.figures[side]);
            }
        }
    }
    rows.into_values().collect()
}

fn spans<'a>(
    diff: &'a TraceDiff,
    steps: &PerSide<Option<StepName>>,
) -> PerSide<Option<&'a StepSpan>> {
    PerSide::from_fn(|side| steps[side].as_ref().map(|step| diff.steps(side).span(step.id)))
}

fn step_evidence(diff: &TraceDiff, one: &StepSpan, two: &StepSpan) -> StepEvidence {
    let batch = |span: &StepSpan| Some((span.phase?, span.requests?, span.tokens));
    let is_equal = |a: Option<_>, b: Option<_>| a.is_some() && a == b;
    match diff.step_pairs() {
        _ if is_equal(batch(one), batch(two)) => StepEvidence::SameBatch,
        Some(_) if BatchClass::of(one).is_some() && BatchClass::of(one) == BatchClass::of(two) => {
            StepEvidence::BatchClass
        }
        Some(_) => StepEvidence::Calls,
        None => StepEvidence::Position,
    }
}

impl Figures {
    /// Adds the times and counts of another group to this group.
    fn include(&mut self, other: &Figures) {
        let tokens = if self.steps == 0 { Some(0) } else { self.tokens };
        self.tokens = tokens.zip(other.tokens).map(|(one, two)| one + two);
        self.events += other.events;
        self.launches += other.launches;
        self.time += other.time;
        self.busy += other.busy;
        self.idle += other.idle;
        self.copies += other.copies;
        self.communication += other.communication;
        self.exposed_communication += other.exposed_communication;
        self.steps += other.steps;
    }
}
