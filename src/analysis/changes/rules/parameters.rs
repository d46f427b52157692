//! Names of op parameters and of their values. Traces record only the positions of arguments, so the parameters are
//! listed by position. An op is omitted if the position of a parameter differs between its overloads.

const NORM: &[(usize, &str)] = &[(5, "training"), (6, "momentum"), (7, "eps")];
const CONVOLUTION: &[(usize, &str)] =
    &[(3, "stride"), (4, "padding"), (5, "dilation"), (6, "groups")];
const DROPOUT: &[(usize, &str)] = &[(1, "p"), (2, "train")];
const RECURRENT: &[(usize, &str)] = &[
    (3, "has_biases"),
    (4, "num_layers"),
    (5, "dropout"),
    (6, "train"),
    (7, "bidirectional"),
    (8, "batch_first"),
];

/// For each op, the parameters whose values describe the model, with their positions.
const PARAMETERS: [(&str, &[(usize, &str)]); 24] = [
    ("aten::alpha_dropout", DROPOUT),
    ("aten::avg_pool2d", &[(1, "kernel_size"), (2, "stride"), (3, "padding"), (4, "ceil_mode")]),
    ("aten::batch_norm", NORM),
    ("aten::conv1d", CONVOLUTION),
    ("aten::conv2d", CONVOLUTION),
    ("aten::conv3d", CONVOLUTION),
    ("aten::cross_entropy_loss", &[(3, "reduction"), (4, "ignore_index"), (5, "label_smoothing")]),
    ("aten::dropout", DROPOUT),
    ("aten::elu", &[(1, "alpha")]),
    ("aten::embedding", &[(2, "padding_idx"), (3, "scale_grad_by_freq"), (4, "sparse")]),
    (
        "aten::embedding_bag",
        &[(3, "scale_grad_by_freq"), (4, "mode"), (5, "sparse"), (8, "padding_idx")],
    ),
    ("aten::feature_dropout", DROPOUT),
    ("aten::group_norm", &[(1, "num_groups"), (4, "eps")]),
    ("aten::gru", RECURRENT),
    ("aten::instance_norm", NORM),
    ("aten::layer_norm", &[(4, "eps")]),
    ("aten::leaky_relu", &[(1, "negative_slope")]),
    ("aten::lstm", RECURRENT),
    (
        "aten::max_pool2d",
        &[(1, "kernel_size"), (2, "stride"), (3, "padding"), (4, "dilation"), (5, "ceil_mode")],
    ),
    ("aten::native_dropout", DROPOUT),
    ("aten::rms_norm", &[(3, "eps")]),
    ("aten::rnn_relu", RECURRENT),
    ("aten::rnn_tanh", RECURRENT),
    (
        "aten::scaled_dot_product_attention",
        &[(4, "dropout_p"), (5, "is_causal"), (6, "scale"), (7, "enable_gqa")],
    ),
];

/// Parameters that determine the sizes of an op's weights or states.
pub(super) const OF_WEIGHTS: [&str; 4] = ["batch_first", "bidirectional", "groups", "num_layers"];

/// Parameters that determine the sizes or layouts of an op's results.
pub(super) const RESIZING: [&str; 9] = [
    "batch_first",
    "bidirectional",
    "ceil_mode",
    "dilation",
    "groups",
    "kernel_size",
    "num_layers",
    "padding",
    "stride",
];

pub(super) fn name(op: &str, position: usize) -> Option<&'static str> {
    let (_, parameters) = PARAMETERS.iter().find(|(known, _)| *known == op)?;
    parameters.iter().find(|(at, _)| *at == position).map(|(_, name)| *name)
}

/// The name of an operand that is a parameter of the model: `weight` or `bias`.
pub(super) fn operand(op: &str, position: usize) -> Option<&'static str> {
    const WEIGHTED: [&str; 6] = [
        "aten::conv1d",
        "aten::conv2d",
        "aten::conv3d",
        "aten::conv_transpose2d",
        "aten::convolution",
        "aten::linear",
    ];
    match position {
        1 if WEIGHTED.contains(&op) => Some("weight"),
        2 if WEIGHTED.contains(&op) => Some("bias"),
        0 if op == "aten::embedding" => Some("weight"),
        _ => None,
    }
}

/// Whether the value at a position is the number of an element type. `count` is the number of arguments, because
/// overloads differ in their arguments.
pub(super) fn is_scalar_type(op: &str, position: usize, count: usize) -> bool {
    match (op, count) {
        ("aten::_to_copy", _) | ("aten::to", 5 | 8) => position == 1,
        ("aten::to", 6) | ("aten::softmax" | "aten::log_softmax", 3) => position == 2,
        ("aten::sum" | "aten::mean", 4) => position == 3,
        _ => false,
    }
}

/// The name of an element type that is recorded as a number.
pub(super) fn scalar_type(number: &str) -> &str {
    match number {
        "0" => "uint8",
        "1" => "int8",
        "2" => "int16",
        "3" => "int32",
        "4" => "int64",
        "5" => "float16",
        "6" => "float32",
        "7" => "float64",
        "9" => "complex64",
        "10" => "complex128",
        "11" => "bool",
        "15" => "bfloat16",
        "23" => "float8_e5m2",
        "24" => "float8_e4m3fn",
        other => other,
    }
}

/// The name of a parameter value that is recorded as a number, such as `mean` for the reduction `1`.
pub(super) fn value<'a>(op: &str, parameter: &str, value: &'a str) -> &'a str {
    let names = match (op, parameter) {
        ("aten::cross_entropy_loss", "reduction") => ["none", "mean", "sum"],
        ("aten::embedding_bag" | "aten::_embedding_bag", "mode") => ["sum", "mean", "max"],
        _ => return value,
    };
    value.parse::<usize>().ok().and_then(|number| names.get(number).copied()).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_values_have_names() {
        assert_eq!(name("aten::conv2d", 6), Some("groups"));
        assert_eq!(name("aten::conv2d", 0), None);
        assert_eq!(name("aten::add", 2), None);
        assert_eq!(value("aten::embedding_bag", "mode", "1"), "mean");
        assert_eq!(value("aten::embedding_bag", "mode", "7"), "7");
        assert_eq!(value("aten::conv2d", "groups", "1"), "1");
    }
}
