//! Copies the matches below a pair of calls to later pairs with identical calls.
//!
//! ```text
//! trace1   layer₀(a b c)   layer₁(a b c)   layer₂(a b c)   …      the matches below layer₁ and LAYER₁
//! trace2   LAYER₀(A B C)   LAYER₁(A B C)   LAYER₂(A B C)   …      are copied to all later layers
//! ```
//!
//! Matches are copied only if everything that influences the alignment is identical. Every call below the later pair
//! must be unmatched, and identical in every detail to the corresponding call below the earlier pair. Each subtree of
//! the pair must lie within one step. Matches that depend on recorded times are not copied.

use rustc_hash::FxHashMap;

/// Maximum number of remembered kinds of matched pairs (32 bytes each). When the limit is reached, all kinds are
/// forgotten.
pub(super) const MOST_KINDS: usize = 1 << 13;

/// The fingerprints of the two calls of a matched pair.
pub(super) type Kind = (u64, u64);

/// A pair whose contents are being aligned and whose matches can be copied afterward.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) kind: Kind,
    pub(super) pair: (u32, u32),
    /// Number of pending pairs when the alignment of the contents began. The alignment of the contents is finished as
    /// soon as fewer pairs are pending.
    pub(super) waiting: usize,
}

/// The pairs whose contents this aligner has aligned completely, so their matches can be copied.
#[derive(Debug, Default)]
pub(super) struct Recurring {
    /// For each kind encountered so far, the pair whose matches can be copied, if any.
    pub(super) models: FxHashMap<Kind, Option<(u32, u32)>>,
    /// The pairs whose contents are being aligned, outermost first.
    pub(super) open: Vec<Open>,
}

impl Recurring {
    /// Makes the matches below finished pairs available for copying. A pair in `open` is finished once no pair below it
    /// is pending. `waiting` is the number of pending pairs.
    pub(super) fn close(&mut self, waiting: usize) {
        while let Some(done) = self.open.pop_if(|open| waiting < open.waiting) {
            self.models.insert(done.kind, Some(done.pair));
        }
    }

    /// Discards the pairs in `open`. The matches of these pairs depend on more than the calls inside the pairs, so they
    /// must not be copied.
    pub(super) fn forget_open(&mut self) {
        self.open.clear();
    }
}
