//! Counts how often firm matches contradict each other: if A→B and B→C match a call firmly, A→C must not match it firmly
//! with another call.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tracetree::Result;
use tracetree::diff::{Confidence, TraceDiff};
use tracetree::trace::Trace;
use tracetree::tree::CallTree;

/// Counts over all ordered triples of traces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transitivity {
    /// Number of calls that are matched firmly in all three comparisons of a triple.
    pub calls: usize,
    /// Number of these calls whose matches contradict each other.
    pub broken: usize,
}

/// The firm matches between two traces, by uid.
type Firm = BTreeMap<u32, u32>;

/// The traces by family: the part of the file name before the first underscore.
pub fn families(paths: &[String]) -> BTreeMap<String, Vec<PathBuf>> {
    let mut families: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in paths.iter().map(PathBuf::from) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let family = name.split('_').next().unwrap_or_default().to_owned();
        families.entry(family).or_default().push(path);
    }
    families
}

/// Compares each trace with each other one.
///
/// # Errors
/// Fails if a file is not a trace.
pub fn transitivity(paths: &[PathBuf]) -> Result<Transitivity> {
    let trees: Vec<Arc<CallTree>> = paths.iter().map(|path| tree(path)).collect::<Result<_>>()?;
    let firm = |one: usize, two: usize| firm(&trees[one], &trees[two]);
    let all = |one: usize| {
        (0..trees.len()).map(move |two| if one == two { Firm::new() } else { firm(one, two) })
    };
    let matches: Vec<Vec<Firm>> = (0..trees.len()).map(|one| all(one).collect()).collect();
    let mut counts = Transitivity::default();
    for a in 0..trees.len() {
        for b in (0..trees.len()).filter(|&b| b != a) {
            for c in (0..trees.len()).filter(|&c| c != a && c != b) {
                for (one, two) in &matches[a][b] {
                    let (Some(through), Some(straight)) =
                        (matches[b][c].get(two), matches[a][c].get(one))
                    else {
                        continue;
                    };
                    counts.calls += 1;
                    counts.broken += usize::from(through != straight);
                }
            }
        }
    }
    Ok(counts)
}

fn tree(path: &Path) -> Result<Arc<CallTree>> {
    Ok(Arc::new(CallTree::build(Trace::open(path)?)))
}

fn firm(baseline: &Arc<CallTree>, candidate: &Arc<CallTree>) -> Firm {
    let diff = TraceDiff::new(baseline.clone(), candidate.clone());
    let pairs = diff.uid_map().filter(|pair| pair.confidence == Some(Confidence::Firm));
    pairs.filter_map(|pair| Some((pair.baseline?.0, pair.candidate?.0))).collect()
}
