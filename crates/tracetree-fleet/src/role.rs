//! Determines the role of a rank from its call tree. Ranks that run the same ops at the same call sites have the same
//! role.
//!
//! Pipeline stages, tensor-parallel ranks and expert-parallel ranks differ in *what* they run, whereas ranks with the
//! same role differ only in their data. The outline of a rank is therefore the set of call sites (an op with its
//! enclosing ops and modules) and the number of instances of each module class. Call counts, shapes, kernels and times
//! are ignored, because they differ between ranks with the same role.

use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use tracetree::diff::plain_name;
use tracetree::program::Steps;
use tracetree::trace::TextId;
use tracetree::tree::{CallId, CallKind, CallTree, ModuleName};
use twox_hash::XxHash3_128;

/// Number of hexadecimal digits in the hash that identifies a role.
const DIGITS: usize = 12;

/// A hash of a tree's outline. If steps were recorded, only the calls in steps are used, because each rank starts its
/// recording at a different point of the program.
pub(super) fn of(tree: &CallTree, steps: &Steps) -> String {
    let has_gpu = tree.calls().any(|call| tree.kind(call) == CallKind::Gpu);
    let counts = |call: CallId| {
        (!has_gpu || tree.is_gpu_path(call)) && (steps.is_empty() || steps.step(call).is_some())
    };
    let mut places = vec![0_u64; tree.len()];
    let mut known: FxHashMap<(u64, TextId), u64> = FxHashMap::default();
    let mut outline: BTreeSet<u64> = BTreeSet::new();
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for call in tree.calls() {
        let above = tree.parent(call).map_or(0, |parent| places[parent.index()]);
        let Some(name) = name(tree, call) else {
            places[call.index()] = above;
            continue;
        };
        let place = *known.entry((above, name)).or_insert_with(|| place(above, tree, call));
        places[call.index()] = place;
        if counts(call) {
            outline.insert(place);
            if let Some(module) = ModuleName::of(tree.name(call)) {
                modules
                    .entry(module.class.to_owned())
                    .or_default()
                    .insert(module.instance.to_owned());
            }
        }
    }
    let mut text: Vec<u8> = outline.iter().flat_map(|place| place.to_le_bytes()).collect();
    for (class, instances) in modules {
        text.extend(format!("{class} {}\n", instances.len()).bytes());
    }
    let hash = format!("{:032x}", XxHash3_128::oneshot(&text));
    hash[..DIGITS].to_owned()
}

/// The name of an op or a module; `None` for other calls.
fn name(tree: &CallTree, call: CallId) -> Option<TextId> {
    let is_place = match tree.kind(call) {
        CallKind::Op => true,
        CallKind::Frame => ModuleName::of(tree.name(call)).is_some(),
        CallKind::Thread | CallKind::Runtime | CallKind::Gpu | CallKind::Unlinked => false,
    };
    is_place.then(|| tree.event(call).map(|event| tree.trace().name_id(event))).flatten()
}

fn place(above: u64, tree: &CallTree, call: CallId) -> u64 {
    let plain =
        plain_name(tree.kind(call), ModuleName::class_or_name(tree.name(call))).into_owned();
    let text: Vec<u8> = above.to_le_bytes().into_iter().chain(plain.bytes()).collect();
    XxHash3_128::oneshot(&text) as u64
}
