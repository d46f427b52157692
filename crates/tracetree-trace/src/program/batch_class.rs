//! Classifies the batch of each inference step by its phase, and by its size rounded up to a power
//! of two.
//!
//! ```text
//! prefill of 888 tokens                      prefill, at most 1024 tokens
//! decode of 30 requests                      decode, at most 32 requests
//! 9 prompts of 8155 tokens and 37 decodes    mixed, at most 8192 tokens
//! ```
//! An engine rarely runs two batches of exactly the same size. Batches in the same class do about
//! the same work, so steps that run such batches can be compared with each other.

use super::phase::Phase;
use super::steps::StepSpan;
use std::fmt;

/// The phase of a batch, and the batch size rounded up to a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchClass {
    /// The phase.
    pub phase: Phase,
    /// The number of tokens in the batch, rounded up to a power of two. The number of requests is
    /// used instead for a decode batch, and for a batch whose number of tokens is unknown.
    pub at_most: u64,
    /// Whether `at_most` counts tokens.
    pub is_in_tokens: bool,
}

impl BatchClass {
    /// The batch class of a step; `None` if the step has no batches or has batches in several
    /// phases.
    ///
    /// ```
    /// use tracetree::program::{BatchClass, Phase};
    ///
    /// let class = BatchClass { phase: Phase::Decode, at_most: 32, is_in_tokens: false };
    /// assert_eq!(class.to_string(), "decode ≤ 32 requests");
    /// ```
    #[doc(hidden)]
    pub fn of(step: &StepSpan) -> Option<BatchClass> {
        let (phase, requests) = (step.phase?, step.requests?);
        let tokens = step.tokens.filter(|_| phase != Phase::Decode);
        let size = tokens.unwrap_or(requests).min(1 << 62);
        Some(BatchClass {
            phase,
            at_most: size.next_power_of_two(),
            is_in_tokens: tokens.is_some(),
        })
    }
}

impl fmt::Display for BatchClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (phase, at_most) = (self.phase.label(), self.at_most);
        let unit = if self.is_in_tokens { "token" } else { "request" };
        let plural = if at_most == 1 { "" } else { "s" };
        write!(f, "{phase} ≤ {at_most} {unit}{plural}")
    }
}
