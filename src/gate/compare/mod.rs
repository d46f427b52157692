//! Two digests → what of the structure changed: each change once, at its place, for the rule that
//! speaks of it.
//!
//! ```text
//! before               after                    change
//! Layer_0              Layer_0                  lost_fusion at Layer_0: aten::linear 1 → 3
//! ├─ Linear_0 (qkv)    ├─ aten::linear ×3       (Linear_0 has no partner, so that what it called
//! │  └─ aten::linear   │                         is looked at as if Layer_0 had called it)
//! └─ Linear_1          └─ Linear_0
//! ```
//! Ops, kernels and waits are partners by name below one place, modules by their order, class and
//! content (see `modules`). A count changed where all steps of one side are above all of the other;
//! where they overlap, it varies, and is told apart.

mod bag;
mod change;
mod flat;
mod fusion;
mod gather;
mod graphs;
mod lists;
mod modules;
mod sums;
mod tell;
mod variants;
mod walk;

pub use change::{Change, Item, Place, Site, StructureRule};
pub(super) use graphs::Graphs;
pub(super) use tell::REGION;

use super::digest::Digest;

/// What of the structure differs between two sides.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Structure {
    /// The changes, in the order of the candidate's tree, by place and rule.
    pub changes: Vec<Change>,
    /// Changes that follow from others: in the optimizer and of gradients from more or fewer parameters, of
    /// kernels from other arguments of their op.
    pub follow: Vec<Change>,
    /// Places whose counts vary among the steps or runs of one side, so that nothing can be said.
    pub variable: Vec<String>,
    /// Places where every step of one side calls as much, and some steps of the other side less: what is
    /// missing there may not have been recorded.
    pub missing: Vec<String>,
    /// Whether modules were left out, since one side has none.
    pub is_flat: bool,
    /// Whether shapes and types were looked at.
    pub has_shapes: bool,
}

impl Structure {
    /// Compares the structure of two sides.
    pub fn of(baseline: &Digest, candidate: &Digest) -> Structure {
        let is_flat = baseline.setup.has_modules != candidate.setup.has_modules;
        let has_shapes = baseline.setup.has_shapes && candidate.setup.has_shapes;
        let mut structure = match is_flat {
            true => {
                walk::compare(&flat::without_modules(baseline), &flat::without_modules(candidate))
            }
            false => walk::compare(baseline, candidate),
        };
        (structure.is_flat, structure.has_shapes) = (is_flat, has_shapes);
        structure
    }
}
