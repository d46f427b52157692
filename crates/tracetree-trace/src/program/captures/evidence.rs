//! Scores the evidence that a captured launch produced a given GPU event of a replay.
//!
//! ROCm records the kernel name with the launch, so names are the main evidence in ROCm traces.
//! CUDA records no kernel names with launches. In CUDA traces, words that the op and its kernel
//! share can help (`rms_norm`, `add_rmsnorm_kernel`). The two sequences provide more evidence: an
//! op with a given shape launches the same kernel in every layer.

use super::graphs::LaunchKind;
use super::sequences::{Launched, Ran};
use crate::trace::{TextId, Texts};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The score of a launch and an event, in sixteenths of a point.
pub(super) type Score = i32;

/// Base score of a launch and an event whose kinds are compatible.
const KIND: Score = 16;
/// Score if the kernel name recorded with the launch equals the name of the kernel.
const NAME: Score = 128;
/// Score if the op and the kernel have the same name, as with Triton ops.
const OP_IS_KERNEL: Score = 96;
/// Score if the op and the kernel do the same kind of work, according to the words in their names.
const SAME_WORK: Score = 48;
/// Score if the op and the kernel do different kinds of work, according to the words in their
/// names.
const OTHER_WORK: Score = -24;
/// Score if a word from the op's name occurs in the kernel's name.
const SAME_WORD: Score = 32;
/// Minimum length of a word that is searched for in kernel names. Shorter words occur by chance in
/// many longer words.
const SHORTEST_WORD: usize = 3;
/// Score if the launch and the kernel have the same grid and block. If the grid or the block
/// differs, this score is subtracted instead.
const GRID: Score = 24;
/// Score if the previous alignment matched every launch with the same context (the calls above the
/// launch) with a kernel of this name and grid.
const LEARNED: Score = 80;
/// Score if the previous alignment matched no launch with the same context with a kernel of this
/// name. In all other cases, the score is interpolated between `NOT_LEARNED` and [`LEARNED`].
const NOT_LEARNED: Score = -24;

/// Kinds of GPU work. For each kind: the words that indicate it in op names, and the substrings
/// that indicate it in kernel names.
const WORK: [(&[&str], &[&str]); 17] = [
    (
        &["convolution", "conv", "conv1d", "conv2d", "conv3d"],
        &["conv", "igemm", "implicit", "winograd", "xmma", "wgrad", "dgrad", "cudnn", "fprop"],
    ),
    (&["pool", "pool2d"], &["pool"]),
    (&["foreach", "adam", "adamw"], &["multi_tensor"]),
    (
        &["mm", "addmm", "bmm", "baddbmm", "matmul", "linear", "gemm", "scaled", "gemv"],
        &["gemm", "gemv", "cijk", "cutlass", "xmma", "wvsplitk", "splitk", "nvjet"],
    ),
    (
        &["attention", "attn", "mha", "sdpa", "mla", "fmha"],
        &["attn", "attention", "mha", "flash", "paged", "mla"],
    ),
    (&["norm", "rmsnorm", "layernorm", "batchnorm"], &["norm", "bn_", "bnfwd", "bnbwd"]),
    (&["rotary", "rope", "mrope"], &["rotary", "rope"]),
    (&["silu", "gelu", "relu", "swiglu", "sigmoid"], &["silu", "gelu", "relu", "act_and"]),
    (&["softmax", "entropy"], &["softmax"]),
    (&["topk", "sort"], &["topk", "sort"]),
    (&["embedding", "gather", "index", "scatter"], &["gather", "index", "scatter", "embedding"]),
    (&["copy", "contiguous", "clone", "to"], &["copy"]),
    (&["fill", "zero", "zeros", "full", "ones"], &["fill", "memset"]),
    (&["cat", "stack"], &["catarray", "concat"]),
    (&["moe", "experts", "expert"], &["moe", "expert"]),
    (&["sum", "mean", "argmax", "max", "amax", "prod"], &["reduce"]),
    (&["cache", "kv"], &["cache", "kv_buffer"]),
];

/// The matches between captured launches and the GPU events of a replay.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Alignment {
    /// For each event of the replay, the launch that produced this event.
    pub(super) launches: Vec<Option<u32>>,
    /// Fraction of the pairs that are supported by evidence other than their order; 1 if kernel
    /// names were recorded.
    pub(super) agreement: f64,
}

impl Alignment {
    /// The matched pairs (event, launch), given by the positions of event and launch in the two
    /// sequences.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let pair = |(at, launch): (usize, &Option<u32>)| launch.map(|launch| (at, launch as usize));
        self.launches.iter().enumerate().filter_map(pair)
    }

    pub(super) fn placed(&self) -> usize {
        self.launches.iter().flatten().count()
    }
}

/// The evidence that shows which launch produced which kernel.
pub(super) struct Evidence<'a> {
    texts: &'a Texts,
    /// Cached scores of the words in each context and kernel name.
    words: FxHashMap<(TextId, TextId), Score>,
    /// `pairs` counts how often launches with a context were matched with each kernel name, and
    /// with each combination of kernel name and grid. `contexts` counts all matched launches with a
    /// context.
    pairs: FxHashMap<(TextId, TextId), u32>,
    contexts: FxHashMap<TextId, u32>,
    uses_grids: bool,
}

impl<'a> Evidence<'a> {
    pub(super) fn new(texts: &'a Texts) -> Self {
        Evidence {
            texts,
            words: FxHashMap::default(),
            pairs: FxHashMap::default(),
            contexts: FxHashMap::default(),
            uses_grids: true,
        }
    }

    /// The score of a launch and an event; `None` if the launch cannot have produced the event.
    pub(super) fn score(&mut self, launched: &Launched, ran: &Ran) -> Option<Score> {
        if launched.kind != ran.kind && !self.may_be_written_as(launched.kind, ran) {
            return None;
        }
        if launched.name.is_some_and(|name| name != ran.name) {
            return None;
        }
        let mut score = match launched.name {
            Some(_) => KIND + NAME,
            None => KIND + self.words(launched.context, ran.name),
        };
        if let (true, Some(planned), Some(used)) = (self.uses_grids, launched.grid, ran.grid) {
            score += if planned == used { GRID } else { -GRID };
        }
        if let Some(&all) = self.contexts.get(&launched.context) {
            // Matches by name alone have the same weight as matches by name and grid, because an op
            // whose shapes were not recorded can have many grids.
            let of = |seen: TextId| self.pairs.get(&(launched.context, seen)).copied().unwrap_or(0);
            let (all, these) = (2 * all as Score, (of(ran.sort) + of(ran.name)) as Score);
            score += (LEARNED * these + NOT_LEARNED * (all - these)) / all;
        }
        Some(score)
    }

    /// Whether the event may be a copy or memset that ROCm ran and recorded as a kernel.
    fn may_be_written_as(&self, kind: LaunchKind, ran: &Ran) -> bool {
        let name = self.texts.get(ran.name).to_ascii_lowercase();
        ran.kind == LaunchKind::Kernel
            && match kind {
                LaunchKind::Kernel => false,
                LaunchKind::Memcpy => name.contains("copy"),
                LaunchKind::Memset => name.contains("fill") || name.contains("memset"),
            }
    }

    fn words(&mut self, context: TextId, kernel: TextId) -> Score {
        let texts = self.texts;
        *self
            .words
            .entry((context, kernel))
            .or_insert_with(|| words(texts.get(context), texts.get(kernel)))
    }

    /// Counts which kernels an alignment matched with each context, for use in later scores.
    pub(super) fn learn(&mut self, launched: &[Launched], ran: &[Ran], alignment: &Alignment) {
        self.pairs.clear();
        self.contexts.clear();
        let (mut equal, mut grids) = (0, 0);
        for (at, launch) in alignment.pairs() {
            let (launch, ran) = (&launched[launch], &ran[at]);
            *self.pairs.entry((launch.context, ran.sort)).or_default() += 1;
            *self.pairs.entry((launch.context, ran.name)).or_default() += 1;
            *self.contexts.entry(launch.context).or_default() += 1;
            if let (Some(planned), Some(used)) = (launch.grid, ran.grid) {
                grids += 1;
                equal += u32::from(planned == used);
            }
        }
        // Some profilers record the grid of the launch in blocks and the grid of the kernel in
        // threads, or vice versa.
        self.uses_grids = 2 * equal >= grids;
    }

    /// Fraction of the matched pairs in which the kernel fits the name of the op. A pair whose
    /// launch recorded a kernel name always counts. If the words are inconclusive, a pair counts
    /// only if its kernel is the most frequent kernel for launches with the same context.
    pub(super) fn agreement(
        &mut self,
        launched: &[Launched],
        ran: &[Ran],
        alignment: &Alignment,
    ) -> f64 {
        self.learn(launched, ran, alignment);
        let mut names: BTreeMap<(TextId, TextId), u32> = BTreeMap::new();
        for (at, launch) in alignment.pairs() {
            *names.entry((launched[launch].context, ran[at].name)).or_default() += 1;
        }
        let mut usual: FxHashMap<TextId, (u32, TextId)> = FxHashMap::default();
        for (&(context, name), &count) in &names {
            let best = usual.entry(context).or_insert((count, name));
            *best = (*best).max((count, name));
        }
        let (mut agree, mut all) = (0.0, 0.0);
        for (at, launch) in alignment.pairs() {
            let (launch, ran) = (&launched[launch], &ran[at]);
            let is_usual = usual.get(&launch.context).is_some_and(|&(_, name)| name == ran.name);
            let words = self.words(launch.context, ran.name);
            // Without recorded shapes, launches with one context can start different kernels. If
            // the kernel is not the most frequent kernel for the context, the words must confirm
            // the match.
            let agrees = launch.name.is_some() || words > 0 || (words == 0 && is_usual);
            agree += f64::from(u8::from(agrees));
            all += 1.0;
        }
        if all == 0.0 { 0.0 } else { agree / all }
    }
}

/// Scores how well the name of a kernel fits the names of the calls above a launch.
fn words(context: &str, kernel: &str) -> Score {
    let mut lines = context.lines();
    let op = lines.next().unwrap_or_default();
    if op == kernel {
        return OP_IS_KERNEL;
    }
    // The context's lines that contain shapes or launch counts are skipped, because they contain no
    // names.
    let named: Vec<String> = std::iter::once(op)
        .chain(lines.skip_while(|line| line.starts_with(['[', '#'])))
        .map(str::to_ascii_lowercase)
        .collect();
    let kernel = kernel.to_ascii_lowercase();
    let words: Vec<&str> = named
        .iter()
        .flat_map(|name| name.split(|c: char| !c.is_ascii_alphanumeric()))
        .filter(|word| !word.is_empty())
        .collect();
    let mut both = [false; 2];
    for (of_ops, of_kernels) in WORK {
        let is_op = words.iter().any(|word| of_ops.contains(word));
        let is_kernel = of_kernels.iter().any(|part| kernel.contains(part));
        if is_op && is_kernel {
            return SAME_WORK;
        }
        both = [both[0] || is_op, both[1] || is_kernel];
    }
    let is_shared =
        |word: &&str| word.len() >= SHORTEST_WORD && *word != "aten" && kernel.contains(*word);
    // Only the words of the op's own name are compared, because the names of frames contain too
    // many words.
    let of_op = op.to_ascii_lowercase();
    let mut own = of_op.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    match both {
        _ if own.any(|word| is_shared(&word)) => SAME_WORD,
        [true, true] => OTHER_WORK,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_identify_the_kernel_that_an_op_launches() {
        let mm = "aten::mm\n[[32, 4096], [4096, 6144]]\n#0";
        assert_eq!(words(mm, "Cijk_Ailk_Bljk_BBS_BH_MT64x64x64"), SAME_WORK);
        assert_eq!(words(mm, "add_rmsnorm_quant_kernel"), OTHER_WORK);
        assert_eq!(words(mm, "some_kernel"), 0);
        assert_eq!(words("triton_poi_fused_0", "triton_poi_fused_0"), OP_IS_KERNEL);
        assert_eq!(words("aten::silu\n#0", "void act_and_mul_kernel<silu>"), SAME_WORK);
    }
}
