//! Replays a trace with modified durations or without some waits, and returns the step time.

use super::parts::Replayed;
use super::path::CriticalPath;
use super::play::{Program, Speed};
use super::recorded::Recorded;
use crate::tree::CallId;

/// Modifications of a recorded program.
#[doc(hidden)]
pub struct Scenario<'s> {
    /// Factor that scales all host times. With a factor of 0, the step time is a lower bound for every way
    /// of launching the work, including captured graphs.
    pub host: f64,
    /// Returns the factor that scales the duration of a GPU event.
    pub work: &'s dyn Fn(CallId) -> f64,
    /// Returns whether the host still waits for the GPU at a runtime call.
    pub waits: &'s dyn Fn(CallId) -> bool,
}

impl Scenario<'_> {
    /// The scenario without any modification.
    pub const RECORDED: Scenario<'static> =
        Scenario { host: 1.0, work: &|_| 1.0, waits: &|_| true };
}

impl Speed for Scenario<'_> {
    fn host(&self, time: i64) -> i64 {
        scaled(time, self.host)
    }

    fn work(&self, call: CallId, time: i64) -> i64 {
        scaled(time, (self.work)(call))
    }

    fn waits(&self, call: CallId) -> bool {
        (self.waits)(call)
    }
}

fn scaled(time: i64, factor: f64) -> i64 {
    (time as f64 * factor).round() as i64
}

impl Recorded {
    /// Replays the recorded program in a scenario.
    pub fn replay(&self, scenario: &Scenario<'_>) -> Replayed {
        Program::of(self, scenario).play()
    }

    /// Computes the critical path in a scenario.
    pub fn critical_path(&self, scenario: &Scenario<'_>) -> CriticalPath {
        CriticalPath::of(&Program::of(self, scenario))
    }
}
