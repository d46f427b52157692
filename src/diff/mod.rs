//! Two [`CallTree`]s → [`TraceDiff`]: which call is which, where they differ, in one merged tree.
//!
//! How calls are paired is told in `docs/algorithm.md`; the words are those of `docs/glossary.md`.

mod alias;
mod align;
mod bags;
mod cores;
mod differences;
mod explain;
mod keys;
mod merged;
mod options;
mod order;
mod outline;
mod plain_names;
mod recorded;
mod regions;
mod step_pairs;
mod uid_map;
mod untangle;

pub use alias::Aliases;
pub use differences::Difference;
pub use explain::{Explanation, PairEvidence, SharedWord};
pub use merged::{MergedId, MergedNode, MergedTree};
pub use options::DiffOptions;
pub use regions::Region;
pub use uid_map::UidPair;

use crate::program::{Program, StepId};
use crate::side::{PerSide, Side};
use crate::trace::{CapturedAs, Notes};
use crate::tree::{CallId, CallKind, CallTree};
use keys::Keys;
pub(crate) use keys::normalise as plain_name;
use outline::{ArgumentIds, Outline};
use plain_names::PlainNames;
pub(crate) use regions::{is_fused, is_generated};
use std::sync::{Arc, OnceLock};
use step_pairs::StepPairs;

/// Stands for "no partner" in columns of calls.
const NONE: u32 = u32::MAX;

/// How a call relates to the other trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// Paired, with equal keys.
    Same,
    /// Paired in the same place under another name; no common node.
    Renamed,
    /// Paired with an equal subtree that stands at another place below the same pair.
    Moved,
    /// Part of a compiled region that the other trace does not have, or of what that region replaced.
    Replaced,
    /// Only in the baseline.
    OnlyBaseline,
    /// Only in the candidate.
    OnlyCandidate,
}

impl Relation {
    /// As tables write it: `same`, `renamed`, `moved`, `replaced`, `trace1_only`, `trace2_only`.
    pub fn label(self) -> &'static str {
        match self {
            Relation::Same => "same",
            Relation::Renamed => "renamed",
            Relation::Moved => "moved",
            Relation::Replaced => "replaced",
            Relation::OnlyBaseline => "trace1_only",
            Relation::OnlyCandidate => "trace2_only",
        }
    }

    /// Whether the call has a partner of the same key, so that it can be a lowest common node.
    pub fn is_common(self) -> bool {
        matches!(self, Relation::Same | Relation::Moved)
    }

    /// The relation of the calls of one side that have no partner.
    pub fn only(side: Side) -> Relation {
        match side {
            Side::Baseline => Relation::OnlyBaseline,
            Side::Candidate => Relation::OnlyCandidate,
        }
    }
}

/// The comparison of two call trees.
#[derive(Debug, Clone)]
pub struct TraceDiff {
    programs: PerSide<Program>,
    relations: PerSide<Vec<Relation>>,
    regions: regions::Regions,
    step_pairs: Option<StepPairs>,
    merged: MergedTree,
    plain_names: PerSide<PlainNames>,
    differences: OnceLock<Vec<Difference>>,
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
    /// // The forward convolutions part below an op that both have.
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

    /// Aligns two trees, with options.
    pub fn with_options(
        baseline: impl Into<Arc<CallTree>>,
        candidate: impl Into<Arc<CallTree>>,
        options: DiffOptions,
    ) -> TraceDiff {
        TraceDiff::with_look_ahead(baseline, candidate, options, None::<&fn(Side, &Program)>)
    }

    /// The same; `look_ahead` finds out what a report will ask of each trace alone, while others align them.
    pub(crate) fn with_look_ahead(
        baseline: impl Into<Arc<CallTree>>,
        candidate: impl Into<Arc<CallTree>>,
        options: DiffOptions,
        look_ahead: Option<&(impl Fn(Side, &Program) + Sync)>,
    ) -> TraceDiff {
        let owned = PerSide::new(baseline.into(), candidate.into());
        let programs: PerSide<Program> =
            owned.map(|tree| Program::with_repeats(tree, options.repeats));
        let trees = programs.as_ref().map(|program| &**program.tree());
        let align = || {
            let (mut pairing, regions) = match order::in_order(trees) {
                true => align_in_order(programs.as_ref(), &options.aliases),
                false => mirrored(align_in_order(programs.as_ref().swap(), &options.aliases)),
            };
            // From here on the merged tree knows who is whose partner.
            let merged = MergedTree::build(trees, &std::mem::take(&mut pairing.partners));
            (pairing, regions, merged)
        };
        let plain_names: PerSide<PlainNames> = PerSide::default();
        // The alignment keeps one thread busy; another one finds out meanwhile what depends on one tree.
        let look_ahead = || {
            for side in Side::BOTH {
                programs[side].look_ahead();
                if let Some(look_ahead) = look_ahead {
                    plain_names[side].look_ahead(trees[side]);
                    look_ahead(side, &programs[side]);
                }
            }
        };
        let ((pairing, regions, merged), ()) = rayon::join(align, look_ahead);
        let mut notes = Notes::default();
        notes.add(
            "ALIGNMENT_CUT",
            pairing.cut_blocks,
            "compare fewer steps, or record Python stacks: they give the calls more structure",
            || "blocks of unlike siblings were too long to be searched whole; some calls in them may be unpaired".to_owned(),
        );
        notes.add(
            "THREADS_CUT",
            pairing.cut_threads,
            "leave threads out that do not matter",
            || {
                "threads were too many to hold each against every other one; some may be unpaired"
                    .to_owned()
            },
        );
        TraceDiff {
            programs,
            relations: pairing.relations,
            regions,
            step_pairs: pairing.steps,
            merged,
            plain_names,
            differences: OnceLock::new(),
            notes,
            options,
        }
    }

    /// The tree of one side.
    pub fn tree(&self, side: Side) -> &Arc<CallTree> {
        self.programs[side].tree()
    }

    /// What the tree of one side does.
    pub fn program(&self, side: Side) -> &Program {
        &self.programs[side]
    }

    /// Both trees.
    pub fn trees(&self) -> PerSide<&CallTree> {
        self.programs.as_ref().map(|program| &**program.tree())
    }

    /// The partner of a call in the other trace.
    pub fn partner(&self, side: Side, call: CallId) -> Option<CallId> {
        self.merged.node(self.merged.of(side, call)).call(side.other())
    }

    /// How a call relates to the other trace.
    pub fn relation(&self, side: Side, call: CallId) -> Relation {
        self.relations[side][call.index()]
    }

    /// Where one trace has more steps, those that are compared, in order; no call of another step has a partner.
    /// `None` where both have as many: then they are compared by position.
    pub fn step_pairs(&self) -> Option<&[(StepId, StepId)]> {
        self.step_pairs.as_deref()
    }

    /// Whether a call is in a step that is not compared.
    pub(crate) fn is_left_out(&self, side: Side, call: CallId) -> bool {
        let Some(pairs) = &self.step_pairs else { return false };
        self.programs[side].steps().step(call).is_some_and(|step| match side {
            Side::Baseline => pairs.binary_search_by_key(&step, |pair| pair.0).is_err(),
            Side::Candidate => pairs.binary_search_by_key(&step, |pair| pair.1).is_err(),
        })
    }

    /// The compiled regions and graph launches that one side has alone, with the calls of the other
    /// side that they replaced; those of the baseline first, in preorder.
    pub fn regions(&self) -> &[Region] {
        &self.regions.list
    }

    /// Position in [`TraceDiff::regions`] of the region that a call is part of, or was replaced by.
    pub fn region_of(&self, side: Side, call: CallId) -> Option<usize> {
        self.regions.of(side, call)
    }

    /// The node of a region in the merged tree.
    pub fn region_node(&self, region: &Region) -> MergedId {
        self.merged.of(region.side, region.call)
    }

    /// The nearest call at or above `call` that has a partner of the same key.
    pub fn lowest_common(&self, side: Side, call: CallId) -> Option<CallId> {
        let tree = self.tree(side);
        std::iter::once(call)
            .chain(tree.ancestors(call))
            .find(|&above| self.relation(side, above).is_common())
    }

    /// The nearest *op* at or above `call` that has a partner of the same key.
    pub fn lowest_common_op(&self, side: Side, call: CallId) -> Option<CallId> {
        let tree = self.tree(side);
        std::iter::once(call).chain(tree.ancestors(call)).find(|&above| {
            tree.kind(above) == CallKind::Op && self.relation(side, above).is_common()
        })
    }

    /// Whether a call stands alone only because the capture of its graph, or the parts that its kernels
    /// name, are known on its side and not on the other, which launches the same graph: no difference of
    /// the traces, but of what is known of them.
    pub fn is_known_deeper(&self, side: Side, call: CallId) -> bool {
        let tree = self.tree(side);
        let Some(known) = tree.captured_as(call).filter(|_| self.partner(side, call).is_none())
        else {
            return false;
        };
        let launch = tree.ancestors(call).find(|&above| !tree.is_captured(above));
        let partner = launch.and_then(|launch| self.partner(side, launch));
        let other = self.tree(side.other());
        partner.is_some_and(|launch| match known {
            CapturedAs::Call => other.is_bare_replay(launch),
            CapturedAs::Part => other.known_below(launch) != Some(CapturedAs::Part),
        })
    }

    /// Name of a call without what may differ between two runs of the same code: addresses, line
    /// numbers, instance numbers, the vendor's prefix of runtime calls.
    pub fn plain_name(&self, side: Side, call: CallId) -> &str {
        self.plain_names[side].of(self.tree(side), call)
    }

    /// Whether two calls count as one name only by an alias.
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

    /// The options that the trees were aligned with.
    pub fn options(&self) -> &DiffOptions {
        &self.options
    }

    /// Both trees in one.
    pub fn merged(&self) -> &MergedTree {
        &self.merged
    }

    /// What was odd when the trees were aligned.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }
}

fn align_in_order(
    programs: PerSide<&Program>,
    aliases: &Aliases,
) -> (align::Pairing, regions::Regions) {
    let trees = programs.map(|program| &**program.tree());
    let (mut keys, mut arguments) = (Keys::new(aliases), ArgumentIds::default());
    let PerSide { baseline, candidate } =
        trees.map(|tree| Outline::new(tree, &mut keys, &mut arguments));
    let (baseline, candidate) = rayon::join(|| baseline.summed_up(), || candidate.summed_up());
    let outlines = PerSide::new(baseline, candidate);
    let threads = align::pair_threads(outlines.as_ref());
    let steps = step_pairs::pair_steps(programs, outlines.as_ref());
    let left_out = step_pairs::left_out(programs, steps.as_deref());
    let outlines = recorded::without_one_sided(trees, outlines, &threads.pairs, left_out.as_ref());
    let mut pairing = align::align(programs, outlines.as_ref(), &threads);
    drop(outlines);
    untangle::untangle(trees, &mut pairing);
    let regions = regions::find(trees, &mut pairing, left_out.as_ref());
    pairing.steps = steps;
    (pairing, regions)
}

fn mirrored(
    (pairing, regions): (align::Pairing, regions::Regions),
) -> (align::Pairing, regions::Regions) {
    let turn = |relation: &Relation| match relation {
        Relation::OnlyBaseline => Relation::OnlyCandidate,
        Relation::OnlyCandidate => Relation::OnlyBaseline,
        kept @ (Relation::Same | Relation::Renamed | Relation::Moved | Relation::Replaced) => *kept,
    };
    let pairing = align::Pairing {
        partners: pairing.partners.swap(),
        relations: pairing.relations.swap().map(|column| column.iter().map(turn).collect()),
        cut_blocks: pairing.cut_blocks,
        cut_threads: pairing.cut_threads,
        steps: pairing.steps.map(|steps| steps.into_iter().map(|(a, b)| (b, a)).collect()),
    };
    (pairing, regions.mirrored())
}
