//! Decodes properties of a kernel from its name: library, precision, tile size, alignment and split-K.

/// Substrings of kernel names that identify a library, each with the name of the library.
const LIBRARIES: [(&str, &str); 16] = [
    ("cudnn_generated_fort_native_sdpa", "cuDNN attention"),
    ("fmha_cutlass", "CUTLASS attention"),
    ("flash", "flash attention"),
    ("cutlass", "CUTLASS"),
    ("nvjet", "cuBLAS"),
    ("cublas", "cuBLAS"),
    ("xmma", "cuDNN/cuBLAS"),
    ("cudnn", "cuDNN"),
    ("Cijk_", "Tensile"),
    ("ck_tile", "CK"),
    ("ck::", "CK"),
    ("miopen", "MIOpen"),
    ("igemm_", "MIOpen"),
    ("triton_", "Triton"),
    ("aiter", "AITER"),
    ("at::native", "ATen"),
];

/// Substrings of kernel names that identify a precision. If one substring contains another, the longer substring comes
/// first.
const PRECISIONS: [(&str, &str); 14] = [
    ("tf32", "tf32"),
    ("bf16", "bf16"),
    ("BFloat16", "bf16"),
    ("bfloat16", "bf16"),
    ("s16816", "16-bit"),
    // cuDNN also uses `wgmma_f16` in the names of bfloat16 attention kernels.
    ("wgmma_f16", "16-bit"),
    ("f16", "f16"),
    ("fp16", "f16"),
    ("c10::Half", "f16"),
    ("cutlass::half_t", "f16"),
    ("fp8", "fp8"),
    ("i8", "int8"),
    ("float", "f32"),
    ("f32", "f32"),
];

/// The properties that a kernel name reveals, in the order library, precision, tile size, alignment, split-K.
pub(super) fn words(name: &str) -> String {
    let find = |marks: &[(&str, &'static str)]| {
        marks.iter().find(|(mark, _)| name.contains(mark)).map(|(_, word)| (*word).to_owned())
    };
    let lower = name.to_ascii_lowercase();
    let is_split = lower.contains("splitk") || lower.contains("split_k");
    let parts = [
        find(&LIBRARIES),
        find(&PRECISIONS),
        tile(name).map(|tile| format!("tile {tile}")),
        lower
            .find("align")
            .and_then(|at| number(&name[at + "align".len()..]))
            .map(|n| format!("align {n}")),
        is_split.then(|| "split-K".to_owned()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The kernel name without template arguments and parameters, truncated to 60 characters.
pub(in crate::analysis) fn short(name: &str) -> String {
    const LONGEST: usize = 60;
    let name = &name.replace("(anonymous namespace)::", "");
    let name = name.strip_prefix("void ").unwrap_or(name);
    let end = name.find(['<', '(']).filter(|&end| end > 7).unwrap_or(name.len());
    let mut text: String = name[..end].chars().take(LONGEST).collect();
    if name[..end].chars().count() > LONGEST {
        text.push('…');
    }
    text
}

/// The tile size in a kernel name: `128x256`, or `128x256x32` from `MT128x256x32` in Tensile names.
fn tile(name: &str) -> Option<&str> {
    let is_tile = |word: &&str| {
        let parts: Vec<&str> = word.split('x').collect();
        (2..=3).contains(&parts.len())
            && parts
                .iter()
                .all(|part| number(part).is_some_and(|n| n.len() == part.len() && n.len() > 1))
    };
    name.split(['_', '<', '>', ',', ' ', '('])
        .map(|word| word.trim_start_matches("MT"))
        .find(is_tile)
}

fn number(text: &str) -> Option<&str> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    (end > 0).then(|| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::{short, words};

    #[test]
    fn a_short_name_has_no_template_arguments() {
        let name = "void at::native::(anonymous namespace)::softmax<float, 4>(float*, int)";
        assert_eq!(short(name), "at::native::softmax");
        assert_eq!(short("ck<1>"), "ck<1>");
    }

    #[test]
    fn library_precision_and_tile_are_read_from_the_name() {
        let name = "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4";
        assert_eq!(words(name), "cuDNN/cuBLAS, bf16");
        let name = "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8";
        assert_eq!(words(name), "CUTLASS, bf16, tile 256x128, align 8");
        assert_eq!(words("Cijk_Alik_Bljk_BBS_BH_MT64x96x32_SN"), "Tensile, tile 64x96x32");
        assert_eq!(words("my_kernel"), "");
        // A kernel name recorded on an H100.
        let name =
            "sm80_xmma_dgrad_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize128x128x8";
        assert_eq!(words(name), "cuDNN/cuBLAS, f32");
        let name = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t, Flash_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >, false>(pytorch_flash::Flash_fwd_params)";
        assert_eq!(words(name), "flash attention, bf16");
        let name = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0";
        assert_eq!(words(name), "cuDNN attention, 16-bit, tile 64x128x64");
    }
}
