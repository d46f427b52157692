//! Two folders with the traces of many ranks → pairs of traces.

use crate::error::{Error, ErrorKind, Result};
use crate::side::{PerSide, Side};
use crate::trace::{Header, ReadOptions, Trace};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// How the names of traces end; the longer before those that end like them.
const ENDINGS: [&str; 4] = [".json.gz", ".json.zst", ".json", ".gz"];

/// A trace of a folder.
struct RankFile {
    path: PathBuf,
    rank: Option<i64>,
}

impl RankFile {
    fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The traces in a folder, and the files that are none.
fn files_of(folder: &Path, options: &ReadOptions) -> Result<(Vec<RankFile>, Vec<PathBuf>)> {
    let failed = |error| Error::io(folder, "list the traces", error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() && !name.starts_with('.') && ENDINGS.iter().any(|e| name.ends_with(e)) {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(Error::new(ErrorKind::Usage, folder, "there is no trace in the folder")
            .remedy("name folders with .json, .json.gz or .json.zst files"));
    }
    let ranks: Vec<Result<Option<i64>>> =
        paths.par_iter().map(|path| rank_of(path, options)).collect();
    let (mut files, mut foreign) = (Vec::new(), Vec::new());
    for (path, rank) in paths.into_iter().zip(ranks) {
        match rank {
            Ok(rank) => files.push(RankFile { path, rank }),
            Err(error) if error.kind() == ErrorKind::NotATrace => foreign.push(path),
            Err(error) => return Err(error),
        }
    }
    Ok((files, foreign))
}

/// Most files tell their rank before the events; the others are read whole.
fn rank_of(path: &Path, options: &ReadOptions) -> Result<Option<i64>> {
    let rank = |header: &Header| header.distributed.as_ref().and_then(|d| d.rank);
    match rank(&Trace::read_header_with(path, options)?) {
        Some(told) => Ok(Some(told)),
        None => Ok(rank(Trace::open_with(path, options)?.header())),
    }
}

/// Two traces of one rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankPair {
    /// The rank; `None` where the files do not tell it and were paired by name.
    pub rank: Option<i64>,
    /// The folder of the rank's own report.
    pub folder: String,
    /// The files.
    pub files: PerSide<PathBuf>,
}

/// The traces of two folders, paired by rank where every file of both folders tells another one, else
/// by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RankPairs {
    /// The pairs, by rank or name.
    pub pairs: Vec<RankPair>,
    /// Files without a partner.
    pub unpaired: Vec<PathBuf>,
    /// Files that are JSON, and no traces.
    pub foreign: Vec<PathBuf>,
}

impl RankPairs {
    /// Looks for the traces in two folders. Reads the head of each file, and all of it where the
    /// rank does not stand there.
    ///
    /// # Errors
    /// If a folder cannot be listed or holds no trace, if a trace cannot be read with these options,
    /// or if no trace has a partner.
    pub fn find(baseline: &Path, candidate: &Path, options: &ReadOptions) -> Result<RankPairs> {
        let (one, foreign) = files_of(baseline, options)?;
        let (other, more) = files_of(candidate, options)?;
        let mut found = pair(&PerSide::new(one, other));
        found.foreign = [foreign, more].concat();
        if found.pairs.is_empty() {
            let message = format!("no trace in it has a partner in {}", candidate.display());
            return Err(Error::new(ErrorKind::Usage, baseline, message)
                .remedy("the files are paired by distributedInfo.rank, else by their names"));
        }
        Ok(found)
    }

    /// Whether the ranks did not tell which files belong together.
    pub fn are_paired_by_name(&self) -> bool {
        self.pairs.iter().any(|pair| pair.rank.is_none())
    }
}

fn pair(files: &PerSide<Vec<RankFile>>) -> RankPairs {
    let by_rank = Side::BOTH.into_iter().all(|side| tells_ranks(&files[side]));
    let key = |file: &RankFile| match by_rank {
        true => (file.rank, String::new()),
        false => (None, file.name()),
    };
    let mut found: BTreeMap<(Option<i64>, String), PerSide<Option<PathBuf>>> = BTreeMap::new();
    for side in Side::BOTH {
        for file in &files[side] {
            found.entry(key(file)).or_default()[side] = Some(file.path.clone());
        }
    }
    let (mut pairs, mut folders) = (RankPairs::default(), BTreeSet::new());
    for ((rank, name), files) in found {
        match files {
            PerSide { baseline: Some(baseline), candidate: Some(candidate) } => {
                let folder = rank.map_or_else(|| stem(&name), |rank| format!("rank_{rank}"));
                // `x.json` and `x.json.gz` have one stem.
                let folder = if folders.insert(folder.clone()) { folder } else { name };
                let files = PerSide::new(baseline, candidate);
                pairs.pairs.push(RankPair { rank, folder, files });
            }
            PerSide { baseline, candidate } => {
                pairs.unpaired.extend(baseline.into_iter().chain(candidate));
            }
        }
    }
    pairs
}

fn tells_ranks(files: &[RankFile]) -> bool {
    let mut ranks: Vec<i64> = files.iter().filter_map(|file| file.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks.len() == files.len()
}

/// The name of a trace without its ending.
fn stem(name: &str) -> String {
    let ending = ENDINGS.iter().find(|e| name.ends_with(*e));
    ending.map_or(name, |ending| &name[..name.len() - ending.len()]).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, rank: Option<i64>) -> RankFile {
        RankFile { path: PathBuf::from(path), rank }
    }

    #[test]
    fn files_pair_by_rank_whatever_they_are_called() {
        let files = PerSide::new(
            vec![file("a/x.json", Some(1)), file("a/y.json", Some(0))],
            vec![file("b/p.json", Some(0)), file("b/q.json", Some(1)), file("b/r.json", Some(2))],
        );
        let found = pair(&files);
        let folders: Vec<&str> = found.pairs.iter().map(|pair| pair.folder.as_str()).collect();
        assert_eq!(folders, ["rank_0", "rank_1"]);
        assert_eq!(found.pairs[0].files.baseline, PathBuf::from("a/y.json"));
        assert_eq!(found.unpaired, [PathBuf::from("b/r.json")]);
    }

    #[test]
    fn files_without_ranks_pair_by_name() {
        let files = PerSide::new(
            vec![file("a/one.json.gz", None), file("a/two.json", Some(0))],
            vec![file("b/one.json.gz", None), file("b/two.json", Some(0))],
        );
        let found = pair(&files);
        let folders: Vec<&str> = found.pairs.iter().map(|pair| pair.folder.as_str()).collect();
        assert_eq!(folders, ["one", "two"]);
        assert!(found.unpaired.is_empty() && found.are_paired_by_name());
    }

    #[test]
    fn files_that_differ_by_their_ending_have_a_folder_each() {
        let files = || vec![file("a/x.json", None), file("a/x.json.gz", None)];
        let found = pair(&PerSide::new(files(), files()));
        let folders: Vec<&str> = found.pairs.iter().map(|pair| pair.folder.as_str()).collect();
        assert_eq!(folders, ["x", "x.json.gz"]);
    }
}
