//! Every weight and bound of the alignment, with the reason for its size.
//!
//! Weights are compared with each other only: what two siblings have in common is counted in
//! [`TOKEN`]s, and everything else is a part of one, so that it can break a tie and nothing more.

/// Worth of one common token. A power of two with room for the parts below.
pub(super) const TOKEN: i64 = 64;
/// Worth of being equal in everything: outweighs a pair with a little more in common, which in a row
/// of like siblings is a larger one that was changed.
pub(super) const EXACT: i64 = 3 * TOKEN;
/// Worth of equal arguments, beyond the token that they are: half a token, as two calls that share
/// one more call below are better evidence.
pub(super) const ARGUMENTS: i64 = TOKEN / 2;
/// Worth of the same name to the letter, such as `nn.Module: Linear_3`; breaks ties only.
pub(super) const NAME: i64 = TOKEN / 16;
/// Worth of one common token of two calls that are no pair: a call and a wrapper around it, or a
/// call and its renamed self. Less than any pair, but it makes the gap open where both are.
pub(super) const AFFINITY: i64 = TOKEN / 4;
/// Worth of one common token of a call and the one of its name inside of a wrapper: a pair, if one
/// level deeper, so nearly as much as a pair beside it.
pub(super) const WRAPPED: i64 = TOKEN * 7 / 8;
/// Worth of pairing two runtime calls without GPU work: they differ between two runs at will.
pub(super) const QUERY: i64 = TOKEN / 8;
/// Where each of two calls has an equal one elsewhere, the two have changed places, and their being
/// opposite each other counts this part of what it would.
pub(super) const SETTLED: i64 = 8;
/// Levels of wrappers that are looked through: decorators and dispatchers come in fives, not more.
pub(in crate::diff) const WRAPPERS: usize = 16;

/// Tokens that threads must have before they are called foreign: in a few calls, chance decides.
pub(super) const FOREIGN: u32 = 64;
/// Pairs of threads up to which every one is held against every other one: 512 by 512.
pub(super) const THREAD_PAIRS: usize = 1 << 18;
/// Threads in about the same place that are looked at where there are more, before and behind.
pub(super) const THREADS_BESIDE: usize = 4;
/// Threads that share rare tokens that are looked at then.
pub(super) const THREADS_LIKE: usize = 24;
/// How many times the calls of both traces may be looked at for what unpaired threads ran.
pub(super) const RESCUED: usize = 16;

/// Letters that a word must have before two names that share it are taken for kin: `copy` and `view`
/// are parts of many names, `convolution` and `attention` are not.
pub(super) const TELLING_WORD: usize = 5;
/// In so many distinct names of one trace a word may stand and still tell alone: the variants of
/// one op are a handful, and each of them may have a backward. A word in twice as many weighs half.
pub(super) const TELLING_NAMES: u32 = 8;
/// How many times as much one of two calls may hold before they are no variants of one op, beyond
/// [`SMALL`]: a library that takes sixteen kernels for one exists, one that takes a hundred does not.
pub(super) const RATIO: u32 = 16;
/// Evidence tokens that any call may hold more than its renamed self: a handful of launches.
pub(super) const SMALL: u32 = 32;
/// Tokens that equal arguments add to the worth of a rename: they are one, and less likely to be equal by
/// chance.
pub(super) const RENAME_BONUS: u32 = 2;
/// Worth of arguments or names that agree, for a rename: of a common call and a half, each of which counts 8.
pub(super) const AKIN: i64 = 12;
/// How many partners for a rename are weighed against opening a call.
pub(super) const PARTNERS: usize = 64;

/// Calls that a piece of what waits must have before it is given to another thread: by the figures in
/// `docs/measurements.md` a quarter of a millisecond where both sides are alike, three where every name differs.
pub(super) const PIECE: u32 = 1 << 11;

/// Lists with at most this many cells are solved exactly: 256 by 256, less than a millisecond.
pub(super) const EXACT_CELLS: usize = 1 << 16;
/// Words of 64 cells up to which the plain path of longer lists is found exactly: two lists of 8,000, in 8 MB and
/// a few milliseconds.
pub(super) const LCS_WORDS: usize = 1 << 20;
/// Matches for each element of longer lists up to which the plain path is found exactly all the same.
pub(super) const LCS_MATCHES: usize = 8;
/// A block of unequal tokens with more cells than this is searched along its diagonal only.
pub(super) const BLOCK_CELLS: usize = 1 << 20;
/// Half the width of a corridor that has more cells than [`WIDE_CELLS`].
pub(super) const HALF_WIDTH: usize = 32;
/// Cells up to which a corridor is made wider. A row of like layers may be searched several layers
/// to both sides then: the path may be wrong by one of them where nearly everything is renamed.
pub(super) const WIDE_CELLS: usize = 1 << 18;
/// Half the width of the widest corridor.
pub(super) const HALF_WIDEST: usize = 128;
/// Cells above which a corridor is made narrower; bounds memory.
pub(super) const MOST_CELLS: usize = 1 << 23;
/// Half the width of the narrowest corridor.
pub(super) const HALF_NARROWEST: usize = 4;

/// Holes of a row up to which each is held against the others: of more of them some are alike by
/// chance.
pub(super) const HOLES: usize = 64;
/// Elements that a hole must have to be taken for a part of a longer one, of at most twice as many:
/// of fewer, the first and the last are equal by chance.
pub(super) const LEAST_PART: usize = 3;
/// How many of the nearest calls of the other side are considered for a call that moved, before and
/// behind: more than stand in one place.
pub(super) const NEAREST: usize = 8;
/// How often what moved is looked for among the nearest that are still free: each time half of a
/// crowd in one place finds a partner, and larger crowds are no evidence.
pub(super) const ROUNDS: usize = 16;
/// How many times nearer equal calls must stand to their partners in order before more of them may have moved:
/// one that moved past all others would bring them three times nearer.
pub(super) const MUCH_NEARER: usize = 4;
/// How many times as many of them may have moved then: of a row of layers all but one would change places with
/// what stands beside them, where one moved.
pub(super) const MANY_MORE: usize = 3;
/// How many calls below those that are left over are looked at.
pub(super) const LOOKED_INTO: usize = 1 << 14;
/// How far apart two neighbours that changed places are, in calls of the preorder: about an op.
pub(super) const BESIDE: u32 = 48;
/// How far apart two neighbours that changed places are among their siblings, whatever they hold: behind
/// the other one.
pub(super) const SIBLINGS_BESIDE: usize = 2;
/// How far apart two calls are near: about a layer.
pub(super) const NEAR: u32 = 512;
/// Evidence tokens that a call must hold before an equal one below another parent is taken for it:
/// a module with an op in it. Smaller ones are found equal by chance.
pub(super) const MOVED_ELSEWHERE: u32 = 8;
/// Siblings up to which nothing below one pair is far: a frame calls a few dozen others, a thread
/// without frames thousands of ops.
pub(super) const SHORT_LIST: usize = 64;
/// Evidence tokens that a call must hold so that the only one of its kind that is left over on each
/// side is the same one wherever it stands, though there are others of its kind: about a layer.
pub(super) const UNMISTAKABLE: u32 = 128;
/// Fewest siblings that are taken together as what a lost wrapper held.
pub(super) const LEAST_RUN: usize = 8;
/// Runs of siblings that are looked at for that, in each list.
pub(super) const RUNS: usize = 64;
