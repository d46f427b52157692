//! Products and softmaxes → attention that is computed step by step, without an op of that name.
//!
//! ```text
//! bmm      [16, 64, 32] × [16, 32, 64]     query and key: as many rows and columns as the softmax
//! _softmax [4, 4, 64, 64]                  4 heads
//! bmm      [16, 64, 64] × [16, 64, 32]     with the values: what is read is as large as the softmax
//! ```

use super::sizes::{Counts, Weight, dims, most, shapes};
use crate::tree::{CallId, CallTree};
use std::collections::BTreeSet;

/// Products of batches, and the positions of their matrices.
const PRODUCTS: [(&str, usize); 2] = [("aten::bmm", 0), ("aten::baddbmm", 1)];

/// Softmaxes.
const SOFTMAXES: [&str; 2] = ["aten::_softmax", "aten::_safe_softmax"];

/// Softmaxes and products as they are found.
#[derive(Debug, Default)]
pub(super) struct Products {
    /// Shapes of softmaxes, with what they weigh and how many there are.
    softmaxes: Vec<(Vec<u64>, Weight)>,
    /// Batch, rows, inner size and columns.
    products: BTreeSet<[u64; 4]>,
}

impl Products {
    /// Looks at an op; whether it is of interest.
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

    /// The softmaxes that stand between a product that makes what they read and one that reads what they
    /// make; with the size of a head.
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

    /// How many softmaxes are of attention.
    pub(super) fn attention(&self) -> usize {
        self.of_attention().count()
    }

    /// Heads, and the size of one, of most of it.
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
