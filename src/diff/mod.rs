//! Compares two [`CallTree`]s and returns a [`TraceDiff`]: matched calls, points of difference and
//! one merged tree.
//!
//! `docs/development/algorithm.md` describes how calls are matched; `docs/concepts/glossary.md`
//! defines the terms.

mod alias;
mod align;
mod alternatives;
mod bags;
mod checked_pins;
mod confidence;
mod counts;
mod crossing;
mod differences;
mod explain;
mod keys;
mod lookup;
mod merged;
mod options;
mod order;
mod outline;
mod pairing;
mod passes;
mod pins;
mod plain_names;
mod pooled;
mod precision;
mod ranges;
mod recorded;
mod regions;
mod relation;
mod renamed_frames;
mod step_alternatives;
mod step_contents;
mod step_pairs;
mod uid_map;
mod untangle;
mod weights;
mod windows;

pub use alias::Aliases;
pub use confidence::Confidence;
pub use explain::{Explanation, PairEvidence, SharedWord};
pub use merged::{Difference, MergedId, MergedNode, MergedTree};
pub use options::DiffOptions;
pub use passes::{Pass, Passes};
pub use pins::Pin;
pub use regions::{Region, RegionKind};
pub use relation::Relation;
pub use uid_map::UidPair;

use crate::program::{Program, StepId};
use crate::side::{PerSide, Side};
use crate::trace::{CapturedAs, Notes};
use crate::tree::{CallId, CallKind, CallTree};
use confidence::Confidences;
use crossing::Crossing;
use keys::Keys;
#[doc(hidden)]
pub use keys::{normalise as plain_name, portable_frame};
use outline::{ArgumentIds, Outline};
use pairing::Pairing;
use plain_names::PlainNames;
pub(crate) use regions::{is_fused, is_generated};
use std::sync::{Arc, OnceLock};
use step_pairs::StepPairs;
pub(crate) use windows::Window;

/// The comparison of two call trees.
#[derive(Debug, Clone)]
pub struct TraceDiff {
    programs: PerSide<Arc<Program>>,
    relations: PerSide<Vec<Relation>>,
    passes: PerSide<Vec<Pass>>,
    confidences: Confidences,
    regions: regions::Regions,
    step_pairs: Option<StepPairs>,
    /// For each step on each side, the position of its pair if it is compared; `None` if all steps are compared.
    compared_steps: Option<PerSide<Vec<Option<usize>>>>,
    merged: MergedTree,
    plain_names: PerSide<PlainNames>,
    /// For each call, whether it shows a difference between the programs.
    differ: OnceLock<PerSide<Vec<bool>>>,
    differences: OnceLock<Vec<Difference>>,
    windows: Vec<Window>,
    notes: Notes,
    options: DiffOptions,
}

impl TraceDiff {
    /// Aligns two trees.
    ///
    /// ```
    /// use tracetree::{CallTree, Side, Trace, TraceDiff};
    ///
    /// let before = Trace::open("examples/traces/resnet.rocm.json.gz")?;
    /// let after = Trace::open("examples/traces/resnet.cuda.json.gz")?;
    /// let (baseline, candidate) = (CallTree::build(before), CallTree::build(after));
    /// let diff = TraceDiff::new(baseline, candidate);
    ///
    /// // The forward convolutions diverge below an op that both traces have.
    /// let tree = diff.tree(Side::Baseline);
    /// let op = tree.calls().find(|&call| tree.name(call) == "aten::miopen_convolution");
    /// let common = diff.lowest_common_op(Side::Baseline, op.expect("a convolution"));
    /// assert_eq!(common.map(|call| tree.name(call)), Some("aten::_convolution"));
    /// # Ok::<(), tracetree::Error>(())
    /// ```
    pub fn new(
        baseline: impl Into<Arc<CallTree>>,
        candidate: impl Into<Arc<CallTree>>,
    ) -> TraceDiff {
        TraceDiff::with_options(baseline, candidate, DiffOptions::default())
    }

    /// Aligns two trees with the given options.
    #[doc(hidden)]
    pub fn with_options(
        baseline: impl Into<Arc<CallTree>>,
        candidate: impl Into<Arc<CallTree>>,
        options: DiffOptions,
    ) -> TraceDiff {
        let trees = PerSide::new(baseline.into(), candidate.into());
        let program = |tree| Arc::new(Program::with_repeats(tree, options.repeats));
        TraceDiff::of_programs(trees.map(program), options)
    }

    /// Aligns the trees of two programs.
    pub(crate) fn of_programs(programs: PerSide<Arc<Program>>, options: DiffOptions) -> TraceDiff {
        let plain = programs.as_ref().map(|program| &**program);
        let trees = programs.as_ref().map(|program| &**program.tree());
        let is_in_order = order::in_order(trees);
        // In each pair, the call in the alignment's first tree comes first. `check_pins` reports invalid pins.
        let pins = pins::resolve(&options.pins, trees).unwrap_or_default().into_iter();
        let pins = pins.map(|(a, b)| if is_in_order { (a.0, b.0) } else { (b.0, a.0) });
        let pins: Vec<(u32, u32)> = pins.collect();
        let windows = windows::of(trees);
        let (mut pairing, regions, confidences) = if is_in_order {
            align_in_order(plain, &options, &pins, &windows)
        } else {
            mirrored(align_in_order(plain.swap(), &options, &pins, &windows))
        };
        // From now on, only the merged tree stores the matching.
        let merged = MergedTree::build(trees, &std::mem::take(&mut pairing.counterparts));
        let compared_steps =
            pairing.steps.as_deref().map(|pairs| step_pairs::positions(plain, pairs));
        let mut notes = Notes::default();
        notes.add(
            "ALIGNMENT_CUT",
            pairing.cut_blocks,
            "compare fewer steps, or record Python stacks, which add structure to the calls",
            || {
                "some blocks of dissimilar siblings were too long to be searched completely, so \
                 some calls in these blocks may be unmatched"
                    .to_owned()
            },
        );
        notes.add("THREADS_CUT", pairing.cut_threads, "record fewer threads", || {
            "there were too many threads to compare all pairs, so some threads may be unmatched"
                .to_owned()
        });
        TraceDiff {
            programs,
            relations: pairing.relations,
            passes: pairing.passes,
            confidences,
            regions,
            compared_steps,
            step_pairs: pairing.steps,
            merged,
            plain_names: PerSide::default(),
            differ: OnceLock::new(),
            differences: OnceLock::new(),
            windows,
            notes,
            options,
        }
    }

    /// The call tree of one side.
    pub fn tree(&self, side: Side) -> &Arc<CallTree> {
        self.programs[side].tree()
    }

    /// The program that one side ran.
    #[doc(hidden)]
    pub fn program(&self, side: Side) -> &Program {
        &self.programs[side]
    }

    /// The programs of both sides, to compare them with other programs.
    pub(crate) fn programs(&self) -> &PerSide<Arc<Program>> {
        &self.programs
    }

    /// The call trees of the two sides.
    pub fn trees(&self) -> PerSide<&CallTree> {
        self.programs.as_ref().map(|program| &**program.tree())
    }

    /// The counterpart of a call in the opposite trace.
    #[inline]
    pub fn counterpart(&self, side: Side, call: CallId) -> Option<CallId> {
        self.merged.node(self.merged.of(side, call)).call(side.other())
    }

    /// How a call relates to the opposite trace.
    pub fn relation(&self, side: Side, call: CallId) -> Relation {
        self.relations[side][call.index()]
    }

    /// The confidence of a call's match; `None` if the call has no counterpart.
    #[doc(hidden)]
    pub fn confidence(&self, side: Side, call: CallId) -> Option<Confidence> {
        self.counterpart(side, call).map(|_| self.confidences.of(side, call.index()))
    }

    /// The pass of the alignment that matched a call; `None` if the call has no counterpart.
    #[doc(hidden)]
    pub fn matched_by(&self, side: Side, call: CallId) -> Option<Pass> {
        self.counterpart(side, call).map(|_| self.passes[side][call.index()])
    }

    /// The pairs of compared steps, in baseline order; the candidate may run the steps in a different order. Calls in a
    /// step that is not in any pair have no counterparts. `None` if steps are compared by position or cannot be
    /// compared.
    pub fn step_pairs(&self) -> Option<&[(StepId, StepId)]> {
        self.step_pairs.as_deref()
    }

    /// Whether a call is in a step that is not compared.
    pub(crate) fn is_left_out(&self, side: Side, call: CallId) -> bool {
        let Some(positions) = &self.compared_steps else { return false };
        let step = self.programs[side].steps().step(call);
        step.is_some_and(|step| positions[side][step.index()].is_none())
    }

    /// The compiled regions, graph launches and multi-tensor ops that only one side has, with the calls of the
    /// opposite side that they replaced. Regions of the baseline come first; the regions of each
    /// side are in preorder.
    pub fn regions(&self) -> &[Region] {
        &self.regions.list
    }

    /// The position in [`TraceDiff::regions`] of the region that contains or replaced a call.
    pub fn region_of(&self, side: Side, call: CallId) -> Option<usize> {
        self.regions.of(side, call)
    }

    /// Finds the compiled region or graph launch that contains a call or replaced the call. Returns its position in
    /// [`TraceDiff::regions`].
    pub(crate) fn compiled_region_of(&self, side: Side, call: CallId) -> Option<usize> {
        self.region_of(side, call).filter(|&at| self.regions()[at].kind == RegionKind::Compiled)
    }

    /// The node of a region in the merged tree.
    pub(crate) fn region_node(&self, region: &Region) -> MergedId {
        self.merged.of(region.side, region.call)
    }

    /// The nearest call that has a counterpart with the same key: `call` itself or an ancestor.
    pub fn lowest_common(&self, side: Side, call: CallId) -> Option<CallId> {
        let tree = self.tree(side);
        std::iter::once(call)
            .chain(tree.ancestors(call))
            .find(|&above| self.relation(side, above).is_common())
    }

    /// The nearest *op* that has a counterpart with the same key: `call` itself or an ancestor.
    pub fn lowest_common_op(&self, side: Side, call: CallId) -> Option<CallId> {
        let tree = self.tree(side);
        std::iter::once(call).chain(tree.ancestors(call)).find(|&above| {
            tree.kind(above) == CallKind::Op && self.relation(side, above).is_common()
        })
    }

    /// Whether a captured call is unmatched just because the opposite trace contains less information about the graph
    /// that contains the call. Both sides must launch this graph. The opposite trace contains less information if only
    /// this side has a capture of the graph, or if only this side's kernel names show which part of the program each
    /// kernel belongs to.
    #[doc(hidden)]
    pub fn is_known_deeper(&self, side: Side, call: CallId) -> bool {
        let tree = self.tree(side);
        let Some(known) = tree.captured_as(call).filter(|_| self.counterpart(side, call).is_none())
        else {
            return false;
        };
        let launch = tree.ancestors(call).find(|&above| !tree.is_captured(above));
        let counterpart = launch.and_then(|launch| self.counterpart(side, launch));
        let other = self.tree(side.other());
        counterpart.is_some_and(|launch| match known {
            CapturedAs::Call => other.is_bare_replay(launch),
            CapturedAs::Part => other.known_below(launch) != Some(CapturedAs::Part),
        })
    }

    /// The name of a call without anything that may differ between two runs of the same code:
    /// addresses, line numbers, instance numbers, the vendor's prefix of runtime calls.
    #[doc(hidden)]
    pub fn plain_name(&self, side: Side, call: CallId) -> &str {
        self.plain_names[side].of(self.tree(side), call)
    }

    /// Whether a matched call was captured in a graph on exactly one side. A captured call takes no host time when the
    /// graph is replayed.
    pub(crate) fn is_captured_on_one_side(&self, node: MergedNode) -> bool {
        match node {
            MergedNode::Both(a, b) => {
                self.tree(Side::Baseline).is_captured(a)
                    != self.tree(Side::Candidate).is_captured(b)
            }
            MergedNode::Only(..) => false,
        }
    }

    /// Whether two calls count as having the same name just because of an alias.
    #[doc(hidden)]
    pub fn is_aliased(&self, baseline: CallId, candidate: CallId) -> bool {
        if self.options.aliases.is_empty() {
            return false;
        }
        let name = |side: Side, call| {
            let tree = self.tree(side);
            let name = tree.name(call);
            (self.plain_name(side, call), self.options.aliases.apply(name) != name)
        };
        let (one, is_other) = name(Side::Baseline, baseline);
        let (two, is_another) = name(Side::Candidate, candidate);
        (is_other || is_another)
            && one != two
            && self.relation(Side::Baseline, baseline).is_common()
    }

    /// The options that were used to align the trees.
    #[doc(hidden)]
    pub fn options(&self) -> &DiffOptions {
        &self.options
    }

    /// The merged tree of both traces.
    pub fn merged(&self) -> &MergedTree {
        &self.merged
    }

    /// The module classes for which the traces contain different layers, because a recording began after the first
    /// layer.
    pub(crate) fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// Irregularities found while the trees were aligned.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }
}

type Aligned = (Pairing, regions::Regions, Confidences);

fn align_in_order(
    programs: PerSide<&Program>,
    options: &DiffOptions,
    pins: &[(u32, u32)],
    windows: &[Window],
) -> Aligned {
    let trees = programs.map(|program| &**program.tree());
    let mut keys = Keys::new(&options.aliases, windows);
    let mut arguments = ArgumentIds::of(trees);
    let PerSide { baseline, candidate } =
        trees.map(|tree| Outline::new(tree, &mut keys, &mut arguments));
    let (baseline, candidate) = rayon::join(|| baseline.summed_up(), || candidate.summed_up());
    let outlines = PerSide::new(baseline, candidate);
    let threads = align::pair_threads(outlines.as_ref());
    let (steps, doubtful) = step_pairs::pair_steps(programs, outlines.as_ref()).unzip();
    let left_out = step_pairs::left_out(programs, steps.as_deref());
    let outlines = recorded::without_one_sided(trees, outlines, &threads.pairs, left_out.as_ref());
    let crossing = Crossing::of(programs, steps.as_deref());
    let around = (crossing.as_ref(), pins);
    let mut pairing =
        align::align(programs, outlines.as_ref(), &threads, around, options.without, windows);
    if !options.without.contains(Pass::Ranges) {
        ranges::pair(trees, outlines.as_ref(), &mut pairing);
    }
    pairing.steps = steps;
    if !options.without.contains(Pass::Pool) {
        pooled::pair(programs, outlines.as_ref(), &mut pairing);
    }
    let doubtful = step_pairs::calls_in(programs.baseline, &doubtful.unwrap_or_default());
    let confidences = confidence::weigh(outlines.as_ref(), &pairing, around, &doubtful);
    drop(outlines);
    untangle::untangle(trees, &mut pairing);
    let regions = regions::find(trees, &mut pairing, left_out.as_ref());
    (pairing, regions, confidences)
}

fn mirrored((pairing, regions, confidences): Aligned) -> Aligned {
    let turn = |relation: &Relation| match relation {
        Relation::OnlyBaseline => Relation::OnlyCandidate,
        Relation::OnlyCandidate => Relation::OnlyBaseline,
        kept @ (Relation::Same | Relation::Renamed | Relation::Moved | Relation::Replaced) => *kept,
    };
    let pairing = Pairing {
        counterparts: pairing.counterparts.swap(),
        relations: pairing.relations.swap().map(|column| column.iter().map(turn).collect()),
        passes: pairing.passes.swap(),
        cut_blocks: pairing.cut_blocks,
        cut_threads: pairing.cut_threads,
        steps: pairing.steps.map(|steps| {
            let mut steps: StepPairs = steps.into_iter().map(|(a, b)| (b, a)).collect();
            steps.sort_unstable();
            steps
        }),
    };
    (pairing, regions.mirrored(), confidences.mirrored())
}
