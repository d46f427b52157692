//! A recording, a change and a seed → how well the library aligns the two.

use super::changes::Change;
use super::recording::Recording;
use super::score::{Pair, Scores, Truth};
use super::splitmix::SplitMix;
use tracetree::diff::TraceDiff;
use tracetree::trace::{ReadOptions, Trace};
use tracetree::tree::CallTree;
use tracetree::{PerSide, Result};

/// Whether Python frames take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// As recorded.
    WithPython,
    /// Frames are taken out of both traces.
    WithoutPython,
}

impl Mode {
    /// The modes that differ for this recording.
    pub fn of(recording: &Recording) -> &'static [Mode] {
        if recording.has_python() {
            &[Mode::WithPython, Mode::WithoutPython]
        } else {
            &[Mode::WithoutPython]
        }
    }

    /// A short name for tables.
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

/// Changes the recording, aligns both and scores the map; `None` if nothing could be changed so.
///
/// # Errors
/// If the library cannot read one of the two, which [`Recording::write`] wrote.
pub fn measure(
    recording: &Recording,
    change: &Change,
    mode: Mode,
    seed: u64,
) -> Result<Option<Scores>> {
    let Some(changed) = change.apply(recording, &mut SplitMix::new(seed)) else {
        return Ok(None);
    };
    let (baseline, candidate) = (mode.of_recording(recording), mode.of_recording(&changed));
    let map = uid_map(&baseline.write(), &candidate.write())?;
    Ok(Some(Truth::between(&baseline, &candidate).score(map)))
}

/// The library's UID map between two traces.
///
/// # Errors
/// If one of them is no trace.
pub fn uid_map(baseline: &[u8], candidate: &[u8]) -> Result<Vec<Pair>> {
    let options = ReadOptions::default();
    let first = Trace::from_reader("baseline", baseline, &options)?;
    let second = Trace::from_reader("candidate", candidate, &options)?;
    let trees = (CallTree::build(&first), CallTree::build(&second));
    let diff = TraceDiff::align(PerSide::new(&trees.0, &trees.1));
    let pairs = diff.uid_map().into_iter();
    Ok(pairs
        .map(|pair| (pair.baseline.map(|uid| uid.0), pair.candidate.map(|uid| uid.0)))
        .collect())
}
