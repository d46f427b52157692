//! Replays a trace with other durations or without some of its waits, and returns the step time.

use super::parts::Replayed;
use super::path::CriticalPath;
use super::play::{Program, Speed};
use super::recorded::Recorded;
use crate::tree::CallId;

/// Modifications of a recorded program.
pub struct Scenario<'s> {
    /// Factor for the host times. With 0, the result is a bound that no launch mechanism, such as a captured
    /// graph, can beat.
    pub host: f64,
    /// Factor for the duration of each GPU event.
    pub work: &'s dyn Fn(CallId) -> f64,
    /// Whether the host still waits for the GPU at a runtime call.
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
