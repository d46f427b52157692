//! Builds a time series for each measure and module from a sequence of baselines, and finds change points.

mod divisive;
mod render;

pub use divisive::{ChangePoint, Search, change_points};
use tracetree::order::Order as _;

use super::recording::Recording;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tracetree::analysis::robust::median;
use tracetree::error::{Error, Result};
use tracetree::program::Word;

/// The values of one measure, or of the time of one module, in a sequence of baselines.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name of the series, such as `step_wall`, `category:gemm`, or `place:Net_0.Block_1` for the time of a
    /// module.
    pub name: String,
    /// For each baseline, the median over its runs in µs; `None` if the baseline does not contain the measure or
    /// module.
    pub values: Vec<Option<f64>>,
    /// The change points of the series. The field `at` of a change point is the index of a baseline.
    pub changes: Vec<ChangePoint>,
}

/// A sequence of baselines over time, with a time series for each measure and module.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// Names of the baselines: file names without folder and extension.
    pub points: Vec<String>,
    /// The time series of all measures and modules, sorted by name.
    pub series: Vec<Series>,
}

/// A series is searched for change points only if it has at least this many values, because fewer values say nothing
/// about noise.
const FEWEST: usize = 4;

/// Maximum nesting depth of listed modules; the time of deeper modules is included in the enclosing modules.
const DEEPEST: usize = 4;

impl History {
    /// Builds the history of the given baselines, which are pairs of a name and a recording, oldest first.
    pub fn of(baselines: &[(String, Recording)], search: &Search) -> History {
        let mut values: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
        for (at, (_, recording)) in baselines.iter().enumerate() {
            for (name, micros) in measures(recording) {
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

    /// Reads baseline files, which must be ordered from oldest to newest.
    ///
    /// # Errors
    /// Fails if `files` is empty, and in the same cases as [`Recording::read_baseline`].
    pub fn read(files: &[PathBuf], search: &Search) -> Result<History> {
        if files.is_empty() {
            return Err(Error::usage("history", "no baseline was given")
                .remedy("pass baseline files, oldest first, or a folder of baseline files"));
        }
        let read = |path: &PathBuf| Ok((name(path), Recording::read_baseline(path)?));
        let baselines: Vec<(String, Recording)> = files.iter().map(read).collect::<Result<_>>()?;
        Ok(History::of(&baselines, search))
    }

    /// All change points: change points of whole steps first, then change points of modules, phases and categories.
    /// Within each group, change points are sorted by descending size.
    pub fn changes(&self) -> Vec<(&Series, &ChangePoint)> {
        let mut changes: Vec<(&Series, &ChangePoint)> = self
            .series
            .iter()
            .flat_map(|series| series.changes.iter().map(move |change| (series, change)))
            .collect();
        changes.order_by(|a, b| {
            let whole = |series: &Series| series.name.contains(':');
            (whole(a.0).cmp(&whole(b.0)))
                .then(b.1.magnitude().total_cmp(&a.1.magnitude()))
                .then(a.0.name.cmp(&b.0.name))
                .then(a.1.at.cmp(&b.1.at))
        });
        changes
    }
}

/// The file name without folder and extension.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let ends = [".gz", ".ttb", ".json"];
    ends.iter().fold(name.as_ref(), |name, end| name.strip_suffix(end).unwrap_or(name)).to_owned()
}

/// For each measure and module, the median over the runs.
fn measures(recording: &Recording) -> Vec<(String, f64)> {
    let mut found: Vec<(String, f64)> =
        recording.times.iter().map(|(name, times)| (name.clone(), median(times))).collect();
    let (places, chains) = (&recording.places.list, recording.places.chains());
    let mut sums: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for place in places.iter().filter(|place| !place.micros.is_empty()) {
        let above = std::iter::successors(place.above, |&at| places[at as usize].above);
        let modules = above.filter(|&at| places[at as usize].word == Word::Module);
        for chain in modules.map(|at| chains[at as usize].as_str()) {
            if chain.matches('.').count() < DEEPEST {
                let sums = sums.entry(chain).or_insert_with(|| vec![0.0; recording.runs.len()]);
                sums.iter_mut().zip(&place.micros).for_each(|(sum, time)| *sum += time);
            }
        }
    }
    found.extend(sums.iter().map(|(chain, sums)| (format!("place:{chain}"), median(sums))));
    found
}

/// Builds a series and finds its change points. The search skips baselines without a value.
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
