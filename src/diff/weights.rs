//! Every weight and bound of the alignment, with the reason for its value.
//!
//! Weights are only compared with each other. What two siblings have in common is counted in
//! [`TOKEN`]s. Except for [`EXACT`], the other weights are fractions of a token: bonuses that only
//! break ties, and reduced scores per token.

/// Score of one common token. A power of two, with room for the fractions below.
pub(super) const TOKEN: i64 = 64;
/// Score of complete equality. An equal pair must outweigh a pair with slightly more in common,
/// which in a row of similar siblings is a larger call that changed.
pub(super) const EXACT: i64 = 3 * TOKEN;
/// Score of equal arguments, on top of the token that they are. Half a token, because two calls
/// that share one more call below are better evidence.
pub(super) const ARGUMENTS: i64 = TOKEN / 2;
/// Score of the same exact name, such as `nn.Module: Linear_3`; only breaks ties.
pub(super) const NAME: i64 = TOKEN / 16;
/// Score of one common token of two calls that are not a match: a call and a wrapper around it, or
/// a call and its renamed version. Less than any match, but enough to put both into the same gap.
pub(super) const AFFINITY: i64 = TOKEN / 4;
/// Score of one common token of a call and the call of its name inside a wrapper. They will be a
/// match, one level deeper, so this is nearly the score of a match between siblings.
pub(super) const WRAPPED: i64 = TOKEN * 7 / 8;
/// Minimum number of tokens of a layer: a module with a few ops in it.
pub(super) const LAYER: i64 = 16;
/// Minimum number of layers in a row.
pub(super) const LAYERS: usize = 3;
/// Maximum number of pairs of layers that are compared for one row.
pub(super) const LAYER_CELLS: usize = 1 << 14;
/// Score of matching two runtime calls without GPU work, which vary from run to run.
pub(super) const QUERY: i64 = TOKEN / 8;
/// If each of two calls has an equal counterpart elsewhere, they have swapped places. Their score
/// as opposites is divided by this.
pub(super) const SETTLED: i64 = 8;
/// Levels of wrappers to look through: decorators and dispatchers nest about five deep.
pub(super) const WRAPPERS: usize = 16;

/// Minimum number of tokens of a thread that can be called foreign: with few calls, chance decides.
pub(super) const FOREIGN: u32 = 64;
/// Maximum number of pairs of threads for all of them to be compared: 512 by 512.
pub(super) const THREAD_PAIRS: usize = 1 << 18;
/// With more than [`THREAD_PAIRS`] pairs, the number of threads to compare a thread with on each
/// side of its position.
pub(super) const THREADS_BESIDE: usize = 4;
/// With more than [`THREAD_PAIRS`] pairs, the number of threads to compare a thread with because
/// they share its rarest tokens.
pub(super) const THREADS_LIKE: usize = 24;
/// Bound on the search for the calls of unmatched threads, as a multiple of the calls of both
/// traces.
pub(super) const RESCUED: usize = 16;

/// Minimum number of letters of a word that can relate two names: `copy` and `view` occur in many
/// names, `convolution` and `attention` do not.
pub(super) const TELLING_WORD: usize = 5;
/// Maximum number of distinct names in one trace that may contain a word for it to be sufficient
/// evidence on its own. One op has a handful of variants, each of which may have a backward. A word
/// in twice as many names weighs half.
pub(super) const TELLING_NAMES: u32 = 8;
/// Maximum ratio between the evidence tokens of two variants of one op, before [`SMALL`] is added.
/// Some libraries use sixteen kernels in place of one, none uses a hundred.
pub(super) const RATIO: u32 = 16;
/// Evidence tokens by which any call may exceed its renamed version: a handful of launches.
pub(super) const SMALL: u32 = 32;
/// Tokens that equal arguments add to the value of a rename. They are one token, but less likely to
/// be equal by chance.
pub(super) const RENAME_BONUS: u32 = 2;
/// Score of related names or equal arguments, for a rename: one and a half common tokens, each of
/// which counts 8.
pub(super) const AKIN: i64 = 12;
/// Number of possible renames that are weighed against opening a call.
pub(super) const PARTNERS: usize = 64;

/// Minimum number of calls of a piece of pending work that is given to another thread. By the
/// figures in `docs/development/measurements.md` this is a quarter of a millisecond of work if both sides are
/// alike, and three if every name differs.
pub(super) const PIECE: u32 = 1 << 11;

/// Lists with at most this many cells are solved exactly: 256 by 256, less than a millisecond.
pub(super) const EXACT_CELLS: usize = 1 << 16;
/// Maximum size of the table, in words of 64 cells, with which the plain path of longer lists is
/// found exactly: two lists of 8,000, in 8 MB and a few milliseconds.
pub(super) const LCS_WORDS: usize = 1 << 20;
/// Maximum number of matches per element with which the plain path of even longer lists is found
/// exactly.
pub(super) const LCS_MATCHES: usize = 8;
/// An unequal block with more cells than this is only searched along its diagonal.
pub(super) const BLOCK_CELLS: usize = 1 << 20;
/// Half the width of a corridor that has more cells than [`WIDE_CELLS`].
pub(super) const HALF_WIDTH: usize = 32;
/// Maximum number of cells to which a corridor is widened. In a row of similar layers the search
/// then reaches several layers to both sides, because the path may be off by one layer if nearly
/// everything is renamed.
pub(super) const WIDE_CELLS: usize = 1 << 18;
/// Half the width of the widest corridor.
pub(super) const HALF_WIDEST: usize = 128;
/// Maximum number of cells of a corridor. A larger one is narrowed, to bound memory.
pub(super) const MOST_CELLS: usize = 1 << 23;
/// Half the width of the narrowest corridor.
pub(super) const HALF_NARROWEST: usize = 4;

/// Maximum number of holes in a row for comparing them with each other: with more, some are alike
/// by chance.
pub(super) const HOLES: usize = 64;
/// Minimum number of elements that a hole must have to match a part of a longer hole, which may be
/// at most twice as long. With fewer, the first and the last are equal by chance.
pub(super) const LEAST_PART: usize = 3;
/// Number of nearest calls of the other side, before and after, to consider for a moved call. It
/// exceeds the number of calls usually found in one spot.
pub(super) const NEAREST: usize = 8;
/// How often the search among the nearest free calls is repeated. Each time half of the calls
/// crowded in one spot are matched, and larger crowds are not evidence.
pub(super) const ROUNDS: usize = 16;
/// Equal calls may swap counterparts even if more of them then count as moved, but only if that
/// brings them at least this many times nearer to their counterparts. The value exceeds 3, because
/// undoing one true move past all others brings them 3 times nearer.
pub(super) const MUCH_NEARER: usize = 4;
/// If equal calls swap counterparts because of [`MUCH_NEARER`], at most this many times as many of
/// them as before may count as moved. Without this bound, one moved layer of a row might be
/// reported as all other layers having swapped places with their neighbours.
pub(super) const MANY_MORE: usize = 3;
/// Maximum number of calls below the free calls of one side to examine, to find out which free
/// calls of the other side they may wrap.
pub(super) const LOOKED_INTO: usize = 1 << 14;
/// Maximum distance in preorder for two calls to count as swapped neighbours: about one op.
pub(super) const BESIDE: u32 = 48;
/// Maximum sibling distance for two calls to count as swapped neighbours, whatever their size: the
/// position after the neighbour.
pub(super) const SIBLINGS_BESIDE: usize = 2;
/// Minimum number of siblings in a gap that a move must fill in part.
pub(super) const CROWD: usize = 12;
/// The gap of a moved call must have at least one in this many siblings of the gap that it moves
/// to.
pub(super) const PART_OF_CROWD: usize = 3;
/// Maximum distance in preorder for two calls to be near each other: about one layer.
pub(super) const NEAR: u32 = 512;
/// Evidence tokens that a call must contain to be matched with an equal call below another parent:
/// a module with an op in it. Smaller ones are equal by chance.
pub(super) const MOVED_ELSEWHERE: u32 = 8;
/// If a list has at most this many siblings, no distance in it counts as far: a frame has a few
/// dozen children, a thread without frames has thousands of ops.
pub(super) const SHORT_LIST: usize = 64;
/// Evidence tokens, about one layer, from which a call matches anywhere as soon as it is the only
/// unmatched one of its kind on each side, even if matched calls of its kind exist.
pub(super) const UNMISTAKABLE: u32 = 128;
/// Fewest siblings that can be the former contents of a lost wrapper.
pub(super) const LEAST_RUN: usize = 8;
/// Maximum number of such runs of siblings to look at, in each list.
pub(super) const RUNS: usize = 64;
