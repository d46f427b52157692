//! Tests that the library finds the changes between two programs. The tests use pairs of recordings whose changes are
//! known.

#[path = "../support/mod.rs"]
mod support;

mod certain;
mod counted;
mod exact;
mod innocent;
mod jax;
mod known;
mod made;
mod pairs;
mod parts;
mod several;
mod stripped;

use tracetree::analysis::Analysis;
use tracetree::analysis::changes::Change;

/// The cost, kind and sentence of each change, shown when an assertion fails.
fn shown(analysis: &Analysis) -> Vec<String> {
    let line =
        |change: &Change| format!("{} {}: {}", change.cost.0, change.kind.label(), change.sentence);
    analysis.changes().list().iter().map(line).collect()
}
