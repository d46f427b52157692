//! Determines the [`EventCategory`] of each measured event. Several kinds of evidence are tried in a fixed order, and
//! the first that yields a category is used.

use super::names::{self, Role};
use super::rules::{Rules, Strength};
use super::same_kernels::SameKernels;
use super::{Categories, CategoryId, CategorySource, EventCategory};
use crate::diff::TraceDiff;
use crate::program::{Communication, Measure, Phase, Phases, Program, communication};
use crate::side::{PerSide, Side};
use crate::trace::{ByName, Category, TextId};
use crate::tree::{CallId, CallKind, CallTree, Descent};
use rustc_hash::FxHashMap;

/// Substring that identifies Python frames of PyTorch optimizers by name.
pub(in crate::analysis) const OPTIMIZER_FRAME: &str = "torch/optim/";
/// Name of the category for communication.
const COMMUNICATION: &str = "communication";
/// Name of the category for optimizer work.
const OPTIMIZER: &str = "optimizer";

/// The category of every measured event in both traces.
#[derive(Debug, Clone)]
pub struct CategoryTable {
    rules: Categories,
    measure: Measure,
    columns: PerSide<Vec<EventCategory>>,
}

pub(super) const NOTHING: EventCategory =
    EventCategory { id: CategoryId::UNCLASSIFIED, source: CategorySource::Nothing };

impl CategoryTable {
    /// Assigns a category to each measured event.
    pub(in crate::analysis) fn new(diff: &TraceDiff, categories: &Categories) -> CategoryTable {
        let (measure, rules) = (Measure::of(diff.trees()), categories.rules());
        let mut columns =
            PerSide::from_fn_at_once(|side| column(diff.program(side), measure, rules));
        // If the ops above a kernel determine its category, this category also applies to other kernels with the same
        // name, on both sides.
        let mut same = SameKernels::default();
        for side in Side::BOTH {
            same.learn(diff.tree(side), measure, &columns[side]);
        }
        for side in Side::BOTH {
            same.apply(diff.tree(side), measure, rules, &mut columns[side]);
        }
        CategoryTable { rules: categories.clone(), measure, columns }
    }

    /// Name of the category of a measured event.
    #[doc(hidden)]
    pub fn name(&self, diff: &TraceDiff, side: Side, call: CallId) -> &str {
        self.rules.name(self.of(diff, side, call).id)
    }

    /// The rules that assign the categories.
    pub fn rules(&self) -> &Categories {
        &self.rules
    }

    /// The category of a measured event; calls that are not measured are unclassified.
    pub fn of(&self, diff: &TraceDiff, side: Side, call: CallId) -> EventCategory {
        self.measure.slot(diff.tree(side), call).map_or(NOTHING, |slot| self.columns[side][slot])
    }
}

/// The category of every measured event in a single trace.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct TraceCategories<'c> {
    categories: &'c Categories,
    measure: Measure,
    column: Vec<EventCategory>,
}

impl<'c> TraceCategories<'c> {
    /// Classifies the events of one tree.
    pub fn of(
        program: &Program,
        measure: Measure,
        categories: &'c Categories,
    ) -> TraceCategories<'c> {
        let (tree, rules) = (program.tree(), categories.rules());
        let mut column = column(program, measure, rules);
        let mut same = SameKernels::default();
        same.learn(tree, measure, &column);
        same.apply(tree, measure, rules, &mut column);
        TraceCategories { categories, measure, column }
    }

    /// The category of a measured call; calls that are not measured are unclassified.
    pub fn category(&self, tree: &CallTree, call: CallId) -> EventCategory {
        let slot = self.measure.slot(tree, call);
        slot.map_or(NOTHING, |slot| self.column[slot])
    }

    /// The name of a category.
    pub fn label(&self, id: CategoryId) -> &'c str {
        self.categories.name(id)
    }

    /// The category name of a measured call; `unclassified` for calls that are not measured.
    pub fn name(&self, tree: &CallTree, call: CallId) -> &'c str {
        self.label(self.category(tree, call).id)
    }
}

/// Returns the category of each measured event of a tree, indexed by slot.
fn column(program: &Program, measure: Measure, rules: &Rules) -> Vec<EventCategory> {
    let (tree, phases) = (&**program.tree(), program.phases());
    let communication = program.communication();
    let mut judge = Judge {
        tree,
        rules,
        phases,
        communication,
        known: FxHashMap::default(),
        descent: Descent::default(),
        real_ops: ByName::new(tree.trace()),
        optimizer_frames: ByName::new(tree.trace()),
        zeroing_ops: ByName::new(tree.trace()),
    };
    let mut column = vec![NOTHING; measure.slots(tree)];
    for call in measure.calls(tree) {
        let slot = measure.slot(tree, call).expect("every attributed call has a slot");
        column[slot] = judge.category(call);
    }
    column
}

/// Classifies the measured events of one tree, and caches the results by name.
struct Judge<'a> {
    tree: &'a CallTree,
    rules: &'a Rules,
    phases: &'a Phases,
    communication: &'a Communication,
    known: FxHashMap<(Role, TextId), Option<usize>>,
    /// Cache of the evidence from the calls above the call that was classified last.
    descent: Descent<Above>,
    /// For each cpu_op name: whether the cpu_op is an op rather than a named range (cached).
    real_ops: ByName<bool>,
    /// For each frame name: whether the frame is in a file of an optimizer (cached).
    optimizer_frames: ByName<bool>,
    zeroing_ops: ByName<bool>,
}

/// Evidence about the work below a call, found in the names of the call and of the calls above it.
#[derive(Debug, Clone, Copy, Default)]
struct Above {
    /// Category of the op with the greatest strength; among equally strong ops, the nearest op wins.
    op: Option<usize>,
    /// Category of the nearest autograd node or module, and whether it comes from a node or from a module.
    context: Option<(usize, CategorySource)>,
    is_optimizer: bool,
    /// Whether the call is in `zero_grad` or `aten::zero_`, which clear gradients or other tensors. Clearing does not
    /// count as optimizer work, although `zero_grad` is recorded as a part of the optimizer.
    clears_gradients: bool,
}

impl Judge<'_> {
    fn category(&mut self, call: CallId) -> EventCategory {
        let found = self
            .by_event(call)
            .or_else(|| self.by_kernel(Role::Generated, call))
            .or_else(|| self.by_op(call))
            .or_else(|| self.above(call).context)
            .or_else(|| self.by_kernel(Role::Kernel, call));
        let found = self.by_optimizer(call, found).or(found);
        found.map_or(NOTHING, |(category, source)| EventCategory {
            id: CategoryId(category as u16),
            source,
        })
    }

    fn by_event(&mut self, call: CallId) -> Option<(usize, CategorySource)> {
        if let Some(evidence) = self.communication.evidence(self.tree, call) {
            let source = match evidence {
                communication::Evidence::Op => CategorySource::Op,
                communication::Evidence::Event => CategorySource::Event,
            };
            return Some((self.rules.named(COMMUNICATION)?, source));
        }
        let kind = match self.tree.trace().category(self.tree.event(call)?) {
            Category::Memcpy => self.rules.named("memcpy"),
            Category::Memset => self.rules.named("memset"),
            Category::Kernel => self.look_up(Role::Event, call),
            Category::CpuOp
            | Category::PythonFunction
            | Category::Runtime
            | Category::UserAnnotation
            | Category::GpuUserAnnotation => None,
        };
        kind.map(|category| (category, CategorySource::Event))
    }

    /// Classifies a kernel by its name. The op above a compiler-generated pointwise or reduction kernel is ignored,
    /// because the kernel may merely prepare values for that op.
    fn by_kernel(&mut self, role: Role, call: CallId) -> Option<(usize, CategorySource)> {
        if self.tree.kind(call) != CallKind::Gpu {
            return None;
        }
        self.look_up(role, call).map(|category| (category, CategorySource::KernelName))
    }

    /// Classifies a call by the op with the greatest strength at or above the call. Among equally strong ops, the
    /// nearest op wins.
    fn by_op(&mut self, call: CallId) -> Option<(usize, CategorySource)> {
        let is_op = self.tree.kind(call) == CallKind::Op;
        let own = if is_op { self.look_up(Role::Op, call) } else { None };
        let above = self.above(call).op;
        let best = self.stronger(own, above);
        best.map(|category| (category, CategorySource::Op))
    }

    /// Assigns pointwise work, reductions and copies in an optimizer step to the optimizer category. For example,
    /// `_foreach_add_` in one PyTorch version may do the work of a fused optimizer kernel in another version.
    fn by_optimizer(
        &mut self,
        call: CallId,
        found: Option<(usize, CategorySource)>,
    ) -> Option<(usize, CategorySource)> {
        let serves_others = found.is_none_or(|(category, source)| {
            let strength = self.rules.strength(category);
            source != CategorySource::Event
                && matches!(strength, Strength::Weak | Strength::Generic)
        });
        if !serves_others {
            return None;
        }
        let above = self.above(call);
        let is_optimizer = self.phases.phase(call) == Phase::TrainOptimizer || above.is_optimizer;
        if !is_optimizer || above.clears_gradients {
            return None;
        }
        Some((self.rules.named(OPTIMIZER)?, CategorySource::Optimizer))
    }

    fn above(&mut self, call: CallId) -> Above {
        let tree = self.tree;
        let Some(parent) = tree.parent(call) else { return Above::default() };
        let mut descent = std::mem::take(&mut self.descent);
        let enter =
            |above: Option<&Above>, call| self.below(above.copied().unwrap_or_default(), call);
        let above = *descent.visit(tree, parent, enter, |_, _, _| {});
        self.descent = descent;
        above
    }

    /// Combines the evidence from a call with the evidence from the calls above it.
    fn below(&mut self, above: Above, call: CallId) -> Above {
        let mut found = above;
        match self.tree.kind(call) {
            CallKind::Op => {
                if self.is_real_op(call) {
                    let own = self.look_up(Role::Op, call).filter(|&own| self.runs_work(own));
                    found.op = self.stronger(own, above.op);
                }
                if names::is_autograd_node(self.tree.name(call)) {
                    let own = self.look_up(Role::Autograd, call).filter(|&own| self.runs_work(own));
                    let own = own.map(|category| (category, CategorySource::Autograd));
                    found.context = own.or(above.context);
                }
                found.clears_gradients |= contains(self.tree, call, "zero_", &mut self.zeroing_ops);
            }
            CallKind::Frame => {
                found.is_optimizer |=
                    contains(self.tree, call, OPTIMIZER_FRAME, &mut self.optimizer_frames);
            }
            CallKind::Thread | CallKind::Unlinked | CallKind::Runtime | CallKind::Gpu => {}
        }
        if self.tree.is_module(call) {
            let own = self.look_up(Role::Module, call);
            found.context = own.map(|category| (category, CategorySource::Module));
        }
        found
    }

    /// The category with the greater strength; if both are equally strong, the category of the nearer op.
    fn stronger(&self, nearer: Option<usize>, farther: Option<usize>) -> Option<usize> {
        let strength = |category: Option<usize>| category.map(|c| self.rules.strength(c));
        if strength(farther) > strength(nearer) { farther } else { nearer }
    }

    /// Whether ops of a category launch GPU work.
    fn runs_work(&self, category: usize) -> bool {
        self.rules.strength(category) > Strength::Host
    }

    fn is_real_op(&mut self, call: CallId) -> bool {
        let trace = self.tree.trace();
        let name = trace.name_id(self.tree.event(call).expect("every op has an event"));
        self.real_ops.get(name, || names::is_op(trace.text(name)))
    }

    /// Looks up the category of a call's name; results are cached by name.
    fn look_up(&mut self, role: Role, call: CallId) -> Option<usize> {
        let event = self.tree.event(call)?;
        let name = self.tree.trace().name_id(event);
        let (tree, rules) = (self.tree, self.rules);
        *self.known.entry((role, name)).or_insert_with(|| names::find(rules, role, tree.name(call)))
    }
}

/// Whether the name of an op or frame contains `text`.
fn contains(tree: &CallTree, call: CallId, text: &str, known: &mut ByName<bool>) -> bool {
    let trace = tree.trace();
    let name = trace.name_id(tree.event(call).expect("every op and frame has an event"));
    known.get(name, || trace.text(name).contains(text))
}
