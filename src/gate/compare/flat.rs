//! A digest → the same with places left out that only one side has: what they call stands in their
//! place, and equal calls become one.
//!
//! ```text
//! without modules            at the launches of graphs          with graphs as their calls
//! Net_0 ── aten::mm          GraphLaunch ─ Net_0 ─ mm ─ gemm    GraphLaunch ─ Net_0 ─ mm ─ gemm
//!     ↓                          ↓                                  ↓
//! aten::mm                   GraphLaunch ─ gemm                 GraphLaunch, Net_0 ─ mm ─ gemm
//! ```

use crate::gate::digest::{Captured, Digest, Node, NodeKind, Range, Variant};
use indextree::{Arena, NodeId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The digest without modules: where only one side has them, places without them are all that both have.
pub(super) fn without_modules(digest: &Digest) -> Digest {
    without(digest, |node, _| match node.kind {
        NodeKind::Module => Below::InPlaceOfThis,
        NodeKind::Step
        | NodeKind::Op
        | NodeKind::Wait
        | NodeKind::GraphLaunch
        | NodeKind::Kernel
        | NodeKind::Copy
        | NodeKind::Memset => Below::This,
    })
}

/// The digest with the kernels of graphs at the launches of these, as it would be without captures.
pub(in crate::gate) fn at_launches(digest: &Digest) -> Digest {
    let mut bare = without(digest, |node, is_in_graph| match is_in_graph && !node.kind.is_gpu() {
        true => Below::InPlaceOfThis,
        false => Below::This,
    });
    let nodes = || digest.ids().filter(|&(_, id)| !is_in_graph(digest, id)).map(|(_, id)| id);
    let setup = &mut bare.setup;
    setup.captured = Captured::No;
    setup.has_modules = nodes().any(|id| digest.node(id).kind == NodeKind::Module);
    setup.has_shapes &=
        nodes().any(|id| digest.node(id).variants.iter().any(|v| !v.dims.is_empty()));
    bare
}

/// The digest with what was captured in the place of the launches of graphs, as if it had been called
/// there.
pub(in crate::gate) fn as_called(digest: &Digest) -> Digest {
    without(digest, |node, _| match node.kind {
        NodeKind::GraphLaunch => Below::BesideThis,
        NodeKind::Step
        | NodeKind::Module
        | NodeKind::Op
        | NodeKind::Wait
        | NodeKind::Kernel
        | NodeKind::Copy
        | NodeKind::Memset => Below::This,
    })
}

fn is_in_graph(digest: &Digest, id: NodeId) -> bool {
    id.ancestors(&digest.tree).skip(1).any(|id| digest.node(id).kind == NodeKind::GraphLaunch)
}

/// Where what stands below a place goes.
enum Below {
    /// It stays.
    This,
    /// It takes the place of this one, which is left out.
    InPlaceOfThis,
    /// It stands beside this one.
    BesideThis,
}

/// The digest with places left out; `below` says of each node, and of whether it is in a graph, where
/// what stands below it goes.
fn without(digest: &Digest, below: impl Fn(&Node, bool) -> Below) -> Digest {
    let mut tree = Arena::new();
    let root = tree.new_node(digest.node(digest.root).clone());
    // For each place below which one what it calls stands, and whether that is in a graph.
    let mut places: FxHashMap<NodeId, (NodeId, bool)> = FxHashMap::default();
    let mut known: FxHashMap<(NodeId, NodeKind, String), NodeId> = FxHashMap::default();
    places.insert(digest.root, (root, false));
    for (_, id) in digest.ids().skip(1) {
        let above = id.parent(&digest.tree).and_then(|above| places.get(&above).copied());
        let ((above, is_in_graph), node) = (above.unwrap_or((root, false)), digest.node(id));
        let (goes, inside) =
            (below(node, is_in_graph), is_in_graph || node.kind == NodeKind::GraphLaunch);
        if let Below::InPlaceOfThis = goes {
            places.insert(id, (above, inside));
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
        let stands_below = if let Below::BesideThis = goes { above } else { place };
        places.insert(id, (stands_below, inside));
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
