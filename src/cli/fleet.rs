//! `tracetree diff DIR_A DIR_B`: the traces of many ranks, paired and compared rank by rank.

use super::diff::DiffArgs;
use super::output::Console;
use super::{Outcome, fleet_summary};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tracetree::analysis::{Account, CollectiveWait, Collectives, straggler};
use tracetree::report::{RankRow, write_ranks};
use tracetree::trace::Trace;
use tracetree::{Comparison, ComparisonOptions, Error, ErrorKind, PerSide, Result, Side};

/// How the names of traces end.
const ENDINGS: [&str; 4] = [".json", ".json.gz", ".json.zst", ".gz"];

pub(super) fn run(args: &DiffArgs, console: &mut Console) -> Result<Outcome> {
    let files = PerSide::new(files_of(&args.baseline)?, files_of(&args.candidate)?);
    let pairs = pair(&files);
    for path in &pairs.unpaired {
        console.say(&format!("warning: {} has no partner and is left out", path.display()));
    }
    if pairs.pairs.is_empty() {
        let message = format!("no trace in it has a partner in {}", args.candidate.display());
        return Err(Error::new(ErrorKind::Usage, &args.baseline, message)
            .remedy("the files are paired by distributedInfo.rank, else by their names"));
    }
    fs::create_dir_all(&args.output)
        .map_err(|error| Error::io(&args.output, "create the report folder", error))?;
    let compared: Vec<Compared> = compare_all(&pairs.pairs, args, console)?;
    let rows = rows(&pairs.pairs, &compared);
    write_ranks(&rows, &args.output.join("ranks.csv"))?;
    console.print(|out| fleet_summary::print(&rows, args.format, out))?;
    console.say(&format!("{} reports and ranks.csv in {}", rows.len(), args.output.display()));
    Ok(outcome(&compared, args))
}

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

fn files_of(folder: &Path) -> Result<Vec<RankFile>> {
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
    paths.into_par_iter().map(|path| Ok(RankFile { rank: rank_of(&path)?, path })).collect()
}

/// Most files tell their rank before the events; the others are read whole.
fn rank_of(path: &Path) -> Result<Option<i64>> {
    let rank = |header: &tracetree::trace::Header| header.distributed.as_ref().and_then(|d| d.rank);
    match rank(&Trace::read_header(path)?) {
        Some(told) => Ok(Some(told)),
        None => Ok(rank(Trace::open(path)?.header())),
    }
}

/// Two traces of one rank.
struct RankPair {
    rank: Option<i64>,
    folder: String,
    files: PerSide<PathBuf>,
}

/// The traces of two folders, paired.
struct Pairs {
    pairs: Vec<RankPair>,
    unpaired: Vec<PathBuf>,
}

/// By rank where every file of both folders tells another one, else by name.
fn pair(files: &PerSide<Vec<RankFile>>) -> Pairs {
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
    let mut pairs = Pairs { pairs: Vec::new(), unpaired: Vec::new() };
    for ((rank, name), files) in found {
        match files {
            PerSide { baseline: Some(baseline), candidate: Some(candidate) } => {
                let folder = rank.map_or_else(|| stem(&name), |rank| format!("rank_{rank}"));
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
    let ending = [".json.gz", ".json.zst", ".json", ".gz"].iter().find(|e| name.ends_with(*e));
    ending.map_or(name, |ending| &name[..name.len() - ending.len()]).to_owned()
}

/// What is kept of the comparison of one rank.
struct Compared {
    account: Account,
    collectives: PerSide<Collectives>,
    points: usize,
    is_comparable: bool,
}

fn compare_all(pairs: &[RankPair], args: &DiffArgs, console: &Console) -> Result<Vec<Compared>> {
    let counter = console.progress().counting("comparing ranks", pairs.len());
    let options = args.comparison_options()?.read(console.reading().clone());
    let compare = |pair| {
        let compared = compare_pair(pair, args, &options);
        counter.one_done();
        compared
    };
    pairs.par_iter().map(compare).collect()
}

fn compare_pair(pair: &RankPair, args: &DiffArgs, options: &ComparisonOptions) -> Result<Compared> {
    let PerSide { baseline, candidate } = pair.files.as_ref().map(PathBuf::as_path);
    let comparison = Comparison::open(baseline, candidate, options)?;
    comparison.report(args.emit.options()).write(args.output.join(&pair.folder))?;
    let analysis = comparison.analysis();
    Ok(Compared {
        account: *analysis.account(),
        collectives: PerSide::from_fn(|side| Collectives::of(comparison.trace(side))),
        points: comparison.diff().differences().len(),
        is_comparable: analysis.comparability().is_comparable(),
    })
}

fn rows(pairs: &[RankPair], compared: &[Compared]) -> Vec<RankRow> {
    let waits: PerSide<Vec<CollectiveWait>> = PerSide::from_fn(|side| {
        let ranks: Vec<Collectives> =
            compared.iter().map(|compared| compared.collectives[side].clone()).collect();
        Collectives::waits(&ranks)
    });
    let stragglers = waits.as_ref().map(|waits| straggler(waits));
    let row = |(at, (pair, compared)): (usize, (&RankPair, &Compared))| RankRow {
        rank: pair.rank,
        folder: pair.folder.clone(),
        files: pair.files.as_ref().map(|path| path.display().to_string()),
        totals: compared.account.totals,
        account_is_exact: compared.account.is_exact(),
        waits: PerSide::from_fn(|side| waits[side][at]),
        is_straggler: stragglers.map(|straggler| straggler == Some(at)),
    };
    pairs.iter().zip(compared).enumerate().map(row).collect()
}

fn outcome(compared: &[Compared], args: &DiffArgs) -> Outcome {
    let strict = args.selection.strict_comparability;
    if strict && compared.iter().any(|compared| !compared.is_comparable) {
        return Outcome::NotComparable;
    }
    let differs =
        compared.iter().any(|compared| args.is_failed(&compared.account, compared.points));
    if differs { Outcome::Differences } else { Outcome::Done }
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
        assert!(found.unpaired.is_empty());
    }
}
