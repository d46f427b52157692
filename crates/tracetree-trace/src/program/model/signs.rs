//! Determines the model's architecture from typical operations, which are recognized by words in
//! the names of modules, ops and kernels.

use super::names::names;
use super::products::Products;
use super::sizes::Weight;
use super::{Architecture, Found};
use crate::order::Order as _;
use crate::program::Words;
use crate::tree::{CallKind, CallTree, ModuleName};
use std::collections::BTreeMap;

/// A typical operation with fewer calls than this is weak evidence for an architecture.
const FEW_CALLS: usize = 3;

/// Maximum number of names to report as evidence.
const LISTED: usize = 3;

/// A typical operation of an architecture, recognized by words in the names of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    Lookup,
    Denoising,
    Scan,
    Experts,
    Attention,
    Causal,
    Decoder,
    Encoder,
    Convolution,
    Recurrence,
}

/// For each typical operation, one list of words that identify it in module and op names, and one
/// list of words that identify it in kernel names.
const SIGNS: [(Sign, &[&str], &[&str]); 10] = [
    (
        Sign::Lookup,
        &[
            "EmbeddingBag",
            "EmbeddingBagCollection",
            "embedding_bag",
            "split_embedding",
            "fbgemm",
            "DLRM",
            "SparseArch",
        ],
        &["split_embedding", "EmbeddingBag", "dense_embedding_codegen"],
    ),
    (
        Sign::Denoising,
        &[
            "ConditionModel",
            "UNet2DModel",
            "UNetModel",
            "Transformer2DModel",
            "Transformer3DModel",
            "FluxTransformer",
            "FluxTransformerBlock",
            "DiT",
            "DiTBlock",
            "AutoencoderKL",
            "MMDiT",
            "JointTransformerBlock",
            "WanTransformer3DModel",
            "HunyuanVideo",
            "diffusers",
            "xfuser",
            "Diffusion",
        ],
        &[],
    ),
    (
        Sign::Scan,
        &[
            "Mamba",
            "mamba",
            "selective_scan",
            "gated_delta_rule",
            "gdn_attention",
            "RWKV",
            "causal_conv1d",
            "ssm",
        ],
        &[
            "selective_scan",
            "chunk_scan",
            "chunk_state",
            "gated_delta_rule",
            "causal_conv1d",
            "wkv",
            "state_passing",
            "selective_state_update",
        ],
    ),
    (
        Sign::Experts,
        &[
            "MoE",
            "Moe",
            "moe",
            "moe_forward",
            "Experts",
            "fused_experts",
            "FusedMoE",
            "topk_softmax",
        ],
        &[
            "fused_moe",
            "moe",
            "fmoe",
            "matmul_ogs",
            "topkGatingSoftmax",
            "expert",
            "grouped_topk",
            "routing",
        ],
    ),
    (
        Sign::Attention,
        &["attention", "Attention", "sdpa", "flash_attn", "fmha", "sage_fwd", "sageattn"],
        &["attention", "attn", "fmha", "flash", "mha", "mla", "sage_fwd", "sageattn"],
    ),
    (
        Sign::Causal,
        &[
            "CausalLM",
            "GPT",
            "Llama",
            "Qwen",
            "Mistral",
            "kv_cache",
            "reshape_and_cache",
            "rotary_embedding",
            "RotaryEmbedding",
            "LogitsProcessor",
            "vllm",
            "sgl_kernel",
            "GPT2",
            "OPT",
        ],
        &[
            "reshape_and_cache",
            "kv_cache",
            "kvcache",
            "paged_attention",
            "rotary_embedding",
            "unified_attention",
            "PagedKv",
            "paged_kv",
            "BatchDecodeWithPagedKVCache",
            "store_kvcache",
        ],
    ),
    (Sign::Decoder, &["Decoder", "DecoderLayer"], &[]),
    (
        Sign::Encoder,
        &[
            "Encoder",
            "EncoderLayer",
            "Bert",
            "ViT",
            "Roberta",
            "CLIP",
            "Timesformer",
            "TimesformerLayer",
            "Swin",
            "BertLayer",
        ],
        &[],
    ),
    (
        Sign::Convolution,
        &[
            "convolution",
            "Conv2d",
            "Conv1d",
            "Conv3d",
            "cudnn_convolution",
            "miopen_convolution",
            "ConvNext",
            "DenseNet",
            "EfficientNet",
            "MobileNet",
            "RegNet",
            "ResNet",
            "VGG",
        ],
        &[
            "conv",
            "convolve",
            "fprop",
            "dgrad",
            "wgrad",
            "winograd",
            "implicit_gemm",
            "igemm",
            "batched_transpose",
        ],
    ),
    (Sign::Recurrence, &["LSTM", "GRU", "lstm", "gru", "RNN"], &["lstm", "gru", "RNN"]),
];

/// The names in which a typical operation was recognized, each with a call count.
#[derive(Debug, Default)]
struct Shown {
    names: BTreeMap<String, usize>,
    calls: usize,
    /// Whether the operation was recognized in the name of a module or op; `false` if only in
    /// kernel names.
    above_kernels: bool,
}

pub(super) struct Signs {
    shown: BTreeMap<Sign, Shown>,
}

impl Signs {
    pub(super) fn of(tree: &CallTree) -> Signs {
        let mut counts: BTreeMap<(bool, &str), usize> = BTreeMap::new();
        for (kind, name, count) in names(tree) {
            if let Some(listed) = telling_name(kind, name) {
                *counts.entry(listed).or_default() += count;
            }
        }
        let patterns: Vec<(Sign, [Vec<Words>; 2])> = SIGNS
            .map(|(sign, above, kernels)| {
                let words = |list: &[&str]| list.iter().map(|text| Words::of(text)).collect();
                (sign, [words(above), words(kernels)])
            })
            .into();
        let mut signs = Signs { shown: BTreeMap::new() };
        let softmaxes = attention_by_products(tree);
        if softmaxes > 0 {
            signs.show(Sign::Attention, false, "softmax between matrix products", softmaxes);
        }
        for ((is_kernel, name), count) in counts {
            let words = Words::of(name);
            for (sign, patterns) in &patterns {
                if patterns[usize::from(is_kernel)].iter().any(|pattern| words.contain(pattern)) {
                    signs.show(*sign, is_kernel, name, count);
                }
            }
        }
        signs
    }

    fn show(&mut self, sign: Sign, is_kernel: bool, name: &str, count: usize) {
        let shown = self.shown.entry(sign).or_default();
        shown.calls += count;
        shown.above_kernels |= !is_kernel;
        *shown.names.entry(name.to_owned()).or_default() += count;
    }

    fn has(&self, sign: Sign) -> bool {
        self.shown.contains_key(&sign)
    }

    /// The architecture that the recognized operations indicate. Specific architectures are checked
    /// before general ones.
    pub(super) fn architecture(&self) -> Option<Found<Architecture>> {
        use Architecture as A;
        let attention = self.has(Sign::Attention);
        let (what, signs): (A, &[Sign]) = if self.has(Sign::Lookup) && !attention {
            (A::Recommender, &[Sign::Lookup])
        } else if self.has(Sign::Denoising) {
            (A::Diffusion, &[Sign::Denoising])
        } else if self.has(Sign::Scan) && attention {
            (A::Hybrid, &[Sign::Scan, Sign::Attention])
        } else if self.has(Sign::Scan) {
            (A::StateSpace, &[Sign::Scan])
        } else if self.has(Sign::Experts) {
            (A::MixtureOfExperts, &[Sign::Experts, Sign::Attention])
        } else if attention && self.has(Sign::Causal) && !self.shows_encoder() {
            (A::DecoderTransformer, &[Sign::Causal, Sign::Attention])
        } else if attention && self.has(Sign::Encoder) && self.has(Sign::Decoder) {
            (A::Transformer, &[Sign::Encoder, Sign::Decoder, Sign::Attention])
        } else if attention && self.has(Sign::Encoder) {
            (A::EncoderTransformer, &[Sign::Encoder, Sign::Attention])
        } else if attention && self.has(Sign::Decoder) {
            (A::DecoderTransformer, &[Sign::Decoder, Sign::Attention])
        } else if attention {
            (A::Transformer, &[Sign::Attention])
        } else if self.has(Sign::Lookup) {
            (A::Recommender, &[Sign::Lookup])
        } else if self.has(Sign::Recurrence) {
            (A::Recurrent, &[Sign::Recurrence])
        } else if self.has(Sign::Convolution) {
            (A::Convolutional, &[Sign::Convolution])
        } else {
            return None;
        };
        Some(self.found(what, signs))
    }

    /// Whether the recognized operations indicate an encoder rather than a decoder. An encoder may
    /// also contain a decoder operation such as a rotary embedding, whereas a decoder has no
    /// encoder modules. Therefore, the result is `true` only if there are more encoder calls than
    /// decoder calls.
    fn shows_encoder(&self) -> bool {
        let calls = |sign| self.shown.get(&sign).map_or(0, |shown| shown.calls);
        calls(Sign::Encoder) > calls(Sign::Causal)
    }

    fn found(&self, what: Architecture, signs: &[Sign]) -> Found<Architecture> {
        let shown: Vec<&Shown> = signs.iter().filter_map(|sign| self.shown.get(sign)).collect();
        let first_is_absent = !self.has(signs[0]);
        let is_thin = first_is_absent
            || shown.iter().all(|shown| !shown.above_kernels || shown.calls < FEW_CALLS);
        Found { what, evidence: shown.iter().flat_map(|shown| shown.listed()).collect(), is_thin }
    }
}

impl Shown {
    /// The most frequent names, each with its count.
    fn listed(&self) -> Vec<String> {
        let mut names: Vec<(&String, &usize)> = self.names.iter().collect();
        names.order_by_key(|&(name, count)| (std::cmp::Reverse(*count), name));
        let shown = names.into_iter().take(LISTED);
        shown.map(|(name, count)| format!("{} ({count})", shortened(name))).collect()
    }
}

/// Shortens a kernel name, which can be thousands of characters long.
fn shortened(name: &str) -> String {
    const MOST: usize = 60;
    match name.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// Number of times that attention is computed by matrix products and a softmax, without an
/// attention op.
fn attention_by_products(tree: &CallTree) -> usize {
    let mut products = Products::default();
    for call in tree.calls().filter(|&call| tree.kind(call) == CallKind::Op) {
        products.look_at(tree, call, Weight::default);
    }
    products.attention()
}

/// The part of a call's name to search: the module class, the op name, or the kernel name without
/// arguments. Also returns whether the call is a kernel. `None` for calls whose names are not
/// searched.
fn telling_name(kind: CallKind, name: &str) -> Option<(bool, &str)> {
    match kind {
        CallKind::Frame => ModuleName::of(name).map(|module| (false, module.class)),
        CallKind::Op => Some((false, name)),
        CallKind::Gpu => {
            let name = name.strip_prefix("void ").unwrap_or(name);
            let name = name.strip_prefix("(anonymous namespace)::").unwrap_or(name);
            Some((true, name.split(['<', '(']).next().unwrap_or_default()))
        }
        CallKind::Thread | CallKind::Runtime | CallKind::Unlinked => None,
    }
}
