//! A captured launch and a GPU event → how much speaks for it that the one has become the other.
//!
//! ROCm records the name of the kernel with the launch: then names decide. CUDA does not. Then the
//! words of the op and of its kernel tell a part (`rms_norm`, `add_rmsnorm_kernel`), and the rest is
//! learned from the sequences themselves: one op with one shape launches one kernel, in every layer.

use super::align::Alignment;
use super::graphs::LaunchKind;
use super::sequences::{Alphabet, Launched, Ran};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What speaks for a pair, in sixteenths of a point.
pub(super) type Score = i32;

/// The kinds agree.
const KIND: Score = 16;
/// The recorded name is the kernel's.
const NAME: Score = 128;
/// The op has the kernel's name, as Triton's have.
const OP_IS_KERNEL: Score = 96;
/// The op and the kernel do the same kind of work, by their words.
const SAME_WORK: Score = 48;
/// They do two kinds of work.
const OTHER_WORK: Score = -24;
/// A word of the op stands in the kernel's name.
const SAME_WORD: Score = 32;
/// Shorter words are parts of many others.
const SHORTEST_WORD: usize = 3;
/// Grid and block agree, where names are not recorded.
const GRID: Score = 24;
/// All launches like this one are paired with this kernel.
const LEARNED: Score = 80;
/// None of them is.
const NOT_LEARNED: Score = -24;

/// Kinds of work, each by words of ops and by parts of kernel names.
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

/// What is known about which launch becomes which kernel.
pub(super) struct Evidence<'a> {
    alphabet: &'a Alphabet,
    /// What the words of a context and of a kernel say, worked out once.
    words: FxHashMap<(u32, u32), Score>,
    /// How often a context was paired with a kernel of this name, with one of this sort, and at all.
    pairs: FxHashMap<(u32, u32), u32>,
    contexts: FxHashMap<u32, u32>,
    uses_grids: bool,
}

impl<'a> Evidence<'a> {
    pub(super) fn new(alphabet: &'a Alphabet) -> Self {
        Evidence {
            alphabet,
            words: FxHashMap::default(),
            pairs: FxHashMap::default(),
            contexts: FxHashMap::default(),
            uses_grids: true,
        }
    }

    /// What speaks for a pair; `None` where it cannot be one.
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
            // The name and the grid count alike: without shapes one op has many grids.
            let of = |seen: u32| self.pairs.get(&(launched.context, seen)).copied().unwrap_or(0);
            let (all, these) = (2 * all as Score, (of(ran.sort) + of(ran.name)) as Score);
            score += (LEARNED * these + NOT_LEARNED * (all - these)) / all;
        }
        Some(score)
    }

    /// ROCm runs some copies and memsets as kernels, and writes them so.
    fn may_be_written_as(&self, kind: LaunchKind, ran: &Ran) -> bool {
        let name = self.alphabet.text(ran.name).to_ascii_lowercase();
        ran.kind == LaunchKind::Kernel
            && match kind {
                LaunchKind::Kernel => false,
                LaunchKind::Memcpy => name.contains("copy"),
                LaunchKind::Memset => name.contains("fill") || name.contains("memset"),
            }
    }

    fn words(&mut self, context: u32, kernel: u32) -> Score {
        let alphabet = self.alphabet;
        *self
            .words
            .entry((context, kernel))
            .or_insert_with(|| words(alphabet.text(context), alphabet.text(kernel)))
    }

    /// Learns from an alignment which launches become which kernels.
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
        // Some recorders count blocks in one place and threads in the other.
        self.uses_grids = 2 * equal >= grids;
    }

    /// Share of the pairs in which the kernel does the work that the op names or, where no word tells,
    /// is the usual one for launches of its kind.
    pub(super) fn agreement(
        &mut self,
        launched: &[Launched],
        ran: &[Ran],
        alignment: &Alignment,
    ) -> f64 {
        self.learn(launched, ran, alignment);
        let mut names: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (at, launch) in alignment.pairs() {
            *names.entry((launched[launch].context, ran[at].name)).or_default() += 1;
        }
        let mut usual: FxHashMap<u32, (u32, u32)> = FxHashMap::default();
        for (&(context, name), &count) in &names {
            let best = usual.entry(context).or_insert((count, name));
            *best = (*best).max((count, name));
        }
        let (mut agree, mut all) = (0.0, 0.0);
        for (at, launch) in alignment.pairs() {
            let (launch, ran) = (&launched[launch], &ran[at]);
            let is_usual = usual.get(&launch.context).is_some_and(|&(_, name)| name == ran.name);
            let words = self.words(launch.context, ran.name);
            // Without shapes one op has several usual kernels; then the words must say that it is one.
            let agrees = launch.name.is_some() || words > 0 || (words == 0 && is_usual);
            agree += f64::from(u8::from(agrees));
            all += 1.0;
        }
        if all == 0.0 { 0.0 } else { agree / all }
    }
}

/// What the words of the calls above a launch say about a kernel.
fn words(context: &str, kernel: &str) -> Score {
    let mut lines = context.lines();
    let op = lines.next().unwrap_or_default();
    if op == kernel {
        return OP_IS_KERNEL;
    }
    // The second line holds shapes, which say nothing.
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
    // The op's own name alone: frames have too many words.
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
    fn words_tell_which_kernel_an_op_launches() {
        let mm = "aten::mm\n[[32, 4096], [4096, 6144]]\n#0";
        assert_eq!(words(mm, "Cijk_Ailk_Bljk_BBS_BH_MT64x64x64"), SAME_WORK);
        assert_eq!(words(mm, "add_rmsnorm_quant_kernel"), OTHER_WORK);
        assert_eq!(words(mm, "some_kernel"), 0);
        assert_eq!(words("triton_poi_fused_0", "triton_poi_fused_0"), OP_IS_KERNEL);
        assert_eq!(words("aten::silu\n#0", "void act_and_mul_kernel<silu>"), SAME_WORK);
    }
}
