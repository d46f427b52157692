//! The passes of the alignment, in execution order.
//!
//! Each match records the pass that found it, and `explain` prints that pass. A pass can be skipped to measure its
//! contribution, as `examples/pass_ablation.rs` does. Over 1,257 changed traces, precision or recall falls by the following
//! sums if only this pass is skipped. The last three passes were skipped over 996 traces, together with nine that find
//! moved calls:
//!
//! ```text
//! pass              lost   the change that loses most
//! siblings         228.8   a thread split in two
//! wrappers          35.9   only top-level ops in one trace
//! renamed           14.9   another checkout
//! split_threads      5.9   a thread split in two
//! launches           3.0   other platform, ops dropped
//! extra_layers       0.6   more layers, ops dropped and wrapped
//! new_callers        0.5   a module moved
//! swapped            0.2   5% neighbors swapped
//! ```
//! `identical` only saves time. `variants`, `ranges` and `pool` match what these changes do not contain: ops of two
//! vendors, ranges with other names, and compiled programs on a pool of threads.
//!
//! `equal_near` loses 0.8 over 492 of these traces. `similar_near` finds a layer that moved and changed, `neighbours` calls
//! that swapped places, and `around_matches` and `left_behind` blocks whose contents a checkpoint or a compiler moved. Five
//! further passes for moved, reordered and renumbered calls lost less than 0.14 together, so they were removed.

/// A pass of the alignment. A pass defines which calls are matched, and on what evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pass {
    /// Matches the calls that the user pinned to each other.
    Pinned,
    /// Threads.
    Threads,
    /// If two calls are identical, matches all calls inside them with each other.
    Identical,
    /// In traces without frames, finds layers that exist on only one side. This pass matches no calls; it only ensures
    /// that the calls of these extra layers stay unmatched.
    ExtraLayers,
    /// Matches siblings that are in the same order on both sides.
    Siblings,
    /// Matches siblings that swapped places.
    Swapped,
    /// Matches adjacent calls that swapped places.
    Neighbours,
    /// Matches vendor-specific variants of one op, such as `miopen_convolution` and `cudnn_convolution`. This pass also
    /// expands both ops, so that the calls inside them can be matched.
    Variants,
    /// Expands wrappers that exist on only one side. This pass matches no calls itself. The children of an expanded
    /// wrapper replace it among its siblings, which are then aligned again.
    Wrappers,
    /// Matches identical calls that are near each other.
    EqualNear,
    /// Matches launches that are between the same two matched calls.
    Launches,
    /// Matches calls with different names that are between the same two matched calls and do similar work.
    Renamed,
    /// Matches similar calls that are near each other.
    SimilarNear,
    /// For each unmatched thread, finds unmatched calls on the opposite side that may correspond to the thread's calls.
    /// The pass matches no calls itself; the calls that it finds are then aligned as siblings.
    SplitThreads,
    /// Matches calls with equal contents whose callers differ.
    NewCallers,
    /// Matches calls with equal names if calls inside them match each other.
    AroundMatches,
    /// Matches calls with equal names if everything that they called moved elsewhere.
    LeftBehind,
    /// `record_function` ranges.
    Ranges,
    /// Matches the ops of compiled programs that run on a pool of threads.
    Pool,
}

impl Pass {
    /// All passes, in execution order.
    pub const ALL: [Pass; 19] = [
        Pass::Pinned,
        Pass::Threads,
        Pass::Identical,
        Pass::ExtraLayers,
        Pass::Siblings,
        Pass::Swapped,
        Pass::Neighbours,
        Pass::Variants,
        Pass::Wrappers,
        Pass::EqualNear,
        Pass::Launches,
        Pass::Renamed,
        Pass::SimilarNear,
        Pass::SplitThreads,
        Pass::NewCallers,
        Pass::AroundMatches,
        Pass::LeftBehind,
        Pass::Ranges,
        Pass::Pool,
    ];

    /// The name of the pass: `siblings`, `equal_near`, …
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// The evidence for the matches of this pass. The string completes a sentence that begins with “matched, because”.
    #[doc(hidden)]
    pub fn evidence(self) -> &'static str {
        self.words().1
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Pass::Pinned => ("pinned", "--match says so"),
            Pass::Threads => {
                ("threads", "no other thread has more calls in common with this thread")
            }
            Pass::Identical => {
                ("identical", "the calls around them are identical, including everything inside")
            }
            Pass::ExtraLayers => ("extra_layers", "the layers around them match"),
            Pass::Siblings => {
                ("siblings", "they match in the best alignment of the surrounding calls")
            }
            Pass::Swapped => {
                ("swapped", "they swapped places: their contents or arguments are the same")
            }
            Pass::Neighbours => ("neighbours", "they swapped places with an adjacent call"),
            Pass::Variants => {
                ("variants", "their names share a rare word, and their contents agree")
            }
            Pass::Wrappers => ("wrappers", "a wrapper around them exists on one side only"),
            Pass::EqualNear => {
                ("equal_near", "their contents are equal, and they are near each other")
            }
            Pass::Launches => ("launches", "both are launches between the same two matches"),
            Pass::Renamed => {
                ("renamed", "they are between the same two matches and do similar work")
            }
            Pass::SimilarNear => {
                ("similar_near", "half of their contents are equal, and they are near each other")
            }
            Pass::SplitThreads => (
                "split_threads",
                "the work of one thread is divided between two threads in the other trace",
            ),
            Pass::NewCallers => {
                ("new_callers", "their contents are equal, and only their callers differ")
            }
            Pass::AroundMatches => {
                ("around_matches", "their names are equal, and calls inside them match each other")
            }
            Pass::LeftBehind => {
                ("left_behind", "their names are equal, and everything they called moved elsewhere")
            }
            Pass::Ranges => {
                ("ranges", "at least half of the matched calls in either range are in both ranges")
            }
            Pass::Pool => {
                ("pool", "a pool of threads runs both, and their scopes, names and order agree")
            }
        }
    }
}

/// A set of passes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passes(u32);

impl Passes {
    /// Whether a pass is in the set.
    pub fn contains(self, pass: Pass) -> bool {
        self.0 & (1 << pass as u32) != 0
    }
}

impl FromIterator<Pass> for Passes {
    fn from_iter<T: IntoIterator<Item = Pass>>(passes: T) -> Passes {
        Passes(passes.into_iter().fold(0, |set, pass| set | 1 << pass as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pass_is_listed_once_in_order() {
        assert!(Pass::ALL.is_sorted());
        let all: Passes = Pass::ALL.into_iter().collect();
        assert_eq!(all.0, (1 << Pass::ALL.len()) - 1);
    }
}
