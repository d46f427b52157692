//! Tests where time changed in an [`Analysis`](super::Analysis), as far as the repeats support it.
//!
//! Measured events are grouped into call sites with samples (`drafts`). The samples form a scale of
//! evidence (`family`), which every table uses to test its own groups.

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
