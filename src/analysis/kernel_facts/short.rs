//! Shortens the names of kernels for display.
//!
//! ```text
//! void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>(…)
//! cutlass::Kernel2<bf16, 256x128>
//! void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, …>(…)
//! vectorized_elementwise_kernel<add, fp32>
//! ```

use super::{name, named_precision, tile};
use std::fmt::Write;

/// Maximum length of a short name, in characters.
const LONGEST: usize = 72;
/// Number of characters that are kept at the end of a name that is still too long.
const END: usize = 31;

/// Parts of qualified names that say nothing about a kernel.
const NAMESPACES: [&str; 8] =
    ["", "at", "native", "cuda", "at_cuda_detail", "c10", "detail", "impl"];
/// Endings of the names of functions that are passed as template arguments.
const FUNCTIONS: [&str; 7] =
    ["Functor", "Op", "Ops", "_functor", "_kernel_cuda", "_kernel_impl", "CUDAKernelImpl"];
/// Functions that only call other functions.
const WRAPPERS: [&str; 8] = [
    "gpu_kernel_impl",
    "gpu_kernel_impl_nocast",
    "ReduceOp",
    "TensorListOp",
    "BinaryFunctor",
    "AUnaryFunctor",
    "BUnaryFunctor",
    "UnaryOpFunctor",
];

/// The name of a kernel without parameters and namespaces, with its most telling template arguments: the function that
/// it calls, the element type, and the tile. A name that is still longer than 72 characters is shortened in the middle.
pub(crate) fn short_name(full: &str) -> String {
    if full.starts_with("Memcpy") || full.starts_with("Memset") {
        return full.to_owned();
    }
    let stem = name::stem(full);
    let parts = stem.split("::").filter(|part| !NAMESPACES.contains(part) && !is_inline(part));
    let base = parts.collect::<Vec<_>>().join("::");
    if base.is_empty() {
        return cut(full);
    }
    // Of what a name reveals, only these two are looked up, because a trace may have hundreds of thousands of names.
    let tile = tile(full);
    let type_name = || {
        named_precision(full).map(|precision| match precision {
            "f16" => "fp16",
            "f32" => "fp32",
            other => other,
        })
    };
    let arguments = name::template_arguments(full);
    let in_arguments = || arguments.iter().flat_map(|argument| words(argument));
    if !arguments.is_empty() {
        let type_name = type_name().or_else(|| in_arguments().find_map(element_type));
        let function = in_arguments().filter(|word| is_function(word)).last().map(without_affixes);
        return with_details(base, [function, type_name, tile]);
    }
    if full.starts_with("_Z") {
        let function = name::launched(full, |stem| stem.ends_with("::kentry")).into_iter().next();
        return with_details(base, [function.as_deref(), type_name(), None]);
    }
    // In a name without template arguments, types and tile are words of the name itself.
    let kept = base.split('_').take_while(|word| !is_detail(word, tile));
    let kept = kept.collect::<Vec<_>>().join("_");
    if kept.is_empty() || kept.len() == base.len() {
        return cut(&base);
    }
    match (type_name(), tile) {
        (None, None) => cut(&base),
        (type_name, tile) => with_details(kept, [None, type_name, tile]),
    }
}

fn with_details(mut base: String, details: [Option<&str>; 3]) -> String {
    let mut separator = '<';
    for detail in details.into_iter().flatten() {
        let space = if separator == ',' { " " } else { "" };
        let _ = write!(base, "{separator}{space}{detail}");
        separator = ',';
    }
    if separator == ',' {
        base.push('>');
    }
    cut(&base)
}

/// Whether a part of a qualified name is an inline namespace that carries a version, such as `CUB_200101_NS`.
fn is_inline(part: &str) -> bool {
    part.ends_with("_NS") && part.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a word of a name states the types or the tile: `f32f32`, `tilesize128x128x8`, `MT64x96x32`.
fn is_detail(word: &str, tile: Option<&str>) -> bool {
    const TYPES: [&str; 6] = ["bf16", "tf32", "f64", "f32", "f16", "s8"];
    let mut rest = word;
    while let Some(after) = TYPES.iter().find_map(|name| rest.strip_prefix(name)) {
        rest = after;
    }
    // Tensile writes the types as capital letters.
    let is_short = (1..=3).contains(&word.len());
    let is_capital = is_short && word.bytes().all(|byte| byte.is_ascii_uppercase());
    (rest.is_empty() && !word.is_empty())
        || is_capital
        || tile.is_some_and(|tile| word.ends_with(tile))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn is_function(word: &str) -> bool {
    let is_named_so = FUNCTIONS.iter().any(|ending| word.ends_with(ending));
    (is_named_so || word.starts_with("CUDAFunctor_")) && !WRAPPERS.contains(&word)
}

fn without_affixes(word: &str) -> &str {
    let word = word.strip_prefix("CUDAFunctor_").unwrap_or(word);
    let endings = ["_kernel_cuda", "_kernel_impl", "_functor", "Functor", "CUDAKernelImpl"];
    endings.iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word)
}

fn element_type(word: &str) -> Option<&'static str> {
    match word {
        "BFloat16" | "__nv_bfloat16" | "__hip_bfloat16" | "bfloat16_t" | "DF16b" => Some("bf16"),
        "Half" | "__half" | "_Float16" | "half_t" | "DF16_" => Some("fp16"),
        "float" => Some("fp32"),
        "double" => Some("fp64"),
        "long" => Some("int64"),
        "bool" => Some("bool"),
        _ => None,
    }
}

fn cut(text: &str) -> String {
    let count = text.chars().count();
    if count <= LONGEST {
        return text.to_owned();
    }
    let start = text.chars().take(LONGEST - END - 1);
    start.chain(['…']).chain(text.chars().skip(count - END)).collect()
}

#[cfg(test)]
mod tests {
    use super::short_name;

    #[test]
    fn a_short_name_states_function_type_and_tile() {
        for (full, short) in [
            (
                "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8::Params)",
                "cutlass::Kernel2<bf16, 256x128>",
            ),
            (
                "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize128x128x8_stage3_kernel",
                "sm80_xmma_fprop_implicit_gemm<fp32>",
            ),
            ("Cijk_Alik_Bljk_BBS_BH_MT64x96x32_SN_1LDSB0", "Cijk_Alik_Bljk<bf16, 64x96x32>"),
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
                "vectorized_elementwise_kernel<add, fp32>",
            ),
            (
                "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda(c10::BFloat16)#1}>(at::TensorIteratorBase&)::{lambda(int)#1}>(int)",
                "elementwise_kernel<direct_copy, bf16>",
            ),
            (
                "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float)",
                "vectorized_layer_norm_kernel<bf16>",
            ),
            (
                "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1EEEvPT0_",
                "aiter::add_rmsnorm_quant_kernel<bf16>",
            ),
            (
                "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassINS_",
                "ck_tile::kentry<Rmsnorm2dFwd>",
            ),
            (
                "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x128x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
                "sm90_xmma_gemm<tf32, 64x128x32>",
            ),
            ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)"),
            ("triton_poi_fused_add_mul_3", "triton_poi_fused_add_mul_3"),
            ("void softmax<float, 4>(float*, int)", "softmax<fp32>"),
            ("ck<1>", "ck"),
            ("<<", "<<"),
            ("", ""),
        ] {
            assert_eq!(short_name(full), short, "{full}");
        }
    }

    #[test]
    fn a_long_name_is_shortened_in_the_middle() {
        let short = short_name(&format!("start_{}_end", "é".repeat(100)));
        assert_eq!(short.chars().count(), 72);
        assert!(short.starts_with("start_") && short.ends_with("_end") && short.contains('…'));
    }
}
