//! What the tables ask other analyses for: the phase of an event, the verdict on repeated times.

use crate::analysis::Tally;
use crate::side::Side;
use crate::tree::CallId;

/// Phase of an event where no phases are known.
const NO_PHASE: &str = "unknown";

/// Answers from outside of the account of GPU time.
#[derive(Clone, Copy)]
pub(super) struct Lookups<'a> {
    /// Name of the phase in which an accounted event was launched.
    pub(super) phase_of: &'a (dyn Fn(Side, CallId) -> &'a str + Sync),
    /// What the repeats of both sides support: `slower`, `faster`, `similar`, `within_noise`; empty
    /// where nobody judges.
    pub(super) verdict_of: &'a (dyn Fn(&Tally) -> &'static str + Sync),
}

impl Lookups<'_> {
    /// No phases, and nobody who judges.
    pub(super) const NONE: Lookups<'static> =
        Lookups { phase_of: &|_, _| NO_PHASE, verdict_of: &|_| "" };
}
