//! What ops come to in a step, wherever they stand: where a clock of whole µs cannot tell which call is
//! in which, places have no counts of their own.

use crate::gate::digest::{Digest, NodeKind, Range};
use std::collections::BTreeMap;

/// Calls of each op with each arguments in a step, wherever they stand.
pub(super) type ArgumentSums<'d> = BTreeMap<(&'d str, &'d str, &'d str), Range>;

pub(super) fn argument_sums(digest: &Digest) -> ArgumentSums<'_> {
    let mut sums = ArgumentSums::new();
    for (_, node) in digest.nodes().filter(|(_, node)| node.kind == NodeKind::Op) {
        for variant in &node.variants {
            let key = (node.name.as_str(), variant.dims.as_str(), variant.types.as_str());
            let sum = sums.entry(key).or_default();
            *sum = sum.plus(variant.calls);
        }
    }
    sums
}

/// Calls of each op in a step, wherever they stand.
pub(super) type Sums<'d> = BTreeMap<&'d str, Range>;

pub(super) fn sums(digest: &Digest) -> Sums<'_> {
    let mut sums = Sums::new();
    for (_, node) in digest.nodes().filter(|(_, node)| node.kind == NodeKind::Op) {
        let sum = sums.entry(node.name.as_str()).or_default();
        *sum = sum.plus(node.calls);
    }
    sums
}
