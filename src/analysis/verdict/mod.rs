//! Tests whether the step time and the measured time of an [`Analysis`](super::Analysis) changed by more than the noise
//! between runs.

mod distributions;
mod judged;
mod judgement;
mod shift;
mod words;

pub use distributions::two_tails;
pub use judged::Verdicts;
pub use judgement::{Judgement, Repeats, Thresholds, Verdict};
pub use shift::{Ruling, Shift, drift};
