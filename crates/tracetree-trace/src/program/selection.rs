//! Reduces a trace to the work launched in the steps and phase that a [`Selection`] names.
//!
//! The selection is applied before two traces are compared, so every table of the comparison covers
//! exactly the selected work. The ancestors of selected calls are kept.

use super::damage::counted;
use super::phase::Phase;
use super::phases::Phases;
use super::steps::{StepId, StepSpan, Steps};
use crate::error::{Error, ErrorKind, Result};
use crate::trace::{EventId, Nanos, Trace};
use crate::tree::{CallId, CallTree};
use std::fmt;
use std::str::FromStr;

/// A range of step positions, counted from 0: `3`, `3..8` (8 excluded), `3..=8`, `3..` or `..8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepRange {
    /// The first position.
    pub from: u32,
    /// The position after the last selected step; `None` if the range has no end.
    pub until: Option<u32>,
}

impl StepRange {
    /// Whether a step is in the range of positions.
    #[doc(hidden)]
    pub fn contains(self, step: StepId) -> bool {
        step.0 >= self.from && self.until.is_none_or(|until| step.0 < until)
    }
}

impl FromStr for StepRange {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |text: &str| {
            text.trim().parse::<u32>().map_err(|_| {
                Error::usage(text, "not a step position").remedy("write 3, 3..8, 3..=8, 3.. or ..8")
            })
        };
        let Some((from, until)) = text.split_once("..") else {
            let only = number(text)?;
            return Ok(StepRange { from: only, until: only.checked_add(1) });
        };
        let from = if from.trim().is_empty() { 0 } else { number(from)? };
        let until = match until.strip_prefix('=') {
            Some(last) => number(last)?.checked_add(1),
            None if until.trim().is_empty() => None,
            None => Some(number(until)?),
        };
        if until.is_some_and(|until| until <= from) {
            Err(Error::usage(text, "contains no step: the first position is after the last"))
        } else {
            Ok(StepRange { from, until })
        }
    }
}

impl fmt::Display for StepRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.from)?;
        match self.until {
            Some(until) if until == self.from.saturating_add(1) => Ok(()),
            Some(until) => write!(f, "..{until}"),
            None => write!(f, ".."),
        }
    }
}

/// Selects part of the work in one trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Selection {
    /// Selects only work in this phase.
    pub phase: Option<Phase>,
    /// Selects only work in these steps.
    pub steps: Option<StepRange>,
}

impl Selection {
    /// Whether the selection contains all work in the trace.
    #[doc(hidden)]
    pub fn is_all(&self) -> bool {
        *self == Selection::default()
    }

    /// The selected part of the trace. The caller must build a new call tree from it. GPU events
    /// without a launch in the trace belong to no step, and their phase is `unknown`.
    ///
    /// # Errors
    /// Fails if nothing in the trace is selected.
    #[doc(hidden)]
    pub fn cut(&self, tree: &CallTree) -> Result<Trace> {
        let (phases, steps) = (Phases::of(tree), Steps::of(tree));
        let chosen = |call: CallId| {
            self.phase.is_none_or(|phase| phases.phase(call) == phase)
                && self
                    .steps
                    .is_none_or(|range| steps.step(call).is_some_and(|s| range.contains(s)))
        };
        let mut keep = vec![self.is_all(); tree.trace().len()];
        let mut found = self.is_all();
        for call in tree.calls().filter(|&call| chosen(call)) {
            found |= tree.event(call).is_some();
            keep_with_calls_above(tree, call, &mut keep);
        }
        if !found {
            return Err(self.nothing_chosen(tree, &phases, &steps));
        }
        let trace = tree.trace();
        let in_steps = |event: EventId| {
            let start = trace.start(event);
            let next = steps.spans().partition_point(|step| step.start <= start);
            let at = next.checked_sub(1).filter(|&at| start < steps.spans()[at].end);
            self.steps.is_none_or(|range| at.is_some_and(|at| range.contains(StepId(at as u32))))
        };
        let mut cut = trace.select(|event| match tree.call_of(event) {
            Some(_) => keep[event.index()],
            None => in_steps(event),
        });
        if let Some(range) = self.steps {
            // Memory events between selected steps are kept, because the live memory depends on
            // every allocation and free.
            let chosen =
                steps.spans().iter().zip(0..).filter(|(_, at)| range.contains(StepId(*at)));
            let spans: Vec<&StepSpan> = chosen.map(|(span, _)| span).collect();
            let is_within = |time: Nanos| {
                spans.first().is_some_and(|span| span.start <= time)
                    && spans.last().is_some_and(|span| time < span.end)
            };
            cut.memory.retain(|event| is_within(event.time));
        }
        Ok(cut)
    }

    fn nothing_chosen(&self, tree: &CallTree, phases: &Phases, steps: &Steps) -> Error {
        let has: Vec<&str> = Phase::ALL
            .into_iter()
            .filter(|&phase| tree.calls().any(|call| phases.phase(call) == phase))
            .map(Phase::label)
            .collect();
        let wanted = match (self.phase, self.steps) {
            (Some(phase), Some(steps)) => format!("of phase {} in steps {steps}", phase.label()),
            (Some(phase), None) => format!("of phase {}", phase.label()),
            (None, Some(steps)) => format!("in steps {steps}"),
            (None, None) => "at all".to_owned(),
        };
        let message = format!("the trace has no work {wanted}");
        // If the user selected a phase and the trace contains no phases, the hint says how to name
        // phases.
        let hint = if self.phase.is_some() && has == [Phase::Unknown.label()] {
            "; wrap the phases in record_function to name them"
        } else {
            ""
        };
        Error::new(ErrorKind::Usage, tree.trace().source(), message).remedy(format!(
            "it has {}, numbered from 0; phases: {}{hint}",
            counted(steps.len() as u64, "step"),
            has.join(", ")
        ))
    }
}

fn keep_with_calls_above(tree: &CallTree, call: CallId, keep: &mut [bool]) {
    let calls = std::iter::once(call).chain(tree.ancestors(call));
    for event in calls.filter_map(|call| tree.event(call)) {
        if std::mem::replace(&mut keep[event.index()], true) {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_reads_as_it_is_written() {
        let refused = |text: &str| text.parse::<StepRange>().is_err();
        let read = |text: &str| text.parse::<StepRange>().expect("a range");
        assert_eq!(read("3"), StepRange { from: 3, until: Some(4) });
        assert_eq!(read("3..8"), StepRange { from: 3, until: Some(8) });
        assert_eq!(read("3..=8"), StepRange { from: 3, until: Some(9) });
        assert_eq!(read(".."), StepRange::default());
        for text in ["7", "3..8", "3.."] {
            assert_eq!(read(text).to_string(), text);
        }
        assert!(refused("8..3") && refused("three"));
    }
}
