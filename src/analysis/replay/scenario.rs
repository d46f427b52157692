//! A trace with other durations, or without some of its waits → its step time.

use super::parts::Replayed;
use super::path::CriticalPath;
use super::play::{Program, Speed};
use super::recorded::Recorded;
use crate::tree::CallId;

/// What is changed in a recorded program.
pub struct Scenario<'s> {
    /// Factor of the times of the host; 0 gives a bound for what any launch mechanism, such as a captured
    /// graph, can reach.
    pub host: f64,
    /// Factor of the duration of a GPU event.
    pub work: &'s dyn Fn(CallId) -> f64,
    /// Whether the host still waits for the GPU at a runtime call.
    pub waits: &'s dyn Fn(CallId) -> bool,
}

impl Scenario<'_> {
    /// Everything as recorded.
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

    /// The critical path of a scenario.
    pub fn critical_path(&self, scenario: &Scenario<'_>) -> CriticalPath {
        CriticalPath::of(&Program::of(self, scenario))
    }
}
