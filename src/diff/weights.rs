//! Defines all weights and limits that the alignment uses, and explains their values.
//!
//! The score of two siblings measures their similarity. Its unit is [`TOKEN`], the score of one shared token; scores
//! are only compared with each other, so the value of the unit does not matter. [`EXACT`] is worth several tokens. All
//! other scores of siblings are fractions of a token: bonuses that only break ties, or reduced scores per shared token.

/// Score of one token that two siblings share. The value is a power of two, so it can be divided
/// into the fractions below.
pub(super) const TOKEN: i64 = 64;
/// Score of two identical siblings. In a run of similar siblings, a match with an identical sibling must outweigh a
/// match with a larger, changed sibling that shares slightly more tokens.
pub(super) const EXACT: i64 = 3 * TOKEN;
/// Score for identical arguments, in addition to the score of the shared argument token. The value is half a token,
/// because one additional shared nested call is better evidence than identical arguments.
pub(super) const ARGUMENTS: i64 = TOKEN / 2;
/// Score for names that are identical including their instance numbers, such as `nn.Module: Linear_3`. The value only
/// breaks ties.
pub(super) const NAME: i64 = TOKEN / 16;
/// Score per shared token for two calls that cannot match as siblings but should end up in the same gap between
/// matches. Examples are a call and its wrapper, or a call and its renamed version. The value is lower than the score
/// per token of any match.
pub(super) const AFFINITY: i64 = TOKEN / 4;
/// Score of one token that a call shares with a call of the same name inside a wrapper. The two
/// calls will be matched later, one level deeper, so the value is nearly as high as for a match
/// between siblings.
pub(super) const WRAPPED: i64 = TOKEN * 7 / 8;
/// Minimum number of tokens required to treat a call as a layer: about as many as in a module with a few ops.
pub(super) const LAYER: i64 = 16;
/// Minimum number of layers in a run of layers.
pub(super) const LAYERS: usize = 3;
/// In a list without frames, layers are detected only if at least this many different calls occur once per layer.
pub(super) const FEWEST_MARKS: usize = 4;
/// Generated code on the opposite side may have replaced extra layers only if that side has more than one additional
/// token of generated code for every `FUSED` tokens of the layers.
pub(super) const FUSED: u64 = 16;
/// In two lists without frames, layers are compared only if there are at most this many pairs of layers.
pub(super) const BARE_LAYER_CELLS: usize = 1 << 18;
/// In a run of layers, the layers are compared only if there are at most this many pairs of layers.
pub(super) const LAYER_CELLS: usize = 1 << 14;
/// Score for matching two runtime calls without GPU work. Runtime calls without GPU work vary from run to run, so the
/// score is only a fraction of a token.
pub(super) const QUERY: i64 = TOKEN / 8;
/// Divisor for the score of two calls that each have an identical counterpart elsewhere. Such calls should be matched
/// with their identical counterparts instead of with each other.
pub(super) const SETTLED: i64 = 8;
/// A module wraps another if it shares at most this many tokens more with the opposite module than the module inside
/// it: the frames between the two.
pub(super) const WRAPPED_MODULE: u32 = 4;
/// Maximum number of nested wrappers to look through; decorators and dispatchers nest about five
/// deep.
pub(super) const WRAPPERS: usize = 16;

/// Two threads can be treated as unrelated only if each of them has at least this many tokens. Smaller threads may have
/// nothing in common by chance.
pub(super) const FOREIGN: u32 = 64;
/// Every pair of threads is compared if there are at most this many pairs: 512 by 512.
pub(super) const THREAD_PAIRS: usize = 1 << 18;
/// If there are more than [`THREAD_PAIRS`] pairs, each thread is compared only with likely counterparts: this many
/// threads before and after its own position, and the threads that [`THREADS_LIKE`] allows.
pub(super) const THREADS_BESIDE: usize = 4;
/// If there are more than [`THREAD_PAIRS`] pairs, each thread is also compared with at most this many threads that
/// share its rarest tokens.
pub(super) const THREADS_LIKE: usize = 24;
/// The search for counterparts of the calls on unmatched threads visits at most `RESCUED` times as many calls as both
/// traces contain together.
pub(super) const RESCUED: usize = 16;

/// A word that two names share shows that the names are related only if it has at least this many letters. The limit
/// excludes common words such as `copy` and `view` but not `convolution` and `attention`.
pub(super) const TELLING_WORD: usize = 5;
/// If at most this many distinct names in one trace contain a word, the word alone is enough evidence that two names
/// are related. The limit allows for an op with a handful of variants, each of which may have a backward op. If twice
/// as many names contain a word, the word counts half as much.
pub(super) const TELLING_NAMES: u32 = 8;
/// Two calls can be variants of one op only if the larger has at most `RATIO` times as many evidence tokens as the
/// smaller, plus [`SMALL`]. Some libraries use sixteen kernels where others use a single kernel; no library uses a
/// hundred.
pub(super) const RATIO: u32 = 16;
/// Number of evidence tokens that the larger of two variants may have in addition to [`RATIO`] times the tokens of the
/// smaller variant. The value corresponds to a handful of launches.
pub(super) const SMALL: u32 = 32;
/// Bonus for identical arguments when a rename is scored, in tokens. Identical arguments are only one shared token, but
/// they are less likely than other tokens to agree by chance.
pub(super) const RENAME_BONUS: u32 = 2;
/// Score that related names or identical arguments add to the evidence for a rename. One shared token scores 8, so the
/// value corresponds to one and a half tokens.
pub(super) const AKIN: i64 = 12;
/// Before a call is expanded, at most this many calls on the opposite side are considered as its renamed version.
pub(super) const PARTNERS: usize = 64;

/// Pending alignment work is divided among threads in pieces of at least this many calls; only the last piece may be
/// smaller. Aligning a piece of this size takes a quarter of a millisecond if both sides are identical, and three
/// milliseconds if every name differs.
pub(super) const PIECE: u32 = 1 << 11;

/// Two lists are aligned exactly if their score table has at most this many cells: 256 by 256, which takes less than a
/// millisecond.
pub(super) const EXACT_CELLS: usize = 1 << 16;
/// For longer lists, a table is used to find the exact plain path, which is a longest common subsequence of equal
/// tokens. This is the maximum size of the table, in words of 64 cells. The limit corresponds to two lists of 8,000
/// elements, which take 8 MB and a few milliseconds.
pub(super) const LCS_WORDS: usize = 1 << 20;
/// If the table would exceed [`LCS_WORDS`], the exact plain path is still found if the lists contain, on average, at
/// most this many matches per element.
pub(super) const LCS_MATCHES: usize = 8;
/// A block between two runs of equal tokens is searched completely if it has at most this many cells. A larger block is
/// searched only along its diagonal.
pub(super) const BLOCK_CELLS: usize = 1 << 20;
/// The blocks of two lists that are searched completely have at most this many cells together: four of the largest.
pub(super) const WHOLE_CELLS: usize = 1 << 22;
/// Half the usual width of a corridor, which is the part of the score table that is searched. A corridor is wider if it
/// then has at most [`WIDE_CELLS`] cells, and narrower if it would otherwise exceed [`MOST_CELLS`].
pub(super) const HALF_WIDTH: usize = 32;
/// A corridor is widened until it has about this many cells. If nearly everything is renamed in a run of similar
/// layers, the plain path may be off by one layer. A wide corridor therefore includes several layers on both sides of
/// the path.
pub(super) const WIDE_CELLS: usize = 1 << 18;
/// Half the width of the widest corridor.
pub(super) const HALF_WIDEST: usize = 128;
/// Maximum number of cells in a corridor. Larger corridors are narrowed to limit memory use.
pub(super) const MOST_CELLS: usize = 1 << 23;
/// Half the width of the narrowest corridor.
pub(super) const HALF_NARROWEST: usize = 4;

/// Minimum number of rare calls that decide which repetitions of a loop correspond to each other. Fewer calls may have
/// moved on their own.
pub(super) const ANCHORS: usize = 3;
/// Score of a match of two such calls, which outweighs all other calls.
pub(super) const ANCHOR: i64 = 1 << 40;
/// A hole is a gap between matches that exists on only one side. Holes are compared with each other only if an
/// alignment has at most this many, because among more holes, some are identical by chance.
pub(super) const HOLES: usize = 64;
/// A [hole](HOLES) may be compared with the beginning or the end of a longer hole. The shorter hole must have at least
/// this many elements, because fewer elements may agree by chance, and the longer hole may be at most twice as long.
pub(super) const LEAST_PART: usize = 3;
/// Only the nearest possible counterparts of a moved call are considered: this many before the moved call's position on
/// the opposite side, and as many after it. There are rarely more similar calls this close together.
pub(super) const NEAREST: usize = 8;
/// The search for the nearest unmatched call is repeated at most this many times. Each repetition matches about half of
/// the similar calls that are close together. If a group of similar calls needs more repetitions, its remaining calls
/// stay unmatched.
pub(super) const ROUNDS: usize = 16;
/// An unmatched call may wrap calls that the opposite side makes without the wrapper. To detect such wrappers, at most
/// this many calls inside the unmatched calls of each side are examined.
pub(super) const LOOKED_INTO: usize = 1 << 14;
/// Maximum distance in preorder between two calls that count as swapped neighbors: about one op.
pub(super) const BESIDE: u32 = 48;
/// Maximum distance in siblings between two calls that count as swapped neighbors. The size of the
/// calls does not matter.
pub(super) const SIBLINGS_BESIDE: usize = 2;
/// A gap between matches is crowded if it contains at least this many unmatched siblings on one side. If any gap is
/// crowded, calls are matched as moved only between gaps of similar size (see [`PART_OF_CROWD`]).
pub(super) const CROWD: usize = 12;
/// If any gap is crowded, a call can move from one gap to another only if the numbers of siblings in the two gaps
/// differ by at most this factor.
pub(super) const PART_OF_CROWD: usize = 3;
/// Maximum distance in preorder between two calls that count as near each other: about one layer.
pub(super) const NEAR: u32 = 512;
/// Minimum number of evidence tokens required to match a call with an identical call below a different
/// parent: about as many as in a module with one op. Smaller calls are often identical by chance.
pub(super) const MOVED_ELSEWHERE: u32 = 8;
/// A call may be matched with a call below a different parent at any distance if they are the only unmatched calls of
/// their kind and have at least this many evidence tokens: about one layer.
pub(super) const UNMISTAKABLE: u32 = 128;
/// A run of siblings may be the former contents of a missing wrapper only if it has at least this many siblings. A
/// layer in a list without frames must have at least this many calls, too.
pub(super) const LEAST_RUN: usize = 8;
/// The search for the calls that regions replaced is skipped if it would cover more than this many cells: about 3,000
/// by 3,000 siblings.
pub(super) const COLUMN_CELLS: usize = 1 << 23;
/// The search for the calls that regions replaced is skipped if it would try more than this many runs of calls.
pub(super) const COLUMN_STEPS: usize = 1 << 24;
/// In each list of siblings, at most this many runs are examined as the possible former contents of a missing wrapper.
pub(super) const RUNS: usize = 64;

/// In search of alternatives to the matches in a list, at most this many pairs of calls are compared for each call of
/// the list.
pub(super) const ALTERNATIVE_STEPS: usize = 16;
/// An alternative to a stretch of matches is as good as the matches if it lacks at most one part in this many of their
/// likeness: a stretch of layers may contain a changed call.
pub(super) const ALTERNATIVE_WORSE: i32 = 64;
/// For each side of a gap, at most this many moves of the matches into the gap are tried. Parts of a layer may resemble
/// each other, so the best move of a few matches may not be one by a whole layer.
pub(super) const ALTERNATIVES: usize = 4;
/// Number of matches before and after a call that show whether its identical counterpart is one by chance.
pub(super) const NEIGHBORS: usize = 4;
