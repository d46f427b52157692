//! The number of forward passes in a profile.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use tracetree_trace::error::{Error, Result};

/// The number of forward passes in a profile: at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForwardPasses(NonZeroU32);

impl ForwardPasses {
    /// One pass, for a profile that was cut to a single pass.
    pub const ONE: ForwardPasses = ForwardPasses(NonZeroU32::MIN);

    /// Creates a number of passes; returns `None` for 0.
    pub fn new(passes: u32) -> Option<Self> {
        NonZeroU32::new(passes).map(ForwardPasses)
    }

    /// The number of passes, at least 1.
    pub fn get(self) -> u32 {
        self.0.get()
    }
}

impl FromStr for ForwardPasses {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let passes = text.trim().parse().ok().and_then(ForwardPasses::new);
        passes.ok_or_else(|| {
            Error::usage(text, "not a number of forward passes")
                .remedy("write a whole number of at least 1")
        })
    }
}

impl fmt::Display for ForwardPasses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
