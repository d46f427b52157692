//! Recognizes attention that is computed by separate matrix products and softmaxes.
//!
//! ```text
//! bmm      [16, 64, 32] × [16, 32, 64]     query and key: rows and columns of the softmax
//! _softmax [4, 4, 64, 64]                  4 heads
//! bmm      [16, 64, 64] × [16, 64, 32]     with the values: the left input has the size of the softmax
//! ```

use super::sizes::{Counts, Weight, dims, most, shapes};
use crate::tree::{CallId, CallTree};
use std::collections::BTreeSet;

/// Ops that compute batched matrix products, each with the position of the first matrix among its
/// inputs.
const PRODUCTS: [(&str, usize); 2] = [("aten::bmm", 0), ("aten::baddbmm", 1)];

/// Ops that compute a softmax.
const SOFTMAXES: [&str; 2] = ["aten::_softmax", "aten::_safe_softmax"];

/// The softmaxes and matrix products found so far.
#[derive(Debug, Default)]
pub(super) struct Products {
    /// Shapes of softmaxes, each with its total time and number of calls.
    softmaxes: Vec<(Vec<u64>, Weight)>,
    /// Batch size, rows, inner size and columns of each matrix product.
    products: BTreeSet<[u64; 4]>,
}

impl Products {
    /// Records an op if it is a softmax or a batched matrix product.
    pub(super) fn look_at(&mut self, tree: &CallTree, call: CallId, weight: impl Fn() -> Weight) {
        let name = tree.name(call);
        if SOFTMAXES.contains(&name) {
            let shape = shapes(dims(tree, call)).into_iter().next();
            self.softmaxes.extend(shape.filter(|s| s.len() >= 3).map(|shape| (shape, weight())));
        } else if let Some((_, at)) = PRODUCTS.iter().find(|(product, _)| *product == name) {
            let shapes = shapes(dims(tree, call));
            if let [a, b, ..] = shapes.get(*at..).unwrap_or_default()
                && let ([batch, rows, inner], [_, _, columns]) = (&a[..], &b[..])
            {
                self.products.insert([*batch, *rows, *inner, *columns]);
            }
        }
    }

    /// The softmaxes that belong to attention, each with the head size. A softmax belongs to
    /// attention if the sizes show that it reads the output of one matrix product, and that another
    /// matrix product reads its output.
    fn of_attention(&self) -> impl Iterator<Item = (&[u64], u64, Weight)> {
        self.softmaxes.iter().filter_map(|(shape, weight)| {
            let [before @ .., rows, columns] = &shape[..] else { return None };
            let batch: u64 = before.iter().product();
            let is_before = |p: &&[u64; 4]| [p[0], p[1], p[3]] == [batch, *rows, *columns];
            let size = self.products.iter().find(|product| is_before(product))?[2];
            let reads = [batch, *rows, *columns, size];
            self.products.contains(&reads).then_some((&shape[..], size, *weight))
        })
    }

    /// Number of softmaxes that belong to attention.
    pub(super) fn attention(&self) -> usize {
        self.of_attention().count()
    }

    /// Number of heads and head size of the attention that takes the most time.
    pub(super) fn heads(&self) -> Option<(u64, u64)> {
        let mut counts = Counts::new();
        for (shape, size, weight) in self.of_attention() {
            if let [_, heads, _, _] = shape {
                *counts.entry((*heads, size)).or_default() += weight;
            }
        }
        most(&counts)
    }
}
