//! [`Analysis`](super::Analysis) → verdicts: where time changed, as far as the repeats support it.
//!
//! `drafts` divides the accounted events into places of the program and forms their samples;
//! `family` makes of them a scale for evidence, with which every table judges its own groups.

mod discovery;
mod distributions;
mod drafts;
mod family;
mod groups;
mod judgement;
mod moderation;
mod places;
mod sampler;
mod site;
mod trend;
mod words;

pub(crate) use distributions::two_tails;
pub use family::{Family, Question};
pub use judgement::{Judgement, Repeats, Thresholds, Verdict, Work};
pub use places::Verdicts;
pub use site::Site;
