//! Parses the limit of `diff --fail-on`, such as `step:5%`, `gpu:200us` or `5%`.

use super::Limit;
use std::fmt;
use std::str::FromStr;
use tracetree::error::{Error, Result};

/// By how much one measure may increase from the baseline to the candidate.
///
/// ```
/// use tracetree_gate::{FailOn, StepMeasure};
/// let limit: FailOn = "5%".parse()?;
/// assert_eq!(limit.measure, StepMeasure::Wall);
/// assert_eq!("idle: 1.5 ms".parse::<FailOn>()?.to_string(), "idle:1.5ms");
/// # Ok::<(), tracetree::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FailOn {
    /// The measure that is limited; the wall time by default.
    pub measure: StepMeasure,
    /// The allowed increase: a percentage or a time, never a count.
    pub limit: Limit,
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
        let (measure, limit) = match text.split_once(':') {
            Some((word, limit)) => (measure(text, word.trim())?, limit),
            None => (StepMeasure::Wall, text),
        };
        match limit.parse() {
            Ok(limit @ (Limit::Percent(_) | Limit::Micros(_))) => Ok(FailOn { measure, limit }),
            Ok(Limit::Bytes(_) | Limit::Count(_)) | Err(_) => {
                let limit = limit.trim();
                let message = format!("`{limit}` is not a limit; write 5%, 200us, 1.5ms or 2s");
                Err(Error::usage(text, message))
            }
        }
    }
}

fn measure(text: &str, word: &str) -> Result<StepMeasure> {
    StepMeasure::ALL.into_iter().find(|measure| measure.word() == word).ok_or_else(|| {
        let message =
            format!("unknown measure `{word}`; write step:5%, gpu:5%, busy:5% or idle:5%");
        Error::usage(text, message)
    })
}

impl fmt::Display for FailOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.measure.word(), self.limit)
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
            assert_eq!(read, FailOn { measure, limit: Limit::Percent(5.0) }, "{text}");
        }
    }

    #[test]
    fn a_limit_needs_a_unit_and_a_known_measure() {
        for text in ["", "5", "step:", "step:5", "wall:5%", "5%:step", "gpu:-5%", "gpu:nan%"] {
            assert!(text.parse::<FailOn>().is_err(), "{text}");
        }
    }
}
