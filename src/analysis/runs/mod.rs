//! Aligns each additional run on a side with the median run, to find out how long each event of the median
//! run takes in the additional run.
//!
//! The rows of a report describe the median runs. The time of each measured event in an additional run is
//! assigned to the event's counterpart in the median run. If there is no counterpart, the time is assigned to
//! the row of the lowest common op. If this row has no events in the median run, the time is added up
//! separately.

mod figures;
mod per_step;
mod run;
mod settled;
mod times;
mod variation;

pub use figures::{RunFigures, RunNoise, StepMeans, are_apart};
pub(crate) use run::RunPrices;
pub(super) use run::step_times_of_sides;
pub use run::{Run, StepTime, StepTimes};
pub use settled::settled_differences;
pub use times::{RunTimes, evidence, means_of_steps};
pub(crate) use times::{events_of_rows, has_runs, runs_of_step};
