//! Defines every weight and limit of the alignment, with the reason for its value.
//!
//! Weights are only compared with each other. The similarity of two siblings is counted in
//! [`TOKEN`]s. Except for [`EXACT`], the other weights are fractions of a token: bonuses that only
//! break ties, and reduced scores per token.

/// Score of one common token. The value is a power of two, which leaves room for the fractions
/// below.
pub(super) const TOKEN: i64 = 64;
/// Score of complete equality. An equal pair must outweigh a pair with slightly more in common,
/// which in a row of similar siblings is a larger call that changed.
pub(super) const EXACT: i64 = 3 * TOKEN;
/// Score of equal arguments, in addition to the token that arguments are. The value is half a
/// token, because one more common call below is better evidence.
pub(super) const ARGUMENTS: i64 = TOKEN / 2;
/// Score of equal exact names, such as `nn.Module: Linear_3`; only breaks ties.
pub(super) const NAME: i64 = TOKEN / 16;
/// Score of one common token of two calls that are not a match: a call and a wrapper around it, or
/// a call and its renamed version. The value is less than for any match, but enough to put both
/// calls into the same gap.
pub(super) const AFFINITY: i64 = TOKEN / 4;
/// Score of one common token of a call and the same-named call inside a wrapper. The two calls will
/// be matched one level deeper, so the value is nearly that of a match between siblings.
pub(super) const WRAPPED: i64 = TOKEN * 7 / 8;
/// Minimum number of tokens in a layer: a module with a few ops in it.
pub(super) const LAYER: i64 = 16;
/// Minimum number of layers in a row of layers.
pub(super) const LAYERS: usize = 3;
/// Maximum number of layer pairs that are compared for one row.
pub(super) const LAYER_CELLS: usize = 1 << 14;
/// Score of matching two runtime calls without GPU work, which vary from run to run.
pub(super) const QUERY: i64 = TOKEN / 8;
/// Divisor for the score of two calls that each have an equal counterpart elsewhere: such calls
/// have swapped places.
pub(super) const SETTLED: i64 = 8;
/// Maximum number of wrapper levels to look through; decorators and dispatchers nest about five
/// deep.
pub(super) const WRAPPERS: usize = 16;

/// Minimum number of tokens for a thread to be called foreign: with few calls, chance decides.
pub(super) const FOREIGN: u32 = 64;
/// Maximum number of thread pairs for all pairs to be compared: 512 by 512.
pub(super) const THREAD_PAIRS: usize = 1 << 18;
/// With more than [`THREAD_PAIRS`] pairs, the number of threads before and after its position that
/// each thread is compared with.
pub(super) const THREADS_BESIDE: usize = 4;
/// With more than [`THREAD_PAIRS`] pairs, the number of threads that each thread is compared with
/// because they share its rarest tokens.
pub(super) const THREADS_LIKE: usize = 24;
/// Limit on the search for the calls of unmatched threads, as a multiple of the number of calls in
/// both traces.
pub(super) const RESCUED: usize = 16;

/// Minimum length in letters of a word that can relate two names: `copy` and `view` occur in many
/// names, `convolution` and `attention` do not.
pub(super) const TELLING_WORD: usize = 5;
/// Maximum number of distinct names in one trace that may contain a word for the word to be
/// sufficient evidence on its own. An op has a handful of variants, each of which may have a
/// backward op. A word in twice as many names weighs half.
pub(super) const TELLING_NAMES: u32 = 8;
/// Maximum ratio between the evidence tokens of two variants of one op, before [`SMALL`] is added.
/// Some libraries use sixteen kernels instead of one; none uses a hundred.
pub(super) const RATIO: u32 = 16;
/// Number of evidence tokens by which a call may always exceed its renamed version: a handful of
/// launches.
pub(super) const SMALL: u32 = 32;
/// Number of tokens that equal arguments add to the value of a rename. Arguments are only one
/// token, but they are less likely to be equal by chance.
pub(super) const RENAME_BONUS: u32 = 2;
/// Score of related names or equal arguments in a rename. Common tokens count 8 each, so the value
/// is one and a half tokens.
pub(super) const AKIN: i64 = 12;
/// Maximum number of possible renames that are compared with opening a call.
pub(super) const PARTNERS: usize = 64;

/// Minimum number of calls in a piece of pending work that is handed to another thread. According
/// to `docs/development/measurements.md`, a piece of this size takes a quarter of a millisecond if
/// both sides are alike, and three milliseconds if every name differs.
pub(super) const PIECE: u32 = 1 << 11;

/// Maximum number of cells for lists to be solved exactly: 256 by 256, less than a millisecond.
pub(super) const EXACT_CELLS: usize = 1 << 16;
/// Maximum size of the table, in words of 64 cells, for finding the plain path of longer lists
/// exactly: two lists of 8,000, in 8 MB and a few milliseconds.
pub(super) const LCS_WORDS: usize = 1 << 20;
/// Maximum number of matches per element for finding the plain path of even longer lists exactly.
pub(super) const LCS_MATCHES: usize = 8;
/// An unequal block with more cells than this is only searched along its diagonal.
pub(super) const BLOCK_CELLS: usize = 1 << 20;
/// Half the width of a corridor with more than [`WIDE_CELLS`] cells. A corridor is the part of the
/// score table that is searched.
pub(super) const HALF_WIDTH: usize = 32;
/// Maximum number of cells to which a corridor is widened. In a row of similar layers, a wide
/// corridor reaches several layers to both sides, because the path may be off by one layer if
/// nearly everything is renamed.
pub(super) const WIDE_CELLS: usize = 1 << 18;
/// Half the width of the widest corridor.
pub(super) const HALF_WIDEST: usize = 128;
/// Maximum number of cells of a corridor. Larger corridors are narrowed to limit memory.
pub(super) const MOST_CELLS: usize = 1 << 23;
/// Half the width of the narrowest corridor.
pub(super) const HALF_NARROWEST: usize = 4;

/// Maximum number of holes in a row for holes to be compared with each other; among more holes,
/// some are alike by chance.
pub(super) const HOLES: usize = 64;
/// Minimum number of elements in a hole that is matched to a part of a longer hole, which may be at
/// most twice as long. In smaller holes, the first and last elements are equal by chance.
pub(super) const LEAST_PART: usize = 3;
/// Number of nearest calls on the other side, before and after, that are considered for a moved
/// call. The value exceeds the number of calls usually found in one spot.
pub(super) const NEAREST: usize = 8;
/// Number of repetitions of the search among the nearest free calls. Each repetition matches half
/// of the calls crowded in one spot; larger crowds are not evidence.
pub(super) const ROUNDS: usize = 16;
/// Equal calls may swap counterparts even if more of them then count as moved, provided that this
/// brings counterparts at least this many times nearer to each other. The value exceeds 3 because
/// undoing one true move past all other calls brings counterparts 3 times nearer.
pub(super) const MUCH_NEARER: usize = 4;
/// If equal calls swap counterparts because of [`MUCH_NEARER`], the number of calls that count as
/// moved may grow at most by this factor. Without this limit, one moved layer of a row might be
/// reported as all other layers having swapped places with their neighbors.
pub(super) const MANY_MORE: usize = 3;
/// Maximum number of calls below the free calls of one side that are examined to find which free
/// calls of the other side they may wrap.
pub(super) const LOOKED_INTO: usize = 1 << 14;
/// Maximum distance in preorder for two calls to count as swapped neighbors: about one op.
pub(super) const BESIDE: u32 = 48;
/// Maximum sibling distance for two calls to count as swapped neighbors, whatever their size: the
/// position after the neighbor.
pub(super) const SIBLINGS_BESIDE: usize = 2;
/// Minimum number of siblings in a crowded gap; moved calls must fill a substantial part of such a
/// gap.
pub(super) const CROWD: usize = 12;
/// Maximum ratio of the sizes, in siblings, of the two crowded gaps between which a call moves.
pub(super) const PART_OF_CROWD: usize = 3;
/// Maximum distance in preorder for two calls to be near each other: about one layer.
pub(super) const NEAR: u32 = 512;
/// Minimum number of evidence tokens in a call that is matched with an equal call below another
/// parent: a module with an op in it. Smaller calls are equal by chance.
pub(super) const MOVED_ELSEWHERE: u32 = 8;
/// If a list has at most this many siblings, no distance in it counts as far: a frame has a few
/// dozen children, a thread without frames has thousands of ops.
pub(super) const SHORT_LIST: usize = 64;
/// Minimum number of evidence tokens, about one layer, of a call that is matched anywhere if it is
/// the only unmatched call of its kind on each side, even if matched calls of its kind exist.
pub(super) const UNMISTAKABLE: u32 = 128;
/// Minimum number of siblings that can be the former contents of a lost wrapper.
pub(super) const LEAST_RUN: usize = 8;
/// Maximum number of runs of siblings, per list, that are examined as former contents of a lost
/// wrapper.
pub(super) const RUNS: usize = 64;
