//! Derives the model's head count, sizes and element types from the recorded input shapes and types
//! of ops.

use super::network::{Network, gpu_time};
use super::products::Products;
use super::sizes::{Counts, Weight, dims, most, shapes};
use crate::order::Order as _;
use crate::program::Measure;
use crate::tree::{CallId, CallKind, CallTree};
use std::collections::BTreeMap;

/// Maximum number of element types to report.
const TYPES: usize = 3;

/// Ops whose first input is `[batch, heads, length, size]`.
const ATTENTION: [&str; 4] = [
    "aten::scaled_dot_product_attention",
    "aten::_scaled_dot_product_flash_attention",
    "aten::_scaled_dot_product_efficient_attention",
    "aten::_scaled_dot_product_cudnn_attention",
];

/// Ops whose first input is `[tokens, heads, size]`.
const SERVED_ATTENTION: [&str; 2] =
    ["vllm::unified_attention_with_output", "vllm::unified_attention"];

/// Substrings in the names of ops that normalize the vectors between layers.
const NORMS: [&str; 3] = ["aten::native_layer_norm", "rms_norm", "rmsnorm"];

/// Substrings in the names of ops whose input types are reported as the types of the model.
const PRODUCTS: [&str; 5] = ["aten::mm", "aten::addmm", "aten::bmm", "attention", "convolution"];

#[derive(Debug, Default)]
pub(super) struct Shapes {
    pub(super) heads: Option<u64>,
    pub(super) head_size: Option<u64>,
    pub(super) hidden_size: Option<u64>,
    pub(super) types: Vec<String>,
}

impl Shapes {
    /// The shapes of the main network. If the trace has only one network, and that network's calls record
    /// no shapes, the shapes of all calls are used.
    pub(super) fn of(tree: &CallTree, network: &Network<'_>, measure: Measure) -> Shapes {
        let own = network.calls.iter().flat_map(|&call| tree.subtree(call));
        let found = Found::of(tree, own, measure).into_shapes();
        if found.is_empty() && !network.has_others {
            Found::of(tree, tree.calls(), measure).into_shapes()
        } else {
            found
        }
    }

    fn is_empty(&self) -> bool {
        self.heads.is_none() && self.hidden_size.is_none()
    }
}

/// The sizes and types found so far, each with its total time and number of calls.
#[derive(Default)]
struct Found {
    heads: Counts,
    hidden: Counts,
    products: Products,
    types: BTreeMap<String, u64>,
}

impl Found {
    fn of(tree: &CallTree, calls: impl Iterator<Item = CallId>, measure: Measure) -> Found {
        let mut found = Found::default();
        for call in calls.filter(|&call| tree.kind(call) == CallKind::Op) {
            let weight = || Weight { time: time(tree, call, measure), calls: 1 };
            found.look_at(tree, call, weight);
        }
        found
    }

    fn look_at(&mut self, tree: &CallTree, call: CallId, weight: impl Fn() -> Weight) {
        let name = tree.name(call);
        let first = |length: Option<usize>| {
            let first = shapes(dims(tree, call)).into_iter().next();
            first.filter(|shape| length.is_none_or(|length| shape.len() == length))
        };
        if ATTENTION.contains(&name) {
            count(&mut self.heads, first(Some(4)).map(|s| (s[1], s[3])), &weight);
        } else if SERVED_ATTENTION.contains(&name) {
            count(&mut self.heads, first(Some(3)).map(|s| (s[1], s[2])), &weight);
        } else if NORMS.iter().any(|norm| name.contains(norm)) {
            count(&mut self.hidden, first(None).and_then(|s| Some((*s.last()?, 0))), &weight);
        }
        self.products.look_at(tree, call, &weight);
        if PRODUCTS.iter().any(|product| name.contains(product)) {
            let kind = first_type(tree, call);
            kind.into_iter().for_each(|kind| *self.types.entry(kind).or_default() += 1);
        }
    }

    fn into_shapes(mut self) -> Shapes {
        let attention = most(&self.heads).or_else(|| self.products.heads());
        let head_size = attention.map(|(_, size)| size);
        // Queries and keys may be normalized too, but their width is that of an attention head, not that of the vectors
        // between layers.
        if self.hidden.len() > 1 {
            self.hidden.retain(|&(size, _), _| Some(size) != head_size);
        }
        Shapes {
            heads: attention.map(|(heads, _)| heads),
            head_size,
            hidden_size: most(&self.hidden).map(|(size, _)| size),
            types: ranked(self.types),
        }
    }
}

/// Total time in ns of the GPU events below an op, or the op's host duration if the trace has no GPU events.
fn time(tree: &CallTree, call: CallId, measure: Measure) -> i64 {
    match measure {
        Measure::GpuTime => gpu_time(tree, call),
        Measure::HostSelfTime => tree.duration(call).0,
    }
}

fn count(counts: &mut Counts, sizes: Option<(u64, u64)>, weight: impl Fn() -> Weight) {
    if let Some(sizes) = sizes {
        *counts.entry(sizes).or_default() += weight();
    }
}

fn ranked(types: BTreeMap<String, u64>) -> Vec<String> {
    let mut ranked: Vec<(String, u64)> = types.into_iter().collect();
    ranked.order_by_key(|(name, count)| (std::cmp::Reverse(*count), name.clone()));
    ranked.truncate(TYPES);
    ranked.into_iter().map(|(name, _)| name).collect()
}

/// `["c10::BFloat16", "float"]` → `c10::BFloat16`. Lists and scalars (`GenericList`) are not element types.
fn first_type(tree: &CallTree, call: CallId) -> Option<String> {
    let types = tree.trace().text(tree.arguments(call)?.types);
    let first = types.split('"').nth(1)?;
    first.starts_with(|c: char| c.is_ascii_lowercase()).then(|| first.to_owned())
}
