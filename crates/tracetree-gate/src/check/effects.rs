//! Determines which rules a change violates, based on the kind of change and on the work of the changed calls on both
//! sides.

use super::sites::ChangeSite;
use super::work::Work;
use crate::rules::StructureRule;
use std::cmp::Ordering;
use tracetree::analysis::changes::ChangeKind;
use tracetree::side::PerSide;

/// The number of steps on each side, and which kinds of events were recorded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) steps: PerSide<u64>,
    /// Whether the traces record calls into the GPU runtime, which reveal when the host waits.
    pub(super) has_runtime: bool,
    pub(super) has_gpu: bool,
}

impl Scale {
    pub(super) fn difference(self, count: PerSide<u64>) -> f64 {
        count.candidate as f64 / self.steps.candidate.max(1) as f64
            - count.baseline as f64 / self.steps.baseline.max(1) as f64
    }

    fn compare(self, count: PerSide<u64>) -> Ordering {
        let [a, b] =
            [(count.candidate, self.steps.baseline), (count.baseline, self.steps.candidate)]
                .map(|(count, steps)| u128::from(count) * u128::from(steps.max(1)));
        a.cmp(&b)
    }

    fn is_more(self, count: PerSide<u64>) -> bool {
        self.compare(count).is_gt()
    }

    fn is_less(self, count: PerSide<u64>) -> bool {
        self.compare(count).is_lt()
    }

    fn waits(self, work: &Work) -> u64 {
        if self.has_runtime { work.waits } else { work.reads }
    }

    /// By how much the candidate violates a rule: the number of kernels, waits and so on that it adds (or loses) per
    /// step. 1 if the rule does not count anything.
    pub(super) fn worse(self, rule: StructureRule, work: &PerSide<Work>) -> f64 {
        let of = |count: fn(&Work) -> u64| self.difference(work.as_ref().map(count));
        match rule {
            StructureRule::NewSync => self.difference(work.as_ref().map(|work| self.waits(work))),
            StructureRule::NewCopy => of(|work| work.copies),
            StructureRule::GraphBreaks => of(|work| work.regions),
            StructureRule::GraphReplayLost => -of(|work| work.graph_launches),
            StructureRule::KernelsPerCall => of(|work| work.kernels),
            StructureRule::GoneKernel => -of(|work| work.kernels),
            StructureRule::LaunchesPerStep => of(|work| work.launches),
            StructureRule::Collectives => of(|work| work.collectives),
            StructureRule::NewOp => of(|work| work.ops),
            StructureRule::GoneOp => -of(|work| work.ops),
            StructureRule::LostFusion if self.has_gpu => of(|work| work.kernels),
            StructureRule::LostFusion => of(|work| work.ops),
            StructureRule::NewKernel
            | StructureRule::DtypeChange
            | StructureRule::ShapeChange
            | StructureRule::LayoutChange
            | StructureRule::Kind(_) => 1.0,
        }
    }

    /// The rules that a change violates; always at least one.
    pub(super) fn effects(
        self,
        kind: ChangeKind,
        work: &PerSide<Work>,
        sites: &[ChangeSite],
    ) -> Vec<StructureRule> {
        let of = |count: fn(&Work) -> u64| work.as_ref().map(count);
        let mut rules = Vec::new();
        let mut add = |rule, is_violated: bool| {
            if is_violated {
                rules.push(rule);
            }
        };
        let waits = work.as_ref().map(|work| self.waits(work));
        let is_copying =
            self.is_more(of(|work| work.copies)) || self.is_more(of(|work| work.bytes));
        let regions = of(|work| work.regions);
        let is_replay_lost = self.is_less(of(|work| work.graph_launches))
            || self.is_less(of(|work| work.graph_kernels));
        add(StructureRule::NewSync, self.is_more(waits));
        add(StructureRule::NewCopy, is_copying);
        add(StructureRule::Collectives, self.is_more(of(|work| work.collectives)));
        add(StructureRule::GraphBreaks, regions.baseline > 0 && self.is_more(regions));
        add(StructureRule::GraphReplayLost, is_replay_lost);
        match kind {
            ChangeKind::Precision => add(StructureRule::DtypeChange, true),
            ChangeKind::Shapes => add(StructureRule::ShapeChange, true),
            ChangeKind::MemoryFormat => add(StructureRule::LayoutChange, true),
            ChangeKind::MathMode | ChangeKind::KernelSelection => {
                // Each call site is checked separately, so that fewer kernels at one call site do not hide more kernels
                // at another.
                let is_split =
                    |site: &ChangeSite| self.is_more(site.work.as_ref().map(|work| work.kernels));
                let is_more = sites.iter().any(is_split);
                let [one, two] = [&work.baseline.kernel_names, &work.candidate.kernel_names];
                let is_new = !two.is_subset(one);
                add(StructureRule::KernelsPerCall, is_more);
                add(StructureRule::NewKernel, is_new);
                add(StructureRule::GoneKernel, !is_new && !is_more);
            }
            // A change in host reads or collectives that already violates one of the rules above is not also checked as
            // a change in ops.
            ChangeKind::HostRead | ChangeKind::Collectives if !rules.is_empty() => {}
            ChangeKind::Compilation
            | ChangeKind::Graphs
            | ChangeKind::Attention
            | ChangeKind::Checkpointing
            | ChangeKind::Layers
            | ChangeKind::Ops
            | ChangeKind::Optimizer
            | ChangeKind::HostRead
            | ChangeKind::InputPipeline
            | ChangeKind::Collectives => self.add_ops(kind, work, &mut rules),
            // An added wait is already reported by the rule that counts waits; a removed wait is not a finding.
            ChangeKind::Synchronization
            | ChangeKind::Environment
            | ChangeKind::Arguments
            | ChangeKind::Python
            | ChangeKind::Allocator
            | ChangeKind::Leak
            | ChangeKind::Memory
            | ChangeKind::Workspace
            | ChangeKind::Streams
            | ChangeKind::WarmUp
            | ChangeKind::Recording => rules.push(StructureRule::Kind(kind)),
        }
        rules
    }

    /// Whether both sides call the same set of ops, with the same total number of calls.
    pub(super) fn has_same_ops(self, work: &PerSide<Work>) -> bool {
        self.compare(work.as_ref().map(|work| work.all_ops)).is_eq()
            && work.baseline.op_names == work.candidate.op_names
    }

    /// Whether a change affects only the ops on the host, so that the GPU work is the same on both sides.
    pub(super) fn has_same_work(self, effects: &[StructureRule], work: &PerSide<Work>) -> bool {
        let of_ops = [StructureRule::NewOp, StructureRule::GoneOp, StructureRule::LostFusion];
        let is_equal = |count: fn(&Work) -> u64| self.compare(work.as_ref().map(count)).is_eq();
        effects.iter().all(|effect| of_ops.contains(effect))
            && work.baseline.kernel_names == work.candidate.kernel_names
            && is_equal(|work| work.kernels)
            && is_equal(|work| work.launches)
            && is_equal(|work| work.waits)
            && is_equal(|work| work.copies)
    }

    /// Adds the rules that a change violates by calling ops more often, less often, or in place of other ops.
    fn add_ops(self, kind: ChangeKind, work: &PerSide<Work>, rules: &mut Vec<StructureRule>) {
        let ops = work.as_ref().map(|work| work.ops);
        let kernels = work.as_ref().map(|work| work.kernels);
        let is_split = if self.has_gpu {
            kernels.baseline > 0 && self.is_more(kernels)
        } else {
            self.is_more(ops)
        };
        if ops.baseline > 0 && ops.candidate > 0 && is_split {
            rules.push(StructureRule::LostFusion);
            return;
        }
        let [one, two] = [&work.baseline.op_names, &work.candidate.op_names];
        if self.is_more(ops) || !two.is_subset(one) {
            rules.push(StructureRule::NewOp);
        }
        if self.is_less(ops) || !one.is_subset(two) {
            rules.push(StructureRule::GoneOp);
        }
        if rules.is_empty() {
            // The change consists of the same ops in a different order or nesting.
            let is_pipeline = kind == ChangeKind::InputPipeline;
            rules.push(if is_pipeline { StructureRule::Kind(kind) } else { StructureRule::NewOp });
        }
    }
}
