//! The recorded shapes and types of ops → heads, sizes and types of the model.

use crate::tree::{CallId, CallKind, CallTree};
use std::collections::BTreeMap;

/// Types that are listed at most.
const TYPES: usize = 3;

/// Ops whose first input is `[batch, heads, length, size]`.
const ATTENTION: [&str; 3] = [
    "aten::scaled_dot_product_attention",
    "aten::_scaled_dot_product_flash_attention",
    "aten::_scaled_dot_product_efficient_attention",
];

/// Ops whose first input is `[tokens, heads, size]`.
const SERVED_ATTENTION: [&str; 2] =
    ["vllm::unified_attention_with_output", "vllm::unified_attention"];

/// What is in the names of ops that normalize the vectors between layers.
const NORMS: [&str; 3] = ["aten::native_layer_norm", "rms_norm", "rmsnorm"];

/// What is in the names of ops whose types are those of the model.
const PRODUCTS: [&str; 5] = ["aten::mm", "aten::addmm", "aten::bmm", "attention", "convolution"];

#[derive(Debug, Default)]
pub(super) struct Shapes {
    pub(super) heads: Option<u64>,
    pub(super) head_size: Option<u64>,
    pub(super) hidden_size: Option<u64>,
    pub(super) types: Vec<String>,
}

impl Shapes {
    pub(super) fn of(tree: &CallTree) -> Shapes {
        let (mut heads, mut hidden) = (Counts::new(), Counts::new());
        let mut types: BTreeMap<String, u64> = BTreeMap::new();
        for call in tree.calls().filter(|&call| tree.kind(call) == CallKind::Op) {
            let name = tree.name(call);
            let first = || first_shape(dims(tree, call));
            if ATTENTION.contains(&name) {
                count(&mut heads, first().filter(|s| s.len() == 4).map(|s| (s[1], s[3])));
            } else if SERVED_ATTENTION.contains(&name) {
                count(&mut heads, first().filter(|s| s.len() == 3).map(|s| (s[1], s[2])));
            } else if NORMS.iter().any(|norm| name.contains(norm)) {
                count(&mut hidden, first().and_then(|s| Some((*s.last()?, 0))));
            }
            if PRODUCTS.iter().any(|product| name.contains(product)) {
                let kind = first_type(tree, call).filter(|kind| !kind.is_empty());
                kind.into_iter().for_each(|kind| *types.entry(kind).or_default() += 1);
            }
        }
        let attention = most(&heads);
        Shapes {
            heads: attention.map(|(heads, _)| heads),
            head_size: attention.map(|(_, size)| size),
            hidden_size: most(&hidden).map(|(size, _)| size),
            types: ranked(types),
        }
    }
}

/// How often each pair of sizes was met.
type Counts = BTreeMap<(u64, u64), u64>;

fn count(counts: &mut Counts, sizes: Option<(u64, u64)>) {
    if let Some(sizes) = sizes {
        *counts.entry(sizes).or_default() += 1;
    }
}

/// The most frequent one; of equals the largest.
fn most(counts: &Counts) -> Option<(u64, u64)> {
    counts.iter().max_by_key(|&(sizes, count)| (*count, *sizes)).map(|(&sizes, _)| sizes)
}

fn ranked(types: BTreeMap<String, u64>) -> Vec<String> {
    let mut ranked: Vec<(String, u64)> = types.into_iter().collect();
    ranked.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), name.clone()));
    ranked.truncate(TYPES);
    ranked.into_iter().map(|(name, _)| name).collect()
}

fn dims(tree: &CallTree, call: CallId) -> &str {
    tree.arguments(call).map_or("", |arguments| tree.trace().text(arguments.dims))
}

/// `[[2, 12, 197, 64], []]` → 2, 12, 197, 64; the first that has sizes.
fn first_shape(dims: &str) -> Option<Vec<u64>> {
    let shapes = dims.trim_start_matches('[').split(']');
    let numbers = |shape: &str| -> Option<Vec<u64>> {
        let text = shape.trim_start_matches([',', ' ', '[']);
        text.split(',').map(|number| number.trim().parse().ok()).collect()
    };
    shapes.filter_map(numbers).find(|shape| !shape.is_empty())
}

/// `["c10::BFloat16", "float"]` → `c10::BFloat16`.
fn first_type(tree: &CallTree, call: CallId) -> Option<String> {
    let types = tree.trace().text(tree.arguments(call)?.types);
    types.split('"').nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::first_shape;

    #[test]
    fn the_first_shape_with_sizes_is_read() {
        assert_eq!(first_shape("[[2, 12, 197, 64], [2]]"), Some(vec![2, 12, 197, 64]));
        assert_eq!(first_shape("[[], [7, 8]]"), Some(vec![7, 8]));
        assert_eq!(first_shape(""), None);
        assert_eq!(first_shape("[[], []]"), None);
    }
}
