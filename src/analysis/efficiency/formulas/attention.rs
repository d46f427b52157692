//! Computes the work of attention, which consists of two matrix products over `queries × keys` pairs in the forward
//! pass, and of five in the backward pass.
//!
//! Source: Dao et al., FlashAttention-2 (2023), section 4.1: `4·pairs·head size` operations in the forward pass, and
//! 2.5 times as many in the backward pass, which recomputes the scores. With a causal mask, only pairs that the mask
//! permits are counted. The number of permitted pairs is `Σ min(i + 1, keys)` if the mask starts at the top left, and
//! `Σ min(keys − queries + i + 1, keys)` if it starts at the bottom right. The operations of the softmax are ignored.
//! Grouped heads need no special case, because the number of operations depends on the number of query heads, while the
//! number of bytes depends on the sizes of the key and value tensors.

use super::super::demand::{Demand, read, sum, written};
use super::super::inputs::{Inputs, Tensor};
use crate::program::Lengths;
use serde::Deserialize;

/// Order of the dimensions of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Layout {
    /// A tensor with the dimensions batch, heads, sequence and head size.
    Bhsd,
    /// A tensor with the dimensions batch, sequence, heads and head size. If there is no batch dimension,
    /// several sequences are packed in the sequence dimension.
    Bshd,
}

/// The corner at which a causal mask starts. The corner matters only if the numbers of keys and queries differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
enum Corner {
    #[default]
    TopLeft,
    BottomRight,
}

/// Positions of the arguments of an attention op.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::analysis::efficiency) struct Attention {
    query: usize,
    key: usize,
    value: usize,
    layout: Layout,
    /// The flag that enables a causal mask.
    causal: Option<usize>,
    #[serde(default)]
    corner: Corner,
    /// The attention mask or bias, which the kernel reads in addition to query, key and value.
    bias: Option<usize>,
    /// For ops on packed sequences, the arguments with the sequence offsets and the maximum sequence lengths of queries
    /// and keys.
    packed: Option<Packed>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Packed {
    offsets: [usize; 2],
    longest: [usize; 2],
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Sizes {
    batch: f64,
    heads: f64,
    queries: u64,
    keys: u64,
    /// Sum of the head sizes of query and value.
    head_sizes: f64,
}

impl Attention {
    pub(super) fn demand(&self, inputs: &Inputs) -> Option<Demand> {
        let query = inputs.tensor(self.query)?;
        let value = inputs.tensor(self.value)?;
        let out = query.elements() / *query.dims.last()? as f64 * *value.dims.last()? as f64;
        let out = query.dtype.map(|dtype| out * f64::from(dtype.bytes));
        let bias = self.bias.map_or(Some(0.0), |at| read(inputs, at));
        let bytes = sum([query.read(), read(inputs, self.key), value.read(), out, bias]);
        Some(Demand::matrix(self.flops(inputs)?, bytes, query.dtype))
    }

    fn flops(&self, inputs: &Inputs) -> Option<f64> {
        let sizes = self.sizes(inputs)?;
        let causal = self.causal.map_or(Some(false), |at| inputs.flag(at))?;
        let pairs = if causal { self.below_mask(sizes) } else { all(sizes) };
        Some(2.0 * sizes.batch * sizes.heads * pairs * sizes.head_sizes)
    }

    fn sizes(&self, inputs: &Inputs) -> Option<Sizes> {
        let (query, key) = (inputs.tensor(self.query)?, inputs.tensor(self.key)?);
        let head_sizes = query.dims.last()? + inputs.tensor(self.value)?.dims.last()?;
        let sizes = |batch: u64, heads: u64, queries: u64, keys: u64| Sizes {
            batch: batch as f64,
            heads: heads as f64,
            queries,
            keys,
            head_sizes: head_sizes as f64,
        };
        match (self.layout, query.dims.as_slice(), key.dims.as_slice()) {
            (Layout::Bhsd, &[batch, heads, queries, _], &[_, _, keys, _])
            | (Layout::Bshd, &[batch, queries, heads, _], &[_, keys, _, _]) => {
                Some(sizes(batch, heads, queries, keys))
            }
            (Layout::Bshd, &[tokens, heads, _], &[key_tokens, _, _]) => {
                let (batch, [queries, keys]) = self.packed?.even(inputs, [tokens, key_tokens])?;
                Some(sizes(batch, heads, queries, keys))
            }
            (Layout::Bhsd | Layout::Bshd, _, _) => None,
        }
    }

    fn below_mask(&self, sizes: Sizes) -> f64 {
        let (queries, keys) = (sizes.queries as f64, sizes.keys as f64);
        let shorter = queries.min(keys);
        let triangle = shorter * (shorter + 1.0) / 2.0;
        match self.corner {
            Corner::TopLeft => triangle + (queries - shorter) * keys,
            Corner::BottomRight => triangle + (keys - shorter) * queries,
        }
    }
}

fn all(sizes: Sizes) -> f64 {
    sizes.queries as f64 * sizes.keys as f64
}

impl Packed {
    /// The number of sequences and their lengths, if all sequences have the same length. Returns `None` if the lengths
    /// differ, because only their sum is recorded, but the number of pairs depends on the sum of their squares.
    fn even(self, inputs: &Inputs, tokens: [u64; 2]) -> Option<(u64, [u64; 2])> {
        let batch = inputs.tensor(self.offsets[0])?.dims.first()?.checked_sub(1)?;
        let mut longest = [0; 2];
        for (side, length) in longest.iter_mut().enumerate() {
            *length = u64::try_from(inputs.integer(self.longest[side])?).ok()?;
            if batch.checked_mul(*length) != Some(tokens[side]) {
                return None;
            }
        }
        Some((batch, longest))
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::analysis::efficiency) struct AttentionBackward {
    /// The gradient of the attention output.
    grad: usize,
    /// The attention output of the forward pass.
    out: usize,
    forward: Attention,
}

impl AttentionBackward {
    pub(super) fn demand(&self, inputs: &Inputs) -> Option<Demand> {
        let Attention { query, key, value, .. } = self.forward;
        let flops = 2.5 * self.forward.flops(inputs)?;
        let given = [self.grad, self.out, query, key, value].map(|at| read(inputs, at));
        let gradients = [query, key, value].map(|at| written(inputs, at));
        let bytes = sum(given.into_iter().chain(gradients));
        Some(Demand::matrix(flops, bytes, inputs.tensor(query)?.dtype))
    }
}

/// Attention over a paged cache. The shapes do not contain the sequence lengths, which are taken from an annotation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::analysis::efficiency) struct PagedAttention {
    /// Query tensor with dimensions `[tokens, heads, head size]`.
    query: usize,
    /// Cache tensor with dimensions `[…, heads, head size]`.
    key: usize,
    value: usize,
}

impl PagedAttention {
    pub(super) fn demand(&self, inputs: &Inputs, lengths: Option<Lengths>) -> Option<Demand> {
        let lengths = lengths?;
        let query = inputs.tensor(self.query)?;
        let &[_, heads, query_size] = query.dims.as_slice() else { return None };
        let (key, value) = (inputs.tensor(self.key)?, inputs.tensor(self.value)?);
        let value_size = *value.dims.last()? as f64;
        let flops = 2.0 * heads as f64 * (query_size as f64 + value_size) * pairs(lengths);
        let tokens: f64 = lengths.keys.iter().map(|&tokens| tokens as f64).sum();
        let cached = [key, value].map(|cache| Some(tokens * token_bytes(cache)?));
        let computed: f64 = lengths.queries.iter().map(|&tokens| tokens as f64).sum();
        let bytes = query.dtype.map(|dtype| {
            computed * heads as f64 * (query_size as f64 + value_size) * f64::from(dtype.bytes)
        });
        Some(Demand::matrix(flops, sum([cached[0], cached[1], bytes]), query.dtype))
    }
}

/// Number of bytes that a cache stores per token.
fn token_bytes(cache: &Tensor) -> Option<f64> {
    let [.., heads, size] = cache.dims.as_slice() else { return None };
    Some(*heads as f64 * *size as f64 * f64::from(cache.dtype?.bytes))
}

/// Number of query-key pairs. A prompt token attends to itself and the tokens before it; a generated token
/// attends to all tokens.
fn pairs(lengths: Lengths) -> f64 {
    let [prompts, generated] = lengths.products.map(|products| products as f64);
    let masked = (lengths.queries_squared[0] as f64 - lengths.queries[0] as f64) / 2.0;
    prompts - masked + generated
}
