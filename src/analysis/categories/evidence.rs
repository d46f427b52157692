//! The calls above each accounted event → its [`EventCategory`], by the first evidence that decides.

use super::names::{self, Role};
use super::rules::{Rules, Strength};
use super::same_kernels::SameKernels;
use super::{Categories, CategoryId, CategorySource, EventCategory};
use crate::diff::TraceDiff;
use crate::program::{Communication, Measure, Phase, Phases, Program, communication};
use crate::side::{PerSide, Side};
use crate::trace::{ByName, Category, TextId};
use crate::tree::{CallId, CallKind, CallTree};
use rustc_hash::FxHashMap;

/// Where PyTorch's optimizers stand, in the names of Python frames.
const OPTIMIZER_FRAME: &str = "torch/optim/";
/// What a compiler or a serving engine calls a kernel's communication in the rules.
const COMMUNICATION: &str = "communication";
/// The category of an optimizer's work.
const OPTIMIZER: &str = "optimizer";

/// The category of every accounted event of both traces.
#[derive(Debug, Clone)]
pub(in crate::analysis) struct CategoryTable {
    columns: PerSide<Vec<EventCategory>>,
}

pub(super) const NOTHING: EventCategory =
    EventCategory { id: CategoryId::UNCLASSIFIED, source: CategorySource::Nothing };

impl CategoryTable {
    pub(in crate::analysis) fn new(
        diff: &TraceDiff,
        measure: Measure,
        categories: &Categories,
    ) -> CategoryTable {
        let rules = categories.rules();
        let mut columns =
            PerSide::from_fn_at_once(|side| column(diff.program(side), measure, rules));
        // What the calls above tell on one side holds for the kernel of that name on the other.
        let mut same = SameKernels::default();
        for side in Side::BOTH {
            same.learn(diff.tree(side), measure, &columns[side]);
        }
        for side in Side::BOTH {
            same.apply(diff.tree(side), measure, rules, &mut columns[side]);
        }
        CategoryTable { columns }
    }

    /// The category of the accounted event in a slot; unclassified for other calls, which have none.
    pub(in crate::analysis) fn of(&self, side: Side, slot: Option<usize>) -> EventCategory {
        slot.map_or(NOTHING, |slot| self.columns[side][slot])
    }
}

/// The category of every accounted event of one trace, without another beside it.
#[derive(Debug, Clone)]
pub(crate) struct TraceCategories<'c> {
    categories: &'c Categories,
    measure: Measure,
    column: Vec<EventCategory>,
}

impl<'c> TraceCategories<'c> {
    /// Judges the events of one tree.
    pub(crate) fn of(
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

    /// The category of an accounted call; unclassified for others.
    pub(crate) fn category(&self, tree: &CallTree, call: CallId) -> EventCategory {
        let slot = self.measure.slot(tree, call);
        slot.map_or(NOTHING, |slot| self.column[slot])
    }

    /// The name of a category.
    pub(crate) fn label(&self, id: CategoryId) -> &'c str {
        self.categories.name(id)
    }

    /// Name of the category of an accounted call; `unclassified` for others.
    pub(crate) fn name(&self, tree: &CallTree, call: CallId) -> &'c str {
        self.label(self.category(tree, call).id)
    }
}

/// The category of each accounted event of one tree, by slot.
fn column(program: &Program, measure: Measure, rules: &Rules) -> Vec<EventCategory> {
    let (tree, phases) = (&**program.tree(), program.phases());
    let communication = program.communication();
    let mut judge = Judge {
        tree,
        rules,
        phases,
        communication,
        known: FxHashMap::default(),
        real_ops: ByName::new(tree.trace()),
        optimizer_frames: ByName::new(tree.trace()),
        zeroing_ops: ByName::new(tree.trace()),
    };
    let mut column = vec![NOTHING; measure.slots(tree)];
    for call in measure.calls(tree) {
        let slot = measure.slot(tree, call).expect("accounted calls have a slot");
        column[slot] = judge.category(call);
    }
    column
}

/// Decides for the events of one tree, with what it found out about names.
struct Judge<'a> {
    tree: &'a CallTree,
    rules: &'a Rules,
    phases: &'a Phases,
    communication: &'a Communication,
    known: FxHashMap<(Role, TextId), Option<usize>>,
    /// Which names of cpu_ops are those of real ops.
    real_ops: ByName<bool>,
    /// Which frames stand in an optimizer's file, and which ops write zeros.
    optimizer_frames: ByName<bool>,
    zeroing_ops: ByName<bool>,
}

/// Looks at one sort of evidence: a category, and what it was decided by.
type Look<J> = fn(&mut J, CallId) -> Option<(usize, CategorySource)>;

impl Judge<'_> {
    fn category(&mut self, call: CallId) -> EventCategory {
        let evidence: [Look<Self>; 5] = [
            Self::by_event,
            Self::by_compiler,
            Self::by_op,
            Self::by_context,
            Self::by_kernel_name,
        ];
        let found = evidence.iter().find_map(|look| look(self, call));
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

    /// A compiler's pointwise or reducing kernel tells what it does in its name, and is no part of
    /// the op whose values it prepares.
    fn by_compiler(&mut self, call: CallId) -> Option<(usize, CategorySource)> {
        if self.tree.kind(call) != CallKind::Gpu {
            return None;
        }
        self.look_up(Role::Generated, call).map(|category| (category, CategorySource::KernelName))
    }

    /// The nearest op of the highest strength that any op above has.
    fn by_op(&mut self, call: CallId) -> Option<(usize, CategorySource)> {
        let tree = self.tree;
        let mut best: Option<usize> = None;
        for above in std::iter::once(call).chain(tree.ancestors(call)) {
            if tree.kind(above) != CallKind::Op || (above != call && !self.is_real_op(above)) {
                continue;
            }
            let Some(category) = self.look_up(Role::Op, above) else { continue };
            if above != call && self.rules.strength(category) == Strength::Host {
                continue;
            }
            if best.is_none_or(|best| self.rules.strength(category) > self.rules.strength(best)) {
                best = Some(category);
            }
            if self.rules.strength(category) == Strength::Specific {
                break;
            }
        }
        best.map(|category| (category, CategorySource::Op))
    }

    fn is_real_op(&mut self, call: CallId) -> bool {
        let trace = self.tree.trace();
        let name = trace.name_id(self.tree.event(call).expect("ops are events"));
        self.real_ops.get(name, || names::is_op(trace.text(name)))
    }

    /// The nearest autograd node, or the innermost module where that is nearer.
    fn by_context(&mut self, call: CallId) -> Option<(usize, CategorySource)> {
        let tree = self.tree;
        for above in tree.ancestors(call) {
            if tree.kind(above) == CallKind::Op && names::is_autograd_node(tree.name(above)) {
                let category = self.look_up(Role::Autograd, above);
                let runs = |&category: &usize| self.rules.strength(category) > Strength::Host;
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

    /// Pointwise work, reductions and copies in an optimizer's step are the optimizer's: `_foreach_add_`
    /// there and the fused kernel of another version do the same.
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
        if !serves_others || !self.is_in_optimizer(call) || self.clears_gradients(call) {
            return None;
        }
        Some((self.rules.named(OPTIMIZER)?, CategorySource::Optimizer))
    }

    fn is_in_optimizer(&mut self, call: CallId) -> bool {
        let is_known = self.phases.phase(call) == Phase::TrainOptimizer;
        let frames = &mut self.optimizer_frames;
        is_known || is_below(self.tree, call, CallKind::Frame, OPTIMIZER_FRAME, frames)
    }

    /// Whether a call is part of `zero_grad`, which the profiler counts to the optimizer.
    fn clears_gradients(&mut self, call: CallId) -> bool {
        is_below(self.tree, call, CallKind::Op, "zero_", &mut self.zeroing_ops)
    }

    /// The category of a call's name, found once for each name.
    fn look_up(&mut self, role: Role, call: CallId) -> Option<usize> {
        let event = self.tree.event(call)?;
        let name = self.tree.trace().name_id(event);
        let (tree, rules) = (self.tree, self.rules);
        *self.known.entry((role, name)).or_insert_with(|| names::find(rules, role, tree.name(call)))
    }
}

/// Whether a call of this kind above another has a name that holds the text.
fn is_below(
    tree: &CallTree,
    call: CallId,
    kind: CallKind,
    text: &str,
    known: &mut ByName<bool>,
) -> bool {
    let trace = tree.trace();
    tree.ancestors(call).filter(|&above| tree.kind(above) == kind).any(|above| {
        let name = trace.name_id(tree.event(above).expect("frames and ops are events"));
        known.get(name, || trace.text(name).contains(text))
    })
}
