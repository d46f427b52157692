//! The passes of the alignment, in the order in which they run.
//!
//! Each match records the pass that made it, and `explain` prints that pass. To measure the
//! contribution of a pass, it can be skipped: `examples/alignment_quality.rs --ablation`.

/// One pass of the alignment: which calls it matches, and based on what evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pass {
    /// Calls that the user matched explicitly.
    Pinned,
    /// Threads.
    Threads,
    /// The contents of identical calls.
    Identical,
    /// Siblings that have the same order on both sides.
    Siblings,
    /// Modules that swapped places, identified by their instance numbers.
    InstanceNumbers,
    /// Siblings that swapped places.
    Swapped,
    /// Adjacent calls that swapped places.
    Neighbours,
    /// Ops of two vendors for the same operation. The pass also opens both ops.
    Variants,
    /// Wrappers that only one side has. This pass matches nothing itself: it opens the wrappers,
    /// and their contents are aligned as siblings.
    Wrappers,
    /// Equal calls near each other.
    EqualNear,
    /// Launches at the same position.
    Launches,
    /// Calls at the same position under another name.
    Renamed,
    /// Similar calls near each other.
    SimilarNear,
    /// Renamed calls that swapped places with an adjacent call.
    RenamedNeighbours,
    /// Calls that lost their contents.
    Emptied,
    /// Unique calls at any distance.
    Far,
    /// Equal calls whose matches crossed.
    EqualInOrder,
    /// The contents of threads without a counterpart. This pass matches nothing itself: it aligns
    /// the calls as siblings.
    SplitThreads,
    /// Calls with a new caller.
    NewCallers,
    /// Parents of matched calls.
    AroundMatches,
    /// Calls whose contents moved elsewhere.
    LeftBehind,
    /// `record_function` ranges.
    Ranges,
}

impl Pass {
    /// All passes, in the order in which they run.
    pub const ALL: [Pass; 22] = [
        Pass::Pinned,
        Pass::Threads,
        Pass::Identical,
        Pass::Siblings,
        Pass::InstanceNumbers,
        Pass::Swapped,
        Pass::Neighbours,
        Pass::Variants,
        Pass::Wrappers,
        Pass::EqualNear,
        Pass::Launches,
        Pass::Renamed,
        Pass::SimilarNear,
        Pass::RenamedNeighbours,
        Pass::Emptied,
        Pass::Far,
        Pass::EqualInOrder,
        Pass::SplitThreads,
        Pass::NewCallers,
        Pass::AroundMatches,
        Pass::LeftBehind,
        Pass::Ranges,
    ];

    /// The name of the pass: `siblings`, `equal_near`, …
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// The evidence for the matches of this pass, as the end of a sentence that begins with
    /// “matched, because”.
    pub fn evidence(self) -> &'static str {
        self.words().1
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Pass::Pinned => ("pinned", "--match says so"),
            Pass::Threads => ("threads", "no other thread has more calls in common with it"),
            Pass::Identical => ("identical", "everything in the calls around them is identical"),
            Pass::Siblings => {
                ("siblings", "in this order, the calls around them have most in common")
            }
            Pass::InstanceNumbers => (
                "instance_numbers",
                "they are the same instance of one module, at another position",
            ),
            Pass::Swapped => {
                ("swapped", "they swapped places: their contents or arguments are the same")
            }
            Pass::Neighbours => ("neighbours", "neighbours swapped places"),
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
                ("similar_near", "half of their contents is equal, and they are near each other")
            }
            Pass::RenamedNeighbours => (
                "renamed_neighbours",
                "they do similar work, and a neighbour swapped places with them",
            ),
            Pass::Emptied => {
                ("emptied", "their names and arguments are equal; one has lost its contents")
            }
            Pass::Far => ("far", "no other call below the same match is like them"),
            Pass::EqualInOrder => {
                ("equal_in_order", "equal calls keep their order when other calls move past them")
            }
            Pass::SplitThreads => (
                "split_threads",
                "the work of one thread is divided between two in the other trace",
            ),
            Pass::NewCallers => {
                ("new_callers", "their contents are equal, and only their callers differ")
            }
            Pass::AroundMatches => {
                ("around_matches", "their names are equal, and calls in them match each other")
            }
            Pass::LeftBehind => (
                "left_behind",
                "their names are equal, and everything they called is elsewhere now",
            ),
            Pass::Ranges => ("ranges", "at least half of the matched calls in either are in both"),
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
