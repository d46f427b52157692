//! Compares the results of the built-in models with numbers that were computed by hand.

use super::Op;
use crate::analysis::efficiency::demand::{Demand, Unit};
use crate::analysis::efficiency::dtype::Dtype;
use crate::analysis::efficiency::inputs::Inputs;
use crate::analysis::efficiency::rules::Models;
use crate::analysis::precision::Precision;
use crate::program::Lengths;

/// The minimum work of an op for which the types of lists and the lengths of requests are unknown.
fn demand(name: &str, dims: &str, types: &str, strides: &str, concrete: &str) -> Option<Demand> {
    with(name, dims, types, strides, concrete, None, None)
}

fn with(
    name: &str,
    dims: &str,
    types: &str,
    strides: &str,
    concrete: &str,
    list_dtype: Option<Dtype>,
    lengths: Option<Lengths>,
) -> Option<Demand> {
    let models = Models::builtin();
    let inputs = Inputs::parse(dims, types, strides, concrete)?;
    models.formula(name)?.demand(&Op { name, inputs: &inputs, list_dtype, lengths })
}

/// The operations and bytes of an op's minimum work.
fn figures(demand: Option<Demand>) -> (f64, f64) {
    let demand = demand.expect("a model");
    (demand.flops, demand.bytes.expect("known types"))
}

const BF16_3: &str = r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]"#;

#[test]
fn a_product_with_a_bias_has_two_operations_per_mnk_and_one_per_result() {
    let found = demand("aten::addmm", "[[5], [3, 4], [4, 5]]", BF16_3, "", "");
    // Operations: 3 × 5 results, each of which is a sum of 4 products, plus the bias. Bytes: 12 + 20 + 15 + 5 values of
    // 2 bytes each.
    assert_eq!(figures(found), (2.0 * 60.0 + 15.0, 2.0 * 52.0));
    let found = found.expect("a model");
    assert_eq!((found.unit, found.precision), (Unit::Matrix, Some(Precision::Bf16)));
}

#[test]
fn a_linear_layer_takes_its_weight_transposed() {
    let dims = "[[2, 3, 4], [5, 4], []]";
    let found = demand("aten::linear", dims, r#"["float", "float", ""]"#, "", "");
    assert_eq!(figures(found), (2.0 * 6.0 * 4.0 * 5.0, 4.0 * (24.0 + 20.0 + 30.0)));
    let wrong = demand("aten::mm", "[[2, 3], [4, 5]]", r#"["float", "float"]"#, "", "");
    assert_eq!(wrong, None, "sizes that do not fit are no product");
}

#[test]
fn a_product_of_broadcast_batches_reads_the_shared_matrix_once() {
    let types = r#"["float", "float"]"#;
    let found = demand("aten::bmm", "[[8, 2, 3], [8, 3, 4]]", types, "[[6, 3, 1], [0, 4, 1]]", "");
    assert_eq!(figures(found), (2.0 * 8.0 * 24.0, 4.0 * (48.0 + 12.0 + 64.0)));
}

#[test]
fn the_type_of_a_scaled_products_result_is_a_number_among_its_arguments() {
    let types =
        r#"["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "", "", "Scalar"]"#;
    let dims = "[[16, 32], [32, 8], [], [], [], [], []]";
    let concrete = r#"["", "", "", "", "", "", "15"]"#;
    let found = demand("aten::_scaled_mm", dims, types, "", concrete);
    assert_eq!(figures(found), (2.0 * 16.0 * 32.0 * 8.0, 512.0 + 256.0 + 2.0 * 128.0));
    assert_eq!(found.expect("a model").precision, Some(Precision::Fp8));
}

const CONV: &str = r#"["float", "float", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"]"#;

fn convolution(dims: &str, values: &str) -> Option<Demand> {
    let dims = format!("[{dims}, [], [], [], [], [], []]");
    demand("aten::convolution", &dims, CONV, "", &format!(r#"["", "", "", {values}]"#))
}

#[test]
fn the_operations_of_a_convolution_depend_on_rank_and_groups() {
    // Two dimensions with stride 2: there are 4 × 4 outputs in each of 8 channels, and each output is a sum of 3 × 3 ×
    // 3 products.
    let values = r#""[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1""#;
    let (flops, bytes) = figures(convolution("[1, 3, 8, 8], [8, 3, 3, 3], []", values));
    assert_eq!((flops, bytes), (2.0 * 128.0 * 27.0, 4.0 * (192.0 + 216.0 + 128.0)));
    // One dimension with dilation 2 and one group per channel: there are 10 − 2·2 = 6 outputs in each channel.
    let values = r#""[1]", "[0]", "[2]", "False", "[0]", "4""#;
    let (flops, _) = figures(convolution("[2, 4, 10], [4, 1, 3], []", values));
    assert_eq!(flops, 2.0 * 48.0 * 3.0);
    // Three dimensions: there are 3 × 3 × 3 outputs in each of 3 channels, and each output is a sum of 2 × 2 × 2 × 2
    // products.
    let values = r#""[1, 1, 1]", "[0, 0, 0]", "[1, 1, 1]", "False", "[0, 0, 0]", "1""#;
    let (flops, _) = figures(convolution("[1, 2, 4, 4, 4], [3, 2, 2, 2, 2], []", values));
    assert_eq!(flops, 2.0 * 81.0 * 16.0);
}

#[test]
fn a_transposed_convolution_spreads_each_input_over_the_kernel() {
    let values = r#""[2, 2]", "[1, 1]", "[1, 1]", "True", "[1, 1]", "1""#;
    let (flops, bytes) = figures(convolution("[1, 6, 5, 5], [6, 4, 3, 3], []", values));
    // Each output dimension has (5 − 1)·2 + 2 + 1 + 1 − 2 = 10 elements.
    assert_eq!((flops, bytes), (2.0 * 150.0 * 36.0, 4.0 * (150.0 + 216.0 + 400.0)));
}

#[test]
fn a_convolution_without_recorded_strides_has_no_figures() {
    let dims = "[[1, 3, 8, 8], [8, 3, 3, 3], [], [], [], [], [], [], []]";
    assert_eq!(demand("aten::convolution", dims, CONV, "", ""), None);
}

#[test]
fn a_backward_convolution_counts_the_gradients_that_are_asked_for() {
    let types = r#"["float", "float", "float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar", "ScalarList"]"#;
    let dims = "[[1, 8, 4, 4], [1, 3, 8, 8], [8, 3, 3, 3], [], [], [], [], [], [], [], []]";
    let of = |mask: &str| {
        let concrete = format!(
            r#"["", "", "", "[8]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "{mask}"]"#
        );
        figures(demand("aten::convolution_backward", dims, types, "", &concrete))
    };
    let one = 2.0 * 128.0 * 27.0;
    assert_eq!(of("[True, True, False]"), (2.0 * one, 4.0 * 2.0 * (128.0 + 192.0 + 216.0)));
    assert_eq!(of("[False, True, True]"), (one + 128.0, 4.0 * (128.0 + 192.0 + 216.0)));
    // If the argument values were not recorded, the work for both gradients is counted. The numbers of channels show
    // that the convolution is not transposed.
    let bare = figures(demand("aten::convolution_backward", dims, types, "", ""));
    assert_eq!(bare.0, 2.0 * one);
}

const SDPA: &str =
    r#"["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar", "Scalar", "Scalar"]"#;

fn sdpa(dims: &str, causal: &str) -> (f64, f64) {
    let concrete = format!(r#"["", "", "", "0.", "{causal}", "False", ""]"#);
    let dims = format!("[{dims}, [], [], [], []]");
    figures(demand("aten::_scaled_dot_product_flash_attention", &dims, SDPA, "", &concrete))
}

#[test]
fn attention_is_two_products_for_each_pair_that_the_mask_leaves() {
    let square = "[2, 3, 4, 8], [2, 3, 4, 8], [2, 3, 4, 8]";
    let each = 2.0 * 2.0 * 3.0 * 16.0;
    assert_eq!(sdpa(square, "False"), (each * 16.0, 2.0 * 4.0 * 192.0));
    assert_eq!(sdpa(square, "True").0, each * 10.0, "1 + 2 + 3 + 4 pairs");
    let wide = "[1, 1, 2, 8], [1, 1, 5, 8], [1, 1, 5, 8]";
    assert_eq!(sdpa(wide, "True").0, 2.0 * 16.0 * 3.0, "from the top left: 1 + 2 pairs");
}

#[test]
fn grouped_heads_compute_for_the_querys_heads_and_read_the_keys_that_there_are() {
    let dims = "[1, 8, 4, 16], [1, 2, 4, 16], [1, 2, 4, 16]";
    assert_eq!(sdpa(dims, "False"), (2.0 * 8.0 * 16.0 * 32.0, 2.0 * (2.0 * 512.0 + 2.0 * 128.0)));
}

#[test]
fn a_causal_mask_of_flash_attention_starts_at_the_bottom_right() {
    let types = r#"["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar", "Scalar"]"#;
    let dims = "[[1, 2, 1, 8], [1, 5, 1, 8], [1, 5, 1, 8], [], [], []]";
    let concrete = r#"["", "", "", "0.", "0.1", "True"]"#;
    let (flops, _) = figures(demand("flash_attn::_flash_attn_forward", dims, types, "", concrete));
    assert_eq!(flops, 2.0 * 16.0 * 9.0, "4 + 5 pairs");
}

#[test]
fn attention_has_two_products_forward_and_five_backward() {
    let types = r#"["c10::Half", "c10::Half", "c10::Half", "c10::Half", "c10::Half"]"#;
    let one = "[1, 2, 4, 8]";
    let dims = format!("[{}, [], [], [], [], [], [], []]", [one; 5].join(", "));
    let concrete = r#"["", "", "", "", "", "", "", "", "", "", "", "False"]"#;
    let name = "aten::_scaled_dot_product_flash_attention_backward";
    let (flops, bytes) = figures(demand(name, &dims, types, "", concrete));
    assert_eq!((flops, bytes), (2.5 * 2.0 * 2.0 * 16.0 * 16.0, 2.0 * 8.0 * 64.0));
}

#[test]
fn packed_sequences_are_counted_only_if_all_have_the_same_length() {
    let types = r#"["c10::Half", "c10::Half", "c10::Half", "int", "int", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar"]"#;
    let of = |tokens: u64| {
        let one = format!("[{tokens}, 2, 8]");
        let dims = format!("[{one}, {one}, {one}, [4], [4], [], [], [], [], []]");
        let concrete = r#"["", "", "", "", "", "5", "5", "0.", "0.1", "False"]"#;
        demand("flash_attn::_flash_attn_varlen_forward", &dims, types, "", concrete)
    };
    assert_eq!(figures(of(15)).0, 2.0 * 3.0 * 2.0 * 25.0 * 16.0);
    assert_eq!(of(12), None);
}

#[test]
fn paged_attention_takes_its_pairs_from_the_lengths_of_the_requests() {
    let types = r#"["c10::Half", "c10::Half", "c10::Half", "c10::Half"]"#;
    let dims = "[[7, 4, 8], [7, 2, 8], [7, 2, 8], [7, 4, 8]]";
    let name = "vllm::unified_attention_with_output";
    // One request is a prompt of 5 tokens with a causal mask, which follows 1 cached token. Two other requests have a
    // single new token each, which attends to 20 tokens.
    let lengths =
        Lengths { queries: [5, 2], keys: [6, 40], queries_squared: [25, 2], products: [30, 40] };
    let found = figures(with(name, dims, types, "", "", None, Some(lengths)));
    assert_eq!(found.0, 2.0 * 4.0 * 16.0 * (2.0 + 3.0 + 4.0 + 5.0 + 6.0 + 40.0));
    assert_eq!(found.1, 2.0 * (46.0 * 2.0 * 16.0 + 7.0 * 4.0 * 16.0));
    assert_eq!(with(name, dims, types, "", "", None, None), None);
}

#[test]
fn pointwise_work_broadcasts_promotes_and_writes_in_place() {
    let types = r#"["c10::BFloat16", "float", "Scalar"]"#;
    let found = figures(demand("aten::add", "[[4, 1, 3], [2, 3], []]", types, "", ""));
    assert_eq!(found, (24.0, 2.0 * 12.0 + 4.0 * 6.0 + 4.0 * 24.0));
    let types = r#"["c10::BFloat16", "c10::BFloat16", "Scalar"]"#;
    let found = figures(demand("aten::add_", "[[4, 3], [4, 3], []]", types, "", ""));
    assert_eq!(found, (12.0, 2.0 * 36.0));
    let found = figures(demand("aten::eq", "[[4, 3], []]", r#"["long int", "Scalar"]"#, "", ""));
    assert_eq!(found, (12.0, 12.0 * 9.0));
}

#[test]
fn a_copy_of_a_broadcast_tensor_reads_it_once_and_computes_nothing() {
    let types = r#"["float", "c10::Half", "Scalar"]"#;
    let strides = "[[3, 1], [0, 1], []]";
    let found = figures(demand("aten::copy_", "[[5, 3], [5, 3], []]", types, strides, ""));
    assert_eq!(found, (0.0, 4.0 * 15.0 + 2.0 * 3.0));
}

#[test]
fn a_softmax_that_widens_its_result_writes_32_bits() {
    let of = |widens: &str| {
        let concrete = format!(r#"["", "-1", "{widens}"]"#);
        let types = r#"["c10::Half", "Scalar", "Scalar"]"#;
        figures(demand("aten::_softmax", "[[4, 8], [], []]", types, "", &concrete))
    };
    assert_eq!(of("False"), (160.0, 128.0));
    assert_eq!(of("True"), (160.0, 64.0 + 128.0));
}

#[test]
fn statistics_of_a_norm_have_one_value_per_row_or_channel() {
    let types = r#"["c10::BFloat16", "ScalarList", "c10::BFloat16", "c10::BFloat16", "Scalar"]"#;
    let concrete = r#"["", "[8]", "", "", "1e-05"]"#;
    let found = figures(demand(
        "aten::native_layer_norm",
        "[[2, 3, 8], [], [8], [8], []]",
        types,
        "",
        concrete,
    ));
    // The mean and the deviation of each of the 6 rows are stored in 32 bits.
    assert_eq!(found, (5.0 * 48.0 + 6.0 * 6.0, 2.0 * (96.0 + 16.0) + 6.0 * 8.0));
    let types = r#"["float", "float", "float", "float", "float"]"#;
    let found = figures(demand(
        "aten::native_batch_norm",
        "[[2, 3, 8], [3], [3], [3], [3]]",
        types,
        "",
        "",
    ));
    assert_eq!(found, (5.0 * 48.0 + 6.0 * 3.0, 4.0 * (96.0 + 6.0) + 3.0 * 8.0));
}

#[test]
fn a_reduction_writes_the_remaining_dimensions() {
    let of = |dims: &str| {
        let concrete = format!(r#"["", "{dims}", "True", ""]"#);
        let types = r#"["float", "ScalarList", "Scalar", ""]"#;
        figures(demand("aten::mean", "[[2, 3, 4], [], [], []]", types, "", &concrete))
    };
    assert_eq!(of("[-1, -2]"), (24.0, 4.0 * 26.0));
    assert_eq!(of("[1]"), (24.0, 4.0 * 32.0));
    assert_eq!(of("[]"), (24.0, 4.0 * 25.0));
}

#[test]
fn an_index_reads_the_selected_rows_and_not_the_whole_table() {
    let types = r#"["c10::Half", "long int", "Scalar"]"#;
    let found = figures(demand("aten::embedding", "[[50000, 16], [3, 2], []]", types, "", ""));
    assert_eq!(found, (0.0, 8.0 * 6.0 + 2.0 * 2.0 * 96.0));
}

#[test]
fn lists_of_tensors_take_their_type_from_the_kernel() {
    let dims = "[[[2, 3], [4]], [[2, 3], [4]], []]";
    let types = r#"["TensorList", "TensorList", "Scalar"]"#;
    let known = with("aten::_foreach_add_", dims, types, "", "", Some(Dtype::FLOAT), None);
    assert_eq!(figures(known), (10.0, 4.0 * 30.0));
    let unknown = demand("aten::_foreach_add_", dims, types, "", "").expect("operations at least");
    assert_eq!((unknown.flops, unknown.bytes), (10.0, None));
    // If the list argument was not recorded, the minimum work of the op is unknown.
    assert_eq!(demand("aten::_foreach_add_", "[[], [], []]", types, "", ""), None);
}

#[test]
fn a_fused_adam_step_reads_five_lists_and_writes_the_three_that_it_keeps() {
    let list = "[[4], [6]]";
    let dims = format!("[{list}, {list}, {list}, {list}, [], []]");
    let types = r#"["TensorList", "TensorList", "TensorList", "TensorList", "", ""]"#;
    let found = with("aten::_fused_adamw_", &dims, types, "", "", Some(Dtype::FLOAT), None);
    assert_eq!(figures(found), (140.0, 4.0 * 10.0 * 7.0));
}

#[test]
fn a_compiled_kernel_has_the_ops_in_its_name_and_the_tensors_in_its_arguments() {
    let types = r#"["float", "float", "Scalar"]"#;
    let found =
        figures(demand("triton_poi_fused_add_silu_0", "[[4, 8], [4, 8], []]", types, "", ""));
    assert_eq!(found, (5.0 * 32.0, 4.0 * 64.0));
    // The last tensor has two dimensions, so it is the result of a matrix product and thus an input. The
    // first tensor is changed in place.
    let found = figures(demand(
        "triton_poi_fused__unsafe_view_mul_1",
        "[[2, 2, 8], [4, 8], []]",
        types,
        "",
        "",
    ));
    assert_eq!(found, (32.0, 4.0 * 96.0));
}

#[test]
fn pooling_counts_the_windows_and_the_indices_that_it_writes() {
    let types = r#"["float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar"]"#;
    let concrete = r#"["", "[3, 3]", "[2, 2]", "[1, 1]", "[1, 1]", "False"]"#;
    let dims = "[[1, 2, 8, 8], [], [], [], [], []]";
    let found = figures(demand("aten::max_pool2d_with_indices", dims, types, "", concrete));
    assert_eq!(found, (32.0 * 9.0, 4.0 * 128.0 + 32.0 * 12.0));
}

#[test]
fn a_tensor_without_elements_needs_no_work() {
    let found = figures(demand("aten::mm", "[[0, 4], [4, 5]]", r#"["float", "float"]"#, "", ""));
    assert_eq!(found, (0.0, 80.0), "the other matrix is read all the same");
    let found = figures(demand("aten::mul_", "[[0], []]", r#"["float", "double"]"#, "", ""));
    assert_eq!(found, (0.0, 8.0));
}

#[test]
fn an_unknown_type_has_operations_and_no_bytes() {
    let found = demand("aten::mm", "[[2, 4], [4, 5]]", r#"["my::Type", "my::Type"]"#, "", "");
    let found = found.expect("a model");
    assert_eq!((found.flops, found.bytes, found.precision), (80.0, None, None));
}

#[test]
fn a_symbolic_size_has_no_figures() {
    let types = r#"["float", "float"]"#;
    for dims in [r#"[["s0", 4], [4, 5]]"#, "[[-1, 4], [4, 5]]", "[[2.5, 4], [4, 5]]"] {
        assert_eq!(demand("aten::mm", dims, types, "", ""), None, "{dims}");
        assert_eq!(demand("aten::add", dims, types, "", ""), None, "{dims}");
    }
}

#[test]
fn sizes_beyond_all_numbers_do_not_wrap() {
    let big = u64::MAX;
    let types = r#"["float", "float"]"#;
    let found =
        figures(demand("aten::mm", &format!("[[{big}, {big}], [{big}, {big}]]"), types, "", ""));
    assert!(found.0 > 1e58 && found.1 > 1e39, "{found:?}");
    let many = format!("[[{}]]", vec![big.to_string(); 40].join(", "));
    assert_eq!(demand("aten::relu", &many, r#"["float"]"#, "", ""), None, "not finite");
    let values = format!(r#""[1, 1]", "[{big}, 1]", "[1, 1]", "False", "[0, 0]", "1""#);
    assert_eq!(convolution("[1, 3, 8, 8], [8, 3, 3, 3], []", &values), None);
}

#[test]
fn a_compiled_kernel_that_takes_a_part_of_a_tensor_counts_that_part() {
    let types = r#"["float", "float", "Scalar"]"#;
    let dims = "[[4, 24], [4, 8], []]";
    let found = |name: &str, launched: &str| {
        let concrete = format!(r#"["", "", "{launched}"]"#);
        figures(demand(name, dims, types, "", &concrete))
    };
    // The kernel reads 32 values, which are a third of a tensor, and writes 32 values.
    assert_eq!(found("triton_poi_fused_add_slice_0", "32"), (32.0, 4.0 * 64.0));
    // Without a slice, a kernel reads all of its arguments, regardless of the launch size.
    assert_eq!(found("triton_poi_fused_max_pool2d_0", "32").1, 4.0 * 128.0);
    // Without a recorded launch size, the number of elements is not limited.
    assert_eq!(found("triton_poi_fused_add_slice_0", "").1, 4.0 * 128.0);
    // A gate reads both halves of the tensor.
    let (_, gate) = figures(demand(
        "triton_poi_fused_mul_silu_slice_1",
        "[[4, 16], [4, 8], []]",
        types,
        "",
        r#"["", "", "32"]"#,
    ));
    assert_eq!(gate, 4.0 * 96.0);
}

#[test]
fn a_compiled_embedding_reads_the_rows_that_it_takes_and_not_its_table() {
    let dims = "[[2, 4], [5000, 16], [2, 4, 16], [], []]";
    let types = r#"["long int", "float", "float", "Scalar", "Scalar"]"#;
    let concrete = r#"["", "", "", "8", "16"]"#;
    let found = demand("triton_per_fused_embedding_0", dims, types, "", concrete);
    assert_eq!(figures(found).1, 8.0 * 8.0 + 4.0 * (128.0 + 128.0));
}

#[test]
fn the_gradient_of_a_loss_writes_one_value_for_each_target() {
    let dims = "[[], [4096, 8000], [4096], [], [], [], []]";
    let types = r#"["float", "float", "long int", "", "Scalar", "Scalar", "float"]"#;
    let found = demand("aten::nll_loss_backward", dims, types, "", "");
    // The kernel reads one gradient and 4096 targets, and writes 4096 values; a separate op fills
    // in the zeros.
    assert_eq!(figures(found), (4096.0, 4.0 + 4096.0 * (8.0 + 4.0)));
}

#[test]
fn the_factors_of_addcmul_are_read_once_because_they_are_one_tensor() {
    let types = r#"["float", "float", "float", "Scalar"]"#;
    let of = |name| figures(demand(name, "[[8, 4], [8, 4], [8, 4], []]", types, "", ""));
    assert_eq!(of("aten::addcmul_"), (96.0, 4.0 * 32.0 * 3.0));
    assert_eq!(of("aten::addcdiv_"), (96.0, 4.0 * 32.0 * 4.0));
}
