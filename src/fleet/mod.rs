//! Two folders of ranks → a comparison of each rank, and what the ranks waited for each other.

mod collectives;
mod matching;
mod pairs;
mod rank_table;

pub use collectives::{CollectiveWait, Collectives, straggler};
pub use pairs::{RankPair, RankPairs};
pub use rank_table::ranges;

use crate::analysis::{Account, Totals};
use crate::comparison::{Comparison, ComparisonOptions};
use crate::error::{Error, Result};
use crate::report::{CsvTexts, ReportOptions, write_csv_with};
use crate::side::PerSide;
use crate::tables::Table;
use crate::trace::Notes;
use rayon::prelude::*;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// One rank of a fleet.
#[derive(Debug, Clone, PartialEq)]
pub struct RankRow {
    /// The rank; `None` where the files do not tell it and were paired by name.
    pub rank: Option<i64>,
    /// The folder with the rank's own report.
    pub folder: String,
    /// The files.
    pub files: PerSide<String>,
    /// The account of each side.
    pub totals: PerSide<Totals>,
    /// Whether the rows of the rank's report add up to its events.
    pub account_is_exact: bool,
    /// What it waited for the other ranks of its side.
    pub waits: PerSide<CollectiveWait>,
    /// Whether the other ranks of its side wait for this one.
    pub is_straggler: PerSide<bool>,
    /// Points of difference between the two traces.
    pub points_of_difference: usize,
    /// Whether the two traces are of the same work.
    pub is_comparable: bool,
    /// What was odd about the files: a trace that is cut off takes less time than its rank did.
    pub notes: PerSide<Notes>,
}

/// The ranks of a fleet, compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Fleet {
    /// A row for each pair, in their order.
    pub ranks: Vec<RankRow>,
}

impl Fleet {
    /// Compares all pairs, several at once, and writes a report of each into its folder below
    /// `folder`, and `ranks.csv` beside them. `done` is called behind each pair.
    ///
    /// # Errors
    /// If a trace cannot be read or compared, or the reports cannot be written.
    pub fn compare(
        pairs: &[RankPair],
        options: &ComparisonOptions,
        report: &ReportOptions,
        folder: &Path,
        done: impl Fn() + Sync,
    ) -> Result<Fleet> {
        fs::create_dir_all(folder)
            .map_err(|error| Error::io(folder, "create the report folder", error))?;
        let compare = |pair| {
            let compared = compare_pair(pair, options, report, folder);
            done();
            compared
        };
        let compared: Vec<Compared> = pairs.par_iter().map(compare).collect::<Result<_>>()?;
        let fleet = Fleet { ranks: rows(pairs, &compared) };
        fleet.write_ranks(&folder.join("ranks.csv"), report.csv_texts)?;
        Ok(fleet)
    }

    /// The ranks as a table.
    pub fn table(&self) -> Table {
        rank_table::table(self.ranks.clone())
    }

    fn write_ranks(&self, path: &Path, texts: CsvTexts) -> Result<()> {
        let write = || -> io::Result<()> {
            let mut out = BufWriter::new(File::create(path)?);
            write_csv_with(&self.table(), texts, &mut out)?;
            out.flush()
        };
        write().map_err(|error| Error::io(path, "write the table of ranks", error))
    }
}

/// What is kept of the comparison of one rank.
struct Compared {
    account: Account,
    collectives: PerSide<Collectives>,
    points: usize,
    is_comparable: bool,
    notes: PerSide<Notes>,
}

fn compare_pair(
    pair: &RankPair,
    options: &ComparisonOptions,
    report: &ReportOptions,
    folder: &Path,
) -> Result<Compared> {
    let PerSide { baseline, candidate } = pair.files.as_ref().map(PathBuf::as_path);
    let comparison = Comparison::open(baseline, candidate, options)?;
    comparison.report(report.clone()).write(folder.join(&pair.folder))?;
    let analysis = comparison.analysis();
    Ok(Compared {
        account: *analysis.account(),
        collectives: PerSide::from_fn(|side| Collectives::of(comparison.tree(side))),
        points: comparison.diff().differences().len(),
        is_comparable: analysis.comparability().is_comparable(),
        notes: PerSide::from_fn(|side| comparison.trace(side).notes().clone()),
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
        waits: PerSide::from_fn(|side| waits[side][at].clone()),
        is_straggler: stragglers.map(|straggler| straggler == Some(at)),
        points_of_difference: compared.points,
        is_comparable: compared.is_comparable,
        notes: compared.notes.clone(),
    };
    pairs.iter().zip(compared).enumerate().map(row).collect()
}
