//! Baselines, oldest first → a series for each measure and place, and where each changed.

mod divisive;
mod render;

pub use divisive::{ChangePoint, Search, change_points};
pub use render::HistoryFormat;

use super::digest::{Digest, NodeKind};
use crate::analysis::robust::median;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What one measure or place came to over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// `step_wall`, `category:gemm`, or the time of a place: `place:Net_0.Block_1`.
    pub name: String,
    /// A value for each baseline in µs, the median of its runs; `None` where it has none.
    pub values: Vec<Option<f64>>,
    /// Where it changed; positions are of the baselines.
    pub changes: Vec<ChangePoint>,
}

/// Baselines over time.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// What the baselines are called: their files without folder and end.
    pub points: Vec<String>,
    /// The series, by name.
    pub series: Vec<Series>,
}

/// A series with fewer values has no change points: one value says nothing of noise.
const FEWEST: usize = 4;

/// Deeper modules are left out: what they take is in those around them.
const DEEPEST: usize = 4;

impl History {
    /// The history that baselines make, oldest first, with their names.
    pub fn of(baselines: &[(String, Digest)], search: &Search) -> History {
        let mut values: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
        for (at, (_, digest)) in baselines.iter().enumerate() {
            for (name, micros) in measures(digest) {
                let column = values.entry(name).or_insert_with(|| vec![None; baselines.len()]);
                column[at] = Some(micros);
            }
        }
        let series = values.into_iter().map(|(name, values)| series(name, values, search));
        History {
            points: baselines.iter().map(|(name, _)| name.clone()).collect(),
            series: series.collect(),
        }
    }

    /// Reads baselines, oldest first.
    ///
    /// # Errors
    /// Like [`Digest::read_baseline`]; if there is none.
    pub fn read(files: &[PathBuf], search: &Search) -> Result<History> {
        if files.is_empty() {
            return Err(Error::usage("history", "there is no baseline")
                .remedy("name baseline files, oldest first, or a folder with some"));
        }
        let read = |path: &PathBuf| Ok((name(path), Digest::read_baseline(path)?));
        let baselines: Vec<(String, Digest)> = files.iter().map(read).collect::<Result<_>>()?;
        Ok(History::of(&baselines, search))
    }

    /// All changes, the largest first.
    pub fn changes(&self) -> Vec<(&Series, &ChangePoint)> {
        let mut changes: Vec<(&Series, &ChangePoint)> = self
            .series
            .iter()
            .flat_map(|series| series.changes.iter().map(move |change| (series, change)))
            .collect();
        changes.sort_by(|a, b| {
            let whole = |series: &Series| series.name.contains(':');
            (whole(a.0).cmp(&whole(b.0)))
                .then(b.1.magnitude().total_cmp(&a.1.magnitude()))
                .then(a.0.name.cmp(&b.0.name))
                .then(a.1.at.cmp(&b.1.at))
        });
        changes
    }
}

/// The file without folder and end.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let ends = [".gz", ".ttb", ".json"];
    ends.iter().fold(name.as_ref(), |name, end| name.strip_suffix(end).unwrap_or(name)).to_owned()
}

/// The medians over the runs of all measures and places.
fn measures(digest: &Digest) -> Vec<(String, f64)> {
    let mut found: Vec<(String, f64)> =
        digest.times.iter().map(|(name, times)| (name.clone(), median(times))).collect();
    let mut chain: Vec<&str> = Vec::new();
    let mut depths: Vec<usize> = Vec::new();
    for (depth, id) in digest.ids() {
        while depths.last().is_some_and(|&above| above >= depth) {
            depths.pop();
            chain.pop();
        }
        let node = digest.node(id);
        if node.kind != NodeKind::Module {
            continue;
        }
        depths.push(depth);
        chain.push(&node.name);
        if chain.len() > DEEPEST {
            continue;
        }
        let mut sums = vec![0.0; digest.runs.len()];
        for below in id.descendants(&digest.tree) {
            sums.iter_mut().zip(&digest.node(below).micros).for_each(|(sum, time)| *sum += time);
        }
        found.push((format!("place:{}", chain.join(".")), median(&sums)));
    }
    found
}

/// A series with its changes; baselines that have no value are left out of it.
fn series(name: String, values: Vec<Option<f64>>, search: &Search) -> Series {
    let known: Vec<(usize, f64)> =
        values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
    let mut changes = Vec::new();
    if known.len() >= FEWEST {
        let plain: Vec<f64> = known.iter().map(|&(_, value)| value).collect();
        let moved = |change: ChangePoint| ChangePoint { at: known[change.at].0, ..change };
        changes = change_points(&plain, search).into_iter().map(moved).collect();
    }
    Series { name, values, changes }
}
