//! Parses the limit of `diff --fail-on`, such as `step:5%`, `gpu:200us`, `wait:5ms`, `change` or `5%`.

use super::Limit;
use std::fmt;
use std::str::FromStr;
use tracetree::analysis::bill::BillKind;
use tracetree::error::{Error, Result};

/// By how much one measure may increase from the baseline to the candidate.
///
/// ```
/// use tracetree_gate::{FailOn, Limited, StepMeasure};
/// let limit: FailOn = "5%".parse()?;
/// assert_eq!(limit.measure, Limited::Step(StepMeasure::Wall));
/// assert_eq!("idle: 1.5 ms".parse::<FailOn>()?.to_string(), "idle:1.5ms");
/// # Ok::<(), tracetree::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FailOn {
    /// What is limited; the wall time by default.
    pub measure: Limited,
    /// The allowed increase: a percentage or a time, never a count. For a line of the bill, the percentage is a share of
    /// the baseline's step time, and `None` allows no such line at all.
    pub limit: Option<Limit>,
}

/// What a limit is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limited {
    /// A time of a step.
    Step(StepMeasure),
    /// The sum of all lines of a kind in the [bill](tracetree::analysis::bill).
    Lines(BillKind),
}

impl Limited {
    fn word(self) -> &'static str {
        match self {
            Limited::Step(measure) => measure.word(),
            Limited::Lines(kind) => kind.label(),
        }
    }

    fn of(text: &str, word: &str) -> Result<Limited> {
        let step = StepMeasure::ALL.into_iter().find(|measure| measure.word() == word);
        let found =
            step.map(Limited::Step).or_else(|| BillKind::from_label(word).map(Limited::Lines));
        found.ok_or_else(|| {
            let steps = StepMeasure::ALL.map(StepMeasure::word).join(", ");
            let lines = BillKind::ALL.map(BillKind::label).join(", ");
            let message =
                format!("unknown measure `{word}`; known: {steps}, or a line of the bill: {lines}");
            Error::usage(text, message)
        })
    }
}

/// A measure of a step, or of the whole trace if the trace has no steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepMeasure {
    /// The wall time of a step: busy + idle.
    Wall,
    /// The total time of the GPU events of a step.
    GpuTime,
    /// The time during which the GPU is busy.
    Busy,
    /// The time during which the GPU is idle.
    Idle,
}

impl StepMeasure {
    const ALL: [StepMeasure; 4] =
        [StepMeasure::Wall, StepMeasure::GpuTime, StepMeasure::Busy, StepMeasure::Idle];

    /// The measure's name in `--fail-on`.
    fn word(self) -> &'static str {
        match self {
            StepMeasure::Wall => "step",
            StepMeasure::GpuTime => "gpu",
            StepMeasure::Busy => "busy",
            StepMeasure::Idle => "idle",
        }
    }

    /// The measure's name in messages.
    pub(crate) fn words(self) -> &'static str {
        match self {
            StepMeasure::Wall => "step time",
            StepMeasure::GpuTime => "GPU time per step",
            StepMeasure::Busy => "GPU busy time per step",
            StepMeasure::Idle => "GPU idle time per step",
        }
    }
}

impl FromStr for FailOn {
    type Err = Error;

    fn from_str(text: &str) -> Result<FailOn> {
        let is_word = |text: &str| text.starts_with(|letter: char| letter.is_alphabetic());
        let (measure, limit) = match text.split_once(':') {
            Some((word, limit)) => (Limited::of(text, word.trim())?, limit),
            None if is_word(text.trim()) => match Limited::of(text, text.trim())? {
                measure @ Limited::Lines(BillKind::Change | BillKind::Environment) => {
                    return Ok(FailOn { measure, limit: None });
                }
                measure @ (Limited::Step(_) | Limited::Lines(_)) => {
                    let word = measure.word();
                    let message =
                        format!("`{word}` needs a limit, such as {word}:5% or {word}:2ms");
                    return Err(Error::usage(text, message));
                }
            },
            None => (Limited::Step(StepMeasure::Wall), text),
        };
        match limit.parse() {
            Ok(limit @ (Limit::Percent(_) | Limit::Micros(_))) => {
                Ok(FailOn { measure, limit: Some(limit) })
            }
            Ok(Limit::Bytes(_) | Limit::Count(_)) | Err(_) => {
                let limit = limit.trim();
                let message = format!("`{limit}` is not a limit; write 5%, 200us, 1.5ms or 2s");
                Err(Error::usage(text, message))
            }
        }
    }
}

impl fmt::Display for FailOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.measure.word())?;
        self.limit.map_or(Ok(()), |limit| write!(f, ":{limit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_without_a_measure_is_for_the_step_time() {
        for (text, measure) in [
            ("5%", StepMeasure::Wall),
            ("step:5%", StepMeasure::Wall),
            ("gpu:5%", StepMeasure::GpuTime),
            ("busy: 5 %", StepMeasure::Busy),
            ("idle:5%", StepMeasure::Idle),
        ] {
            let read: FailOn = text.parse().expect(text);
            let expected =
                FailOn { measure: Limited::Step(measure), limit: Some(Limit::Percent(5.0)) };
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn a_line_of_the_bill_can_be_limited() {
        for (text, kind, limit) in [
            ("wait:5ms", BillKind::Wait, Some(Limit::Micros(5_000.0))),
            ("clock:3%", BillKind::Clock, Some(Limit::Percent(3.0))),
            ("change", BillKind::Change, None),
        ] {
            let read: FailOn = text.parse().expect(text);
            assert_eq!(read, FailOn { measure: Limited::Lines(kind), limit }, "{text}");
            assert_eq!(read.to_string(), text);
        }
    }

    #[test]
    fn a_limit_needs_a_unit_and_a_known_measure() {
        for text in
            ["", "5", "step:", "step:5", "wall:5%", "5%:step", "gpu:-5%", "gpu:nan%", "wait"]
        {
            assert!(text.parse::<FailOn>().is_err(), "{text}");
        }
    }
}
