//! Assigns a category to kernels without an op above them that determines the category. They receive the category of
//! kernels with the same name that run below such ops.
//!
//! Kernels in a graph replay, or launched before the window, have no ops above them. Kernels in a compiled region have
//! no ops above them except the wrapper of the region. Without this rule, a kernel could be classified by the ops above
//! it on one side and by its name on the other side. The two categories could then differ, although the kernels do the
//! same work. If all ops that launch kernels with a given name, in both traces, have the same category, this category
//! applies to all kernels with this name:
//!
//! ```text
//! trace1   vllm::moe_forward → bmm_E4m3_…   moe, by op
//! trace2   (graph launch)    → bmm_E4m3_…   gemm by its name; moe as the same kernel
//! ```

use super::names::{self, Role};
use super::rules::{Rules, Strength};
use super::{CategoryId, CategorySource, EventCategory};
use crate::program::Measure;
use crate::trace::{ByName, TextId};
use crate::tree::{CallId, CallKind, CallTree};
use rustc_hash::{FxHashMap, FxHashSet};

/// For each kernel name, the category of the ops above the launches of this kernel; `None` if these ops have different
/// categories.
#[derive(Debug, Default)]
pub(super) struct SameKernels<'t> {
    known: FxHashMap<&'t str, Option<CategoryId>>,
}

impl<'t> SameKernels<'t> {
    /// Records the categories of kernels that were classified by the ops above them, for one trace.
    pub(super) fn learn(&mut self, tree: &'t CallTree, measure: Measure, column: &[EventCategory]) {
        let mut seen: FxHashSet<(TextId, CategoryId)> = FxHashSet::default();
        for (name, category) in kernels(tree, measure, column) {
            if category.source == CategorySource::Op && seen.insert((name, category.id)) {
                let known = self.known.entry(tree.trace().text(name));
                let known = known.or_insert(Some(category.id));
                *known = known.filter(|&id| id == category.id);
            }
        }
    }

    /// Applies the recorded categories to kernels that were classified by their names or not at all, for one trace.
    /// Pointwise kernels are skipped: their names already describe their work, and the op above one launch of such a
    /// kernel says nothing about other launches.
    pub(super) fn apply(
        &self,
        tree: &CallTree,
        measure: Measure,
        rules: &Rules,
        column: &mut [EventCategory],
    ) {
        let mut work_of_names = ByName::new(tree.trace());
        for call in measure.calls(tree).filter(|&call| tree.kind(call) == CallKind::Gpu) {
            let slot = measure.slot(tree, call).expect("every attributed call has a slot");
            if !is_by_name(column[slot]) {
                continue;
            }
            let name = tree.trace().name_id(tree.event(call).expect("every GPU call has an event"));
            let shown = work_of_names.get(name, || self.work_of(tree.trace().text(name), rules));
            if let Some(id) = shown.filter(|&id| id != column[slot].id) {
                column[slot] = EventCategory { id, source: CategorySource::SameKernel };
            }
        }
    }

    /// The common category of all ops above kernels with this name, in both traces. Returns `None` if these ops have
    /// different categories, or if the kernel name indicates pointwise or auxiliary work.
    fn work_of(&self, name: &str, rules: &Rules) -> Option<CategoryId> {
        let id = (*self.known.get(name)?)?;
        let tells_work = names::find(rules, Role::Generated, name).is_none()
            && names::find(rules, Role::Kernel, name)
                .is_none_or(|category| rules.strength(category) == Strength::Specific);
        tells_work.then_some(id)
    }
}

fn is_by_name(category: EventCategory) -> bool {
    matches!(category.source, CategorySource::KernelName | CategorySource::Nothing)
}

/// The names and categories of the measured kernels in a trace.
fn kernels<'t, 'a>(
    tree: &'t CallTree,
    measure: Measure,
    column: &'a [EventCategory],
) -> impl Iterator<Item = (TextId, EventCategory)> + use<'t, 'a> {
    let on_gpu = move |call: &CallId| tree.kind(*call) == CallKind::Gpu;
    measure.calls(tree).filter(on_gpu).map(move |call| {
        let slot = measure.slot(tree, call).expect("every attributed call has a slot");
        (tree.trace().name_id(tree.event(call).expect("every GPU call has an event")), column[slot])
    })
}
