//! Tests which times in an [`Analysis`](super::Analysis) changed by more than the noise between
//! repeats.
//!
//! Measured events are grouped into call sites with samples (`drafts`). The usual spread and the false
//! discovery rates are computed from all samples together (`family`). Every table uses this spread and
//! these rates to test its groups of events.

mod discovery;
mod distributions;
mod drafts;
mod family;
mod groups;
mod judgement;
mod moderation;
mod places;
mod sampler;
mod shift;
mod site;
mod trend;
mod words;

pub use distributions::two_tails;
pub use family::{Family, Question};
pub use groups::GroupJudge;
pub use judgement::{Judgement, Repeats, Thresholds, Verdict, Work};
pub use places::Verdicts;
pub use shift::{Ruling, Shift, drift};
pub use site::Site;
