//! Ranks the captured graphs that a graph launch may have replayed, best first.
//!
//! Identical layers produce identical captured graphs and identical replays, so each distinct
//! combination of a graph and a replay is aligned only once.

use super::align::align;
use super::batches::{Batches, ReplayedBatch, Suits, suits};
use super::evidence::Alignment;
use super::graphs::{Capture, GraphId};
use super::sequences::{Launched, Ran};
use crate::order::Order as _;
use crate::trace::{TextId, Texts};
use crate::tree::Misfit;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A captured graph fits a replay only if the alignment matches at least this fraction of the
/// graph's launches and at least this fraction of the replay's kernels.
const LEAST_PLACED: f64 = 0.85;
/// Maximum number of replaced kernels, as a fraction of the replay's kernels. The number of
/// replaced kernels is the number of unmatched launches or the number of unmatched kernels,
/// whichever is smaller. A larger fraction means that kernels were replaced rather than dropped, so
/// the replay ran a different graph.
const MOST_REPLACED: f64 = 0.02;
/// If the capture records no kernel names, at least this fraction of the aligned kernels must have
/// names that match the op that launched them. A lower fraction could be due to chance.
const LEAST_AGREEMENT: f64 = 0.8;
/// If the replay may continue after the end of the trace, at least this fraction of the graph's
/// launches must be aligned.
const LEAST_OF_CUT_OFF: f64 = 0.5;
/// Maximum number of distinct captured graphs to align with each replay. Only the graphs that share
/// the most kernel names with the replay are aligned.
const ALIGNED: usize = 16;

/// Whether the trace contains the complete replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplayEnd {
    /// The replay is complete, because another replay follows it.
    Recorded,
    /// The replay is the last replay in the trace, so it may continue after the end of the trace.
    MayBeMissing,
}

/// A captured graph aligned with a replay.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) graph: GraphId,
    pub(super) alignment: Arc<Alignment>,
    /// Why the captured graph cannot be the replayed graph; `None` if the graph fits.
    pub(super) misfit: Option<Misfit>,
    suits: Suits,
    /// Number of captured launches that match no kernel in the replay.
    left_over: usize,
}

impl Candidate {
    /// Whether two captured graphs fit a replay equally well, so that only the capture order can
    /// distinguish them.
    pub(super) fn is_as_good_as(&self, other: &Candidate) -> bool {
        self.rank() == other.rank()
    }

    /// Sort key for captured graphs; the best graph comes first. Graphs that fit precede all others.
    /// The remaining criteria, in order: how well the batch of the graph suits the replay, the number
    /// of aligned launches, the number of launches that are not aligned (fewer is better), and how
    /// well the kernel names agree with the launching ops.
    fn rank(&self) -> (bool, Suits, std::cmp::Reverse<usize>, usize, i64) {
        let agreement = (self.alignment.agreement * 1e6) as i64;
        let placed = std::cmp::Reverse(self.alignment.placed());
        match self.misfit {
            // If no captured graph fits, the report names the graph whose kernels are most similar
            // to the replay's kernels.
            Some(_) => (true, Suits::Not, placed, self.left_over, -agreement),
            None => (false, self.suits, placed, self.left_over, -agreement),
        }
    }
}

/// Captured graphs with identical launches.
struct Kind {
    launched: Vec<Launched>,
    graphs: Vec<GraphId>,
    /// How often each kernel name occurs in the captured graph.
    bag: FxHashMap<TextId, u32>,
}

/// The captured graphs in groups with identical launches, and a cache of the alignments of these
/// groups with replays.
pub(super) struct Fitting<'a> {
    batches: &'a Batches,
    texts: Texts,
    kinds: Vec<Kind>,
    aligned: FxHashMap<(Vec<Step>, usize), Arc<Alignment>>,
}

/// The properties of a GPU event that an alignment compares: name, grid, stream and graph node.
type Step = (TextId, Option<TextId>, i64, Option<u64>);

impl<'a> Fitting<'a> {
    pub(super) fn new(captures: &[Arc<Capture>], batches: &'a Batches, texts: Texts) -> Self {
        let mut fitting =
            Fitting { batches, texts, kinds: Vec::new(), aligned: FxHashMap::default() };
        let mut known: FxHashMap<Vec<Launched>, usize> = FxHashMap::default();
        for (at, capture) in captures.iter().enumerate() {
            for (number, graph) in capture.graphs.iter().enumerate() {
                let launched = Launched::of(capture, graph, &mut fitting.texts);
                let id = GraphId { capture: at as u32, graph: number as u32 };
                if launched.is_empty() {
                    continue;
                }
                let kinds = &mut fitting.kinds;
                let kind = *known.entry(launched).or_insert_with_key(|launched| {
                    let bag = bag(launched.iter().filter_map(|launch| launch.name));
                    kinds.push(Kind { launched: launched.clone(), graphs: Vec::new(), bag });
                    kinds.len() - 1
                });
                kinds[kind].graphs.push(id);
            }
        }
        fitting
    }

    /// The captured graphs that may have been replayed, best first.
    pub(super) fn candidates(
        &mut self,
        ran: &[Ran],
        batch: Option<ReplayedBatch>,
        end: ReplayEnd,
    ) -> Vec<Candidate> {
        let names = bag(ran.iter().map(|event| event.name));
        let mut kinds: Vec<((usize, usize), usize)> = (0..self.kinds.len())
            .map(|kind| (self.kinds[kind].most_placed(ran.len(), &names), kind))
            .collect();
        kinds.order_by_key(|&((most, over), kind)| (std::cmp::Reverse(most), over, kind));
        kinds.truncate(ALIGNED);
        let mut candidates = Vec::new();
        for (_, kind) in kinds {
            let alignment = self.alignment(ran, kind);
            for &graph in &self.kinds[kind].graphs {
                let suits = suits(self.batches.of_graph(graph), batch);
                let launches = self.kinds[kind].launched.len();
                let misfit = misfit(&alignment, launches, ran.len(), end);
                let left_over = launches - alignment.placed();
                let misfit = misfit.or(match (suits, batch) {
                    (Suits::Not, Some(batch)) => Some(Misfit::OtherBatch(batch.tokens)),
                    _ => None,
                });
                let alignment = alignment.clone();
                candidates.push(Candidate { graph, alignment, misfit, suits, left_over });
            }
        }
        candidates.order_by_key(|candidate| (candidate.rank(), candidate.graph));
        candidates
    }

    fn alignment(&mut self, ran: &[Ran], kind: usize) -> Arc<Alignment> {
        let step = |event: &Ran| (event.name, event.grid, event.stream.number, event.node);
        let key = (ran.iter().map(step).collect(), kind);
        let (texts, launched) = (&self.texts, &self.kinds[kind].launched);
        let made = || Arc::new(align(launched, ran, texts));
        self.aligned.entry(key).or_insert_with(made).clone()
    }
}

impl Kind {
    /// An upper bound on the number of launches that an alignment could match with kernels, and the
    /// number of launches that would then remain unmatched.
    fn most_placed(&self, kernels: usize, names: &FxHashMap<TextId, u32>) -> (usize, usize) {
        let unnamed = self.launched.iter().filter(|launch| launch.name.is_none()).count();
        let named: u32 = self
            .bag
            .iter()
            .map(|(name, &count)| count.min(names.get(name).copied().unwrap_or(0)))
            .sum();
        let most = (named as usize + unnamed).min(kernels);
        (most, self.launched.len() - most.min(self.launched.len()))
    }
}

fn bag(names: impl Iterator<Item = TextId>) -> FxHashMap<TextId, u32> {
    let mut bag: FxHashMap<TextId, u32> = FxHashMap::default();
    for name in names {
        *bag.entry(name).or_default() += 1;
    }
    bag
}

/// Why a graph's launches cannot have produced a replay's kernels; `None` if the graph fits.
fn misfit(
    alignment: &Alignment,
    launches: usize,
    kernels: usize,
    end: ReplayEnd,
) -> Option<Misfit> {
    let placed = alignment.placed();
    let share = |of: usize| placed as f64 / of.max(1) as f64;
    let replaced = (launches.min(kernels) - placed) as f64 / kernels.max(1) as f64;
    let is_cut_off = end == ReplayEnd::MayBeMissing
        && placed == kernels
        && share(launches) >= LEAST_OF_CUT_OFF
        && alignment.agreement == 1.0;
    if !is_cut_off
        && (share(launches).min(share(kernels)) < LEAST_PLACED || replaced > MOST_REPLACED)
    {
        return Some(Misfit::OtherKernels(placed));
    }
    let agreement = alignment.agreement;
    (agreement < LEAST_AGREEMENT).then_some(Misfit::OtherWork(agreement))
}
