//! Changes a copy of a recording in a known way, and measures how well the library matches the calls of the two
//! recordings.

use super::changes::Change;
use super::recording::{Forest, Kind, Recording};
use super::score::{Pair, Score, Scores, Truth};
use super::splitmix::SplitMix;
use std::collections::BTreeSet;
use std::sync::Arc;
use tracetree::diff::{Confidence, DiffOptions, Pass, TraceDiff};
use tracetree::trace::{ReadOptions, Trace};
use tracetree::tree::CallTree;
use tracetree::{Result, Side};

/// Maximum number of call names in the printed path of an event.
const NAMES: usize = 5;

/// Whether the compared traces contain Python frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Frames are kept as recorded.
    WithPython,
    /// Frames are removed from both traces.
    WithoutPython,
}

impl Mode {
    /// The modes in which a recording is tested; for a recording without Python frames, one mode is enough.
    pub fn of(recording: &Recording) -> &'static [Mode] {
        if recording.has_python() {
            &[Mode::WithPython, Mode::WithoutPython]
        } else {
            &[Mode::WithoutPython]
        }
    }

    /// A short label for use in tables.
    pub fn label(self) -> &'static str {
        match self {
            Mode::WithPython => "python",
            Mode::WithoutPython => "no python",
        }
    }

    fn of_recording(self, recording: &Recording) -> Recording {
        match self {
            Mode::WithPython => recording.clone(),
            Mode::WithoutPython => recording.without_python(),
        }
    }
}

/// A recording and its changed copy, with the true matches and the library's result.
#[derive(Debug)]
pub struct Trial {
    /// The recording, with or without Python frames.
    pub baseline: Recording,
    /// The changed copy of the recording.
    pub candidate: Recording,
    /// The true counterparts of the events.
    pub truth: Truth,
    /// The UID map that the library found.
    pub map: Vec<Pair>,
    /// The pairs in the UID map that the library marks as firm.
    pub firm: Vec<(u32, u32)>,
    /// The score for compiled regions, which replace GPU events of the baseline. It shows how many of these events the
    /// library assigns to the region that replaced them. If the change adds no compiled regions or multi-tensor ops, no
    /// GPU events are counted.
    pub replaced: Score,
    trees: [Arc<CallTree>; 2],
}

/// Counts that show how often the library is right if it marks a match as firm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Calibration {
    /// Number of pairs in the UID map.
    pub pairs: usize,
    /// Number of pairs that the library marks as firm.
    pub firm: usize,
    /// Number of firm pairs that are wrong.
    pub wrong: usize,
}

impl Trial {
    /// Changes the recording and aligns both traces; returns `None` if the change does not apply to
    /// the recording.
    ///
    /// # Errors
    /// Fails if the library cannot read one of the traces that [`Recording::write`] wrote.
    pub fn run(
        recording: &Recording,
        change: &Change,
        mode: Mode,
        seed: u64,
    ) -> Result<Option<Trial>> {
        let Some(changed) = change.apply(recording, &mut SplitMix::new(seed)) else {
            return Ok(None);
        };
        let (baseline, candidate) = (mode.of_recording(recording), mode.of_recording(&changed));
        let diff = compared(&baseline.write(), &candidate.write())?;
        let truth = Truth::between(&baseline, &candidate);
        let firm = diff.uid_map().filter(|pair| pair.confidence == Some(Confidence::Firm));
        let firm = firm.filter_map(|pair| Some((pair.baseline?.0, pair.candidate?.0))).collect();
        let replaced = replaced(&diff, &baseline, &candidate, &truth);
        let trees = Side::BOTH.map(|side| diff.tree(side).clone());
        Ok(Some(Trial { baseline, candidate, truth, map: pairs(&diff), firm, replaced, trees }))
    }

    /// Aligns the traces again without the given alignment passes, and scores the result.
    pub fn scores_without(&self, passes: impl IntoIterator<Item = Pass>) -> Scores {
        let [baseline, candidate] = self.trees.clone();
        let options = DiffOptions::default().without(passes.into_iter().collect());
        let diff = TraceDiff::with_options(baseline, candidate, options);
        self.truth.score(pairs(&diff))
    }

    /// Precision and recall of the UID map, measured against the true pairs.
    pub fn scores(&self) -> Scores {
        self.truth.score(self.map.iter().copied())
    }

    /// Counts the pairs in the UID map, the firm pairs, and the wrong firm pairs.
    pub fn calibration(&self) -> Calibration {
        let map: Vec<(u32, u32)> =
            self.map.iter().filter_map(|&(one, two)| Some((one?, two?))).collect();
        let wrong = self.firm.len() - self.truth.right_among(&map, &self.firm);
        Calibration { pairs: map.len(), firm: self.firm.len(), wrong }
    }

    /// The first `count` wrong entries in the UID map. Each entry consists of three lines of text: the event, its
    /// counterpart in the map, and its true counterpart.
    pub fn wrong(&self, count: usize) -> Vec<String> {
        let forests = (Forest::of(&self.baseline.events), Forest::of(&self.candidate.events));
        let candidate = |uid| path(&self.candidate, &forests.1, uid);
        let pairs: Vec<(u32, u32)> =
            self.map.iter().filter_map(|&(one, two)| Some((one?, two?))).collect();
        let classes = self.truth.classes(&pairs);
        let wrong = self.map.iter().filter_map(|&(one, two)| {
            let one = one?;
            let right = self.truth.counterpart(one);
            let is_right =
                two.map_or(right.is_none(), |two| self.truth.allows(&classes, (one, two)));
            (!is_right).then(|| {
                let name = |uid: Option<u32>| uid.map_or_else(|| "nothing".to_owned(), candidate);
                format!(
                    "{}\n  paired with {}\n  instead of  {}",
                    path(&self.baseline, &forests.0, one),
                    name(two),
                    name(right)
                )
            })
        });
        wrong.take(count).collect()
    }
}

/// Scores pairs that consist of a region and a GPU event that the region replaced. If a later change removed such a GPU
/// event, it no longer belongs to a region and is not counted.
fn replaced(diff: &TraceDiff, baseline: &Recording, candidate: &Recording, truth: &Truth) -> Score {
    let uid = |side: Side, call| {
        let tree = diff.tree(side);
        tree.event(call).map(|event| tree.trace().uid(event).0)
    };
    let all: BTreeSet<u32> =
        candidate.events.iter().flat_map(|event| &event.replaces).copied().collect();
    let true_pairs = candidate.events.iter().map(|event| event.replaces.len()).sum();
    let mut score = Score { true_pairs, ..Score::default() };
    for region in diff.regions().iter().filter(|region| region.side == Side::Candidate) {
        let Some(own) = uid(Side::Candidate, region.call) else { continue };
        let replaces = &candidate.events[own as usize].replaces;
        let below =
            region.replaced.iter().flat_map(|&call| diff.tree(Side::Baseline).subtree(call));
        for uid in below.filter_map(|call| uid(Side::Baseline, call)) {
            let event = &baseline.events[uid as usize];
            let origin = event.origin.filter(|origin| {
                event.kind == Kind::Gpu
                    && (all.contains(origin) || truth.counterpart(uid).is_some())
            });
            let Some(origin) = origin else { continue };
            score.pairs += 1;
            score.right += usize::from(replaces.contains(&origin));
        }
    }
    score.exact = score.right;
    score
}

/// The uid of an event, the names of its nearest ancestors (outermost first), and its own name, as text.
fn path(recording: &Recording, forest: &Forest, uid: u32) -> String {
    let at = uid as usize;
    let above = std::iter::successors(Some(at), |&at| forest.parents[at]);
    let names: Vec<&str> = above.map(|at| &*recording.events[at].name).collect();
    let (near, far) = names.split_at(names.len().min(NAMES));
    let near: Vec<&str> = near.iter().rev().copied().collect();
    let cut = if far.is_empty() { "" } else { "… > " };
    format!("{uid}: {cut}{}", near.join(" > "))
}

/// The UID map that the library computes for two traces.
///
/// # Errors
/// Fails if one of the texts is not a trace.
pub fn uid_map(baseline: &[u8], candidate: &[u8]) -> Result<Vec<Pair>> {
    Ok(pairs(&compared(baseline, candidate)?))
}

fn compared(baseline: &[u8], candidate: &[u8]) -> Result<TraceDiff> {
    let options = ReadOptions::default();
    let first = Trace::from_reader("baseline", baseline, &options)?;
    let second = Trace::from_reader("candidate", candidate, &options)?;
    Ok(TraceDiff::new(CallTree::build(first), CallTree::build(second)))
}

fn pairs(diff: &TraceDiff) -> Vec<Pair> {
    diff.uid_map()
        .map(|pair| (pair.baseline.map(|uid| uid.0), pair.candidate.map(|uid| uid.0)))
        .collect()
}
