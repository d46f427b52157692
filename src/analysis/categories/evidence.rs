//! The calls above each accounted event → its [`Category`], by the first evidence that decides.

use super::kernel_name;
use super::rules::{NameKind, Rules, Strength};
use super::words::Words;
use super::{Categories, Category, CategoryId, CategorySource};
use crate::diff::TraceDiff;
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::trace::{self, TextId};
use crate::tree::{CallId, CallKind, CallTree, ModuleName};
use rustc_hash::FxHashMap;

/// An op that says who calls the communication library, without a namespace.
const COLLECTIVE_OP: &str = "record_param_comms";
/// How compilers name the ops and kernels that they fuse.
const FUSED_PREFIX: &str = "triton";
/// Before the name of an autograd node.
const AUTOGRAD_PREFIX: &str = "autograd::engine::evaluate_function: ";

/// The category of every accounted event of both traces.
#[derive(Debug, Clone)]
pub(in crate::analysis) struct CategoryTable {
    columns: PerSide<Vec<Category>>,
}

const NOTHING: Category =
    Category { id: CategoryId::UNCLASSIFIED, source: CategorySource::Nothing };

impl CategoryTable {
    pub(in crate::analysis) fn new(
        diff: &TraceDiff,
        measure: Measure,
        categories: &Categories,
    ) -> CategoryTable {
        let columns = PerSide::from_fn(|side| {
            let tree = diff.tree(side);
            let mut judge = Judge { tree, rules: &categories.rules, known: FxHashMap::default() };
            let mut column = vec![NOTHING; measure.slots(tree)];
            for call in measure.calls(tree) {
                let slot = measure.slot(tree, call).expect("accounted calls have a slot");
                column[slot] = judge.category(call);
            }
            column
        });
        CategoryTable { columns }
    }

    /// The category of the accounted event in a slot; unclassified for other calls, which have none.
    pub(in crate::analysis) fn of(&self, side: Side, slot: Option<usize>) -> Category {
        slot.map_or(NOTHING, |slot| self.columns[side][slot])
    }
}

/// Decides for the events of one tree, with what it found out about names.
struct Judge<'a> {
    tree: &'a CallTree,
    rules: &'a Rules,
    known: FxHashMap<(Role, TextId), Option<usize>>,
}

/// Looks at one sort of evidence: a category, and what it was decided by.
type Look<J> = fn(&mut J, CallId) -> Option<(usize, CategorySource)>;

/// As what a name is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Role {
    Event,
    Op,
    Autograd,
    Module,
    Kernel,
}

impl Judge<'_> {
    fn category(&mut self, call: CallId) -> Category {
        let evidence: [Look<Self>; 4] =
            [Self::by_event, Self::by_op, Self::by_context, Self::by_kernel_name];
        let found = evidence.iter().find_map(|look| look(self, call));
        found.map_or(NOTHING, |(category, source)| Category {
            id: CategoryId(category as u16),
            source,
        })
    }

    fn by_event(&mut self, call: CallId) -> Option<(usize, CategorySource)> {
        let event = self.tree.event(call)?;
        let trace = self.tree.trace();
        let kind = match trace.category(event) {
            trace::Category::Memcpy => self.named("memcpy"),
            trace::Category::Memset => self.named("memset"),
            trace::Category::Kernel => {
                if trace.collectives().get(event).is_some() {
                    self.named("communication")
                } else {
                    self.look_up(Role::Event, call)
                }
            }
            trace::Category::CpuOp
            | trace::Category::PythonFunction
            | trace::Category::Runtime
            | trace::Category::UserAnnotation
            | trace::Category::GpuUserAnnotation => None,
        };
        kind.map(|category| (category, CategorySource::Event))
    }

    /// The nearest op of the highest strength that any op above has.
    fn by_op(&mut self, call: CallId) -> Option<(usize, CategorySource)> {
        let tree = self.tree;
        let mut best: Option<usize> = None;
        for above in std::iter::once(call).chain(tree.ancestors(call)) {
            let is_op = above == call || is_op(tree.name(above));
            if tree.kind(above) != CallKind::Op || !is_op {
                continue;
            }
            let Some(category) = self.look_up(Role::Op, above) else { continue };
            if above != call && self.strength(category) == Strength::Host {
                continue;
            }
            if best.is_none_or(|best| self.strength(category) > self.strength(best)) {
                best = Some(category);
            }
            if self.strength(category) == Strength::Specific {
                break;
            }
        }
        best.map(|category| (category, CategorySource::Op))
    }

    /// The nearest autograd node, or the innermost module where that is nearer.
    fn by_context(&mut self, call: CallId) -> Option<(usize, CategorySource)> {
        let tree = self.tree;
        for above in tree.ancestors(call) {
            if tree.kind(above) == CallKind::Op && is_autograd_node(tree.name(above)) {
                let category = self.look_up(Role::Autograd, above);
                let runs = |&category: &usize| self.strength(category) > Strength::Host;
                if let Some(category) = category.filter(runs) {
                    return Some((category, CategorySource::Autograd));
                }
            } else if tree.is_module(above) {
                let category = self.look_up(Role::Module, above)?;
                return Some((category, CategorySource::Module));
            }
        }
        None
    }

    fn by_kernel_name(&mut self, call: CallId) -> Option<(usize, CategorySource)> {
        let is_gpu = self.tree.kind(call) == CallKind::Gpu;
        let category = if is_gpu { self.look_up(Role::Kernel, call)? } else { return None };
        Some((category, CategorySource::KernelName))
    }

    fn strength(&self, category: usize) -> Strength {
        self.rules.categories[category].strength
    }

    fn named(&self, name: &str) -> Option<usize> {
        self.rules.categories.iter().position(|category| category.name == name)
    }

    /// The category of a call's name, found once for each name.
    fn look_up(&mut self, role: Role, call: CallId) -> Option<usize> {
        let event = self.tree.event(call)?;
        let name = self.tree.trace().name_id(event);
        let (tree, rules) = (self.tree, self.rules);
        *self.known.entry((role, name)).or_insert_with(|| find(rules, role, tree.name(call)))
    }
}

fn find(rules: &Rules, role: Role, name: &str) -> Option<usize> {
    match role {
        Role::Event => rules.find(NameKind::Event, &Words::of(&kernel_name::stem(name))),
        Role::Op if name.starts_with(FUSED_PREFIX) => of_kernel(rules, name),
        Role::Op => rules.find(NameKind::Op, &Words::of(name)),
        Role::Autograd => {
            let node = name.strip_prefix(AUTOGRAD_PREFIX).unwrap_or(name);
            rules.find(NameKind::Op, &Words::of(node))
        }
        Role::Module => {
            let class = ModuleName::instance_or_name(name);
            rules.find(NameKind::Module, &Words::of(class))
        }
        Role::Kernel => of_kernel(rules, name),
    }
}

/// A fused kernel by the ops in its name; a launcher by what it runs; any other by its stem.
fn of_kernel(rules: &Rules, name: &str) -> Option<usize> {
    let stem = kernel_name::stem(name);
    let words = Words::of(&stem);
    if words.start_with(&Words::of(FUSED_PREFIX)) && words.contain(&Words::of("fused")) {
        let fused = rules.find(NameKind::Fused, &words);
        if fused.is_some() {
            return fused;
        }
    }
    kernel_name::launched(name, |stem| rules.is_launcher(stem))
        .iter()
        .find_map(|inner| rules.find(NameKind::Kernel, &Words::of(inner)))
        .or_else(|| rules.find(NameKind::Kernel, &words))
}

/// Whether a cpu_op is a real op: with a namespace, or made by a compiler. Others are autograd nodes
/// and ranges that a user or a framework named, and say nothing about single kernels.
fn is_op(name: &str) -> bool {
    let namespaced = name.contains("::") && !name.contains(' ');
    namespaced || name.starts_with(FUSED_PREFIX) || name == COLLECTIVE_OP
}

/// `AddmmBackward0`, `autograd::engine::evaluate_function: AddmmBackward0`.
fn is_autograd_node(name: &str) -> bool {
    let node = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name.starts_with(AUTOGRAD_PREFIX) || node.ends_with("Backward")
}
