//! Reads from a kernel's name what is known about the kernel: its library, the GPU generation that it was written for,
//! its tile, alignment and precision, and its role in the op that launches it.
//!
//! This is the only place that knows how kernels are named; `kernels.toml` has the patterns.

pub(in crate::analysis) mod name;
mod short;

pub(crate) use short::short_name;

use super::precision::Precision;
use memchr::memmem;
use serde::Deserialize;
use std::sync::LazyLock;

/// What the name of a kernel reveals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct KernelFacts<'n> {
    /// The library that contains the kernel, such as `cuDNN`.
    pub library: Option<&'static str>,
    /// The oldest GPU generation with the instructions that the kernel uses.
    pub generation: Option<Generation>,
    /// The size of the tile that a block computes, such as `128x256` or `128x256x32`.
    pub tile: Option<&'n str>,
    /// Number of elements to which the rows of the inputs must be aligned.
    pub alignment: Option<u32>,
    /// The precision in which the kernel multiplies, such as `tf32` or `bf16`.
    pub precision: Option<&'static str>,
    /// A distinction between kernels that do the same work, such as `in registers`.
    pub variant: Option<&'static str>,
    /// What the kernel does within the op that launches it.
    pub role: Role,
}

/// A GPU generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub struct Generation {
    /// The version that traces record for devices: the compute capability, or the digits of the gfx version.
    pub version: (i64, i64),
    /// The name of the generation, such as `Turing`.
    pub name: &'static str,
}

/// What a kernel does within the op that launches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum Role {
    /// It does the work of the op itself.
    Work,
    /// It sets memory to a constant.
    Memset,
    /// It copies a tensor to another memory layout.
    Layout,
    /// It writes the input windows of a convolution as a matrix, or adds them up again.
    Im2Col,
    /// It fills or pads a tensor.
    Fill,
    /// It adds up the parts of sums that several blocks computed.
    SplitK,
    /// It adds the bias.
    Bias,
    /// It converts a tensor to another type.
    Cast,
}

impl Role {
    /// All roles; the work of the op comes first.
    pub const ALL: [Role; 8] = [
        Role::Work,
        Role::Memset,
        Role::Layout,
        Role::Im2Col,
        Role::Fill,
        Role::SplitK,
        Role::Bias,
        Role::Cast,
    ];

    /// `work`, `memset`, `layout`, `im2col`, `fill`, `split-K`, `bias` or `cast`.
    pub fn label(self) -> &'static str {
        match self {
            Role::Work => "work",
            Role::Memset => "memset",
            Role::Layout => "layout",
            Role::Im2Col => "im2col",
            Role::Fill => "fill",
            Role::SplitK => "split-K",
            Role::Bias => "bias",
            Role::Cast => "cast",
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    library: Vec<Rule>,
    generation: Vec<Rule>,
    role: Vec<Rule>,
    variant: Vec<Rule>,
    precision: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    name: String,
    patterns: Vec<Pattern>,
    version: Option<(i64, i64)>,
    input_bits: Option<u32>,
}

static RULES: LazyLock<Rules> =
    LazyLock::new(|| toml::from_str(include_str!("kernels.toml")).expect("valid built-in rules"));

/// A part of a kernel name. Names have up to thousands of characters, and there are a hundred patterns, so the search is
/// prepared once.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
enum Pattern {
    Start(String),
    Anywhere(Box<memmem::Finder<'static>>),
}

impl From<String> for Pattern {
    fn from(pattern: String) -> Pattern {
        match pattern.strip_prefix('^') {
            Some(start) => Pattern::Start(start.to_owned()),
            None => Pattern::Anywhere(Box::new(memmem::Finder::new(&pattern).into_owned())),
        }
    }
}

impl Rule {
    fn fits(&self, name: &str) -> bool {
        self.patterns.iter().any(|pattern| match pattern {
            Pattern::Start(start) => name.starts_with(start),
            Pattern::Anywhere(part) => part.find(name.as_bytes()).is_some(),
        })
    }
}

fn first(rules: &'static [Rule], name: &str) -> Option<&'static str> {
    rules.iter().find(|rule| rule.fits(name)).map(|rule| rule.name.as_str())
}

/// The precision in which a kernel multiplies, according to its name alone.
fn named_precision(name: &str) -> Option<&'static str> {
    first(&RULES.precision, name)
}

/// Whether a kernel's name shows that it multiplies with TF32 precision.
pub(in crate::analysis) fn is_tf32(name: &str) -> bool {
    RULES.precision.iter().any(|rule| rule.name == "tf32" && rule.fits(name))
}

impl<'n> KernelFacts<'n> {
    /// Reads a kernel name. `inputs` is the type of the inputs, if it was recorded: what a trace states about the inputs
    /// counts more than the name.
    pub fn of(name: &'n str, inputs: Option<Precision>) -> KernelFacts<'n> {
        let named = named_precision(name);
        let precision = match inputs {
            Some(Precision::Fp32) | None => named,
            Some(inputs) => Some(inputs.label()),
        };
        let bits = match precision {
            Some("bf16" | "fp16" | "f16" | "16-bit") => Some(16),
            Some("tf32" | "f32") => Some(32),
            Some(_) | None => None,
        };
        let is_of_inputs =
            |rule: &&Rule| rule.input_bits.is_none() || rule.input_bits == bits && rule.fits(name);
        let generation = RULES.generation.iter().filter(is_of_inputs).find(|rule| rule.fits(name));
        let role = first(&RULES.role, name);
        KernelFacts {
            library: first(&RULES.library, name),
            generation: generation.and_then(|rule| {
                Some(Generation { version: rule.version?, name: rule.name.as_str() })
            }),
            tile: tile(name),
            alignment: name
                .find("align")
                .and_then(|at| digits(&name[at + "align".len()..]))
                .and_then(|digits| digits.parse().ok()),
            precision,
            variant: first(&RULES.variant, name),
            role: Role::ALL
                .into_iter()
                .find(|known| role == Some(known.label()))
                .unwrap_or(Role::Work),
        }
    }
}

/// The tile size in a kernel name: `128x256`, or `128x256x32` from `MT128x256x32` in Tensile names.
fn tile(name: &str) -> Option<&str> {
    let is_size = |part: &str| part.len() > 1 && part.bytes().all(|digit| digit.is_ascii_digit());
    let is_tile =
        |word: &&str| (2..=3).contains(&word.split('x').count()) && word.split('x').all(is_size);
    // Names of templates have hundreds of words; few of them end with a digit.
    name.split(['_', '<', '>', ',', ' ', '('])
        .filter(|word| word.ends_with(|letter: char| letter.is_ascii_digit()))
        .map(|word| word.trim_start_matches("tilesize").trim_start_matches("MT"))
        .find(is_tile)
}

fn digits(text: &str) -> Option<&str> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    (end > 0).then(|| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::{KernelFacts, Precision, Role};

    fn of(name: &str) -> KernelFacts<'_> {
        KernelFacts::of(name, None)
    }

    #[test]
    fn library_precision_and_tile_are_read_from_the_name() {
        let words = |name: &str| {
            let facts = of(name);
            let tile = facts.tile.map(|tile| format!("tile {tile}"));
            let align = facts.alignment.map(|elements| format!("align {elements}"));
            let words =
                [facts.library.map(str::to_owned), facts.precision.map(str::to_owned), tile, align];
            words.into_iter().flatten().collect::<Vec<_>>().join(", ")
        };
        let name = "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4";
        assert_eq!(words(name), "cuBLAS, bf16, tile 128x128x32");
        let name = "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8";
        assert_eq!(words(name), "CUTLASS, bf16, tile 256x128, align 8");
        assert_eq!(words("Cijk_Alik_Bljk_BBS_BH_MT64x96x32_SN"), "rocBLAS, bf16, tile 64x96x32");
        assert_eq!(words("my_kernel"), "");
        // Kernel names recorded on an H100.
        let name =
            "sm80_xmma_dgrad_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize128x128x8";
        assert_eq!(words(name), "cuDNN, f32");
        let name = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t, Flash_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >, false>(pytorch_flash::Flash_fwd_params)";
        assert_eq!(words(name), "FlashAttention, bf16");
        let name = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0";
        assert_eq!(words(name), "cuDNN, 16-bit, tile 64x128x64");
    }

    #[test]
    fn an_instruction_name_is_read_by_the_type_of_the_inputs() {
        let turing = "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1>(cutlass_75)";
        let facts = of(turing);
        assert_eq!(facts.precision, Some("bf16"));
        assert_eq!(facts.generation.map(|generation| generation.name), Some("Turing"));
        assert_eq!(facts.alignment, Some(1));
        let tf32 = "cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4";
        assert_eq!(of(tf32).precision, Some("tf32"));
        assert_eq!(of(tf32).generation.map(|generation| generation.name), Some("Ampere"));
        assert_eq!(KernelFacts::of(tf32, Some(Precision::Bf16)).precision, Some("bf16"));
        let fp32 = "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw";
        assert_eq!(of(fp32).precision, Some("f32"));
    }

    #[test]
    fn the_kernels_of_a_convolution_have_roles() {
        for (name, library, role) in [
            ("igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt64x64x16", "MIOpen", Role::Work),
            ("batched_transpose_256x4_half", "MIOpen", Role::Layout),
            ("SubTensorOpWithScalar1d", "MIOpen", Role::Fill),
            ("void cudnn::engines_precompiled::nchwToNhwcKernel<float>", "cuDNN", Role::Layout),
            ("Im2d2Col_v2", "MIOpen", Role::Im2Col),
            ("void splitKreduce_kernel<32, 16, int, float>", "cuBLAS", Role::SplitK),
            ("cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64", "CUTLASS", Role::Work),
            ("attn_fwd", "AOTriton", Role::Work),
            ("Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT64x32x128", "hipBLASLt", Role::Work),
        ] {
            let facts = of(name);
            assert_eq!((facts.library, facts.role), (Some(library), role), "{name}");
        }
        assert_eq!(of("Memset (Device)").role, Role::Memset);
    }

    #[test]
    fn the_kernels_of_inference_engines_have_libraries() {
        // Recorded with vLLM on a B200 and with vLLM and SGLang on an MI300X, and with DLRM on a V100 and an A100.
        for (name, library) in [
            (
                "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_swiGlu_dynBatch_sm100f",
                "TensorRT-LLM",
            ),
            ("fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128", "TensorRT-LLM"),
            (
                "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
                "PyTorch symmetric memory",
            ),
            (
                "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)",
                "vLLM",
            ),
            ("_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16", "SGLang"),
            ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", "Triton"),
            ("kernel_unified_attention_3d", "Triton"),
            (
                "void split_embedding_codegen_forward_unweighted_kernel<float, float, float, long, 5ul>(at::GenericPackedTensorAccessor<float>)",
                "FBGEMM",
            ),
            (
                "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float>(int)",
                "Apex",
            ),
            (
                "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<4>>(int)",
                "ATen",
            ),
        ] {
            assert_eq!(of(name).library, Some(library), "{name}");
        }
        assert_eq!(of("bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2").precision, Some("fp8"));
        assert_eq!(of("bmm_MxE4m3_MxE2m1_sm100f").generation.map(|at| at.name), Some("Blackwell"));
    }
}
