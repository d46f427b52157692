//! A digest → the same without modules: where only one side has them, places without them are all that
//! both have.

use crate::gate::digest::{Digest, Node, NodeKind, Range, Variant};
use indextree::{Arena, NodeId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The digest with what modules call put in their place; equal calls become one.
pub(super) fn without_modules(digest: &Digest) -> Digest {
    let mut tree = Arena::new();
    let root = tree.new_node(digest.node(digest.root).clone());
    let mut places: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    let mut known: FxHashMap<(NodeId, NodeKind, String), NodeId> = FxHashMap::default();
    places.insert(digest.root, root);
    for (_, id) in digest.ids().skip(1) {
        let above = id.parent(&digest.tree).and_then(|above| places.get(&above).copied());
        let (above, node) = (above.unwrap_or(root), digest.node(id));
        if node.kind == NodeKind::Module {
            places.insert(id, above);
            continue;
        }
        let place = match known.get(&(above, node.kind, node.name.clone())) {
            Some(&place) => {
                merge(tree[place].get_mut(), node);
                place
            }
            None => {
                let place = tree.new_node(node.clone());
                above.append(place, &mut tree);
                known.insert((above, node.kind, node.name.clone()), place);
                place
            }
        };
        places.insert(id, place);
    }
    Digest { tree, root, ..digest.clone() }
}

fn merge(into: &mut Node, node: &Node) {
    into.calls = into.calls.plus(node.calls);
    into.launches = into.launches.plus(node.launches);
    into.bytes = into.bytes.plus(node.bytes);
    let mut variants: BTreeMap<(String, String), Range> = BTreeMap::new();
    for variant in into.variants.iter().chain(&node.variants) {
        let sum = variants.entry((variant.dims.clone(), variant.types.clone())).or_default();
        *sum = sum.plus(variant.calls);
    }
    let variant = |((dims, types), calls)| Variant { dims, types, calls };
    into.variants = variants.into_iter().map(variant).collect();
    let mut sites: BTreeMap<String, Range> = BTreeMap::new();
    for (site, calls) in into.sites.iter().chain(&node.sites) {
        let sum = sites.entry(site.clone()).or_default();
        *sum = sum.plus(*calls);
    }
    into.sites = sites.into_iter().collect();
    into.micros.resize(into.micros.len().max(node.micros.len()), 0.0);
    for (sum, more) in into.micros.iter_mut().zip(&node.micros) {
        *sum += more;
    }
}
