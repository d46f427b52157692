//! The passes of the alignment, in execution order.
//!
//! Each match records the pass that found it, and `explain` prints that pass. A pass can be skipped to measure its
//! contribution, as `examples/pass_ablation.rs` does. Over 1,257 changed traces, precision or recall falls by the
//! following sums if only this pass is skipped:
//!
//! ```text
//! pass                  worse    lost   the change that loses most
//! siblings                816   228.8   a thread split in two
//! wrappers                262    35.9   only top-level ops in one trace
//! renamed                 152    14.9   another checkout
//! split_threads            28     5.9   a thread split in two
//! launches                 39     3.0   other platform, ops dropped
//! extra_layers             11     0.68  more layers, ops dropped and wrapped
//! swapped                  18     0.21  experts shuffled
//! new_callers              13     0.20  a module moved
//! similar_near              8     0.08  5% neighbors swapped
//! neighbours               11     0.05  5% neighbors swapped
//! equal_in_order            3     0.03  5% neighbors swapped
//! instance_numbers          1     0.03  5% neighbors swapped
//! around_matches            7     0.02  a thread split in two
//! equal_near                2     0.02  a recording that starts in mid-step
//! renamed_neighbours        6     0.01  several changes at once
//! ```
//! `moved_runs`, `far` and `left_behind` were skipped throughout, and lose 0.011 together, all in one trace. `identical`
//! only saves time. `variants`, `ranges` and `pool` match what these changes do not contain: ops of two vendors, ranges
//! with other names, and compiled programs on a pool of threads.

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
    /// Matches modules that swapped places. The instance numbers in their names identify them.
    InstanceNumbers,
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
    /// Matches equal runs of siblings at any distance.
    MovedRuns,
    /// Matches launches that are between the same two matched calls.
    Launches,
    /// Matches calls with different names that are between the same two matched calls and do similar work.
    Renamed,
    /// Matches similar calls that are near each other.
    SimilarNear,
    /// Matches renamed calls that swapped places with an adjacent call.
    RenamedNeighbours,
    /// Matches calls at any distance if no other unmatched call below the same matched callers is similar.
    Far,
    /// If the matches of two calls with the same key and arguments cross, swaps their counterparts.
    EqualInOrder,
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
    pub const ALL: [Pass; 24] = [
        Pass::Pinned,
        Pass::Threads,
        Pass::Identical,
        Pass::ExtraLayers,
        Pass::Siblings,
        Pass::InstanceNumbers,
        Pass::Swapped,
        Pass::Neighbours,
        Pass::Variants,
        Pass::Wrappers,
        Pass::EqualNear,
        Pass::MovedRuns,
        Pass::Launches,
        Pass::Renamed,
        Pass::SimilarNear,
        Pass::RenamedNeighbours,
        Pass::Far,
        Pass::EqualInOrder,
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
            Pass::InstanceNumbers => (
                "instance_numbers",
                "they are the same instance of a module, at a different position",
            ),
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
            Pass::MovedRuns => (
                "moved_runs",
                "they are in a run of calls that moved: all calls of the run are equal",
            ),
            Pass::RenamedNeighbours => (
                "renamed_neighbours",
                "they do similar work, and an adjacent call swapped places with them",
            ),
            Pass::Far => {
                ("far", "no other unmatched call below the same matched callers is similar")
            }
            Pass::EqualInOrder => {
                ("equal_in_order", "equal calls keep their order when other calls move past them")
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
