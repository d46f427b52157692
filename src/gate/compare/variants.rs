//! Arguments of an op before and after → which shapes and types it is called with no more, and which
//! instead.

use crate::gate::digest::{Node, Range, Variant};
use std::collections::BTreeMap;

/// Arguments that one side has more calls with than the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Exchanged {
    /// With calls in a step, on the side that has more.
    pub(super) gone: Vec<(Variant, u64)>,
    pub(super) new: Vec<(Variant, u64)>,
}

impl Exchanged {
    /// Holds the arguments of the same op on both sides against each other.
    pub(super) fn of(before: &[&Node], after: &[&Node]) -> Exchanged {
        let (one, two) = (by_arguments(before), by_arguments(after));
        let mut exchanged = Exchanged::default();
        for (key, calls) in &one {
            let other = two.get(key).copied().unwrap_or_default();
            if calls.is_above(other) {
                exchanged.gone.push(entry(key, *calls, other));
            }
        }
        for (key, calls) in &two {
            let other = one.get(key).copied().unwrap_or_default();
            if calls.is_above(other) {
                exchanged.new.push(entry(key, *calls, other));
            }
        }
        exchanged
    }

    /// Leaves those out that `is_kept` does not want; it is told whether they are new.
    pub(super) fn keep(&mut self, is_kept: impl Fn(&Variant, bool) -> bool) {
        self.gone.retain(|(variant, _)| is_kept(variant, false));
        self.new.retain(|(variant, _)| is_kept(variant, true));
    }

    /// Whether neither side has more calls with any arguments.
    pub(super) fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.new.is_empty()
    }

    /// Whether arguments took the place of others.
    pub(super) fn is_exchange(&self) -> bool {
        !self.gone.is_empty() && !self.new.is_empty()
    }

    pub(super) fn gone_calls(&self) -> u64 {
        self.gone.iter().map(|(_, calls)| calls).sum()
    }

    pub(super) fn new_calls(&self) -> u64 {
        self.new.iter().map(|(_, calls)| calls).sum()
    }

    /// Whether types changed, and not shapes alone.
    pub(super) fn changes_types(&self) -> bool {
        let types = |list: &[(Variant, u64)]| {
            let mut types: BTreeMap<String, u64> = BTreeMap::new();
            for (variant, calls) in list {
                *types.entry(variant.types.clone()).or_default() += calls;
            }
            types
        };
        let (one, two) = (types(&self.gone), types(&self.new));
        one.keys().any(|key| !two.contains_key(key)) && two.keys().any(|key| !one.contains_key(key))
    }
}

type Arguments = (String, String);

fn by_arguments(nodes: &[&Node]) -> BTreeMap<Arguments, Range> {
    let mut all: BTreeMap<Arguments, Range> = BTreeMap::new();
    for variant in nodes.iter().flat_map(|node| &node.variants) {
        let sum = all.entry((variant.dims.clone(), variant.types.clone())).or_default();
        *sum = sum.plus(variant.calls);
    }
    all
}

fn entry((dims, types): &Arguments, calls: Range, other: Range) -> (Variant, u64) {
    let variant = Variant { dims: dims.clone(), types: types.clone(), calls };
    (variant, calls.usual - other.usual)
}
