//! `uid_map.csv`: every event of both trees exactly once, with its partner; written and read again.

use super::csv_table::{CsvTable, push_uid, read_rows};
use crate::analysis::Analysis;
use crate::diff::{Relation, UidPair};
use crate::error::{Error, ErrorKind, Result};
use crate::side::PerSide;
use crate::trace::Uid;
use std::io::{self, Write};
use std::path::Path;

const FILE: &str = "uid_map.csv";

pub(super) fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let mut table = CsvTable::new(out, &["uid1", "uid2", "relation"])?;
    let mut uids = PerSide::<String>::default();
    for pair in analysis.diff().uid_map() {
        for (text, uid) in
            [(&mut uids.baseline, pair.baseline), (&mut uids.candidate, pair.candidate)]
        {
            text.clear();
            push_uid(text, uid);
        }
        table.row(&[&uids.baseline, &uids.candidate, pair.relation.label()])?;
    }
    table.finish()
}

/// Reads the uid map of a report folder.
///
/// # Errors
/// If the folder has no `uid_map.csv`, or a line of it is none of ours.
pub fn read_uid_map(folder: &Path) -> Result<Vec<UidPair>> {
    let path = folder.join(FILE);
    if folder.is_file() {
        return Err(Error::new(ErrorKind::Usage, folder, "a trace alone has no partner")
            .remedy("give two traces, or the folder of a report"));
    }
    if folder.is_dir() && !path.exists() {
        let message = format!("is no report: there is no {FILE} in it");
        return Err(Error::new(ErrorKind::Usage, folder, message)
            .remedy("give two traces, or the folder of a report"));
    }
    read_rows(&path)?
        .iter()
        .enumerate()
        .map(|(line, cells)| {
            parse(cells).ok_or_else(|| {
                let message = format!("line {} is no uid1, uid2, relation", line + 2);
                Error::new(ErrorKind::Malformed, &path, message).remedy("write the report again")
            })
        })
        .collect()
}

fn parse(cells: &[String]) -> Option<UidPair> {
    let [baseline, candidate, relation] = cells else { return None };
    let uid = |text: &str| match text {
        "-1" => Some(None),
        text => text.parse().ok().map(|uid| Some(Uid(uid))),
    };
    let all = [
        Relation::Same,
        Relation::Renamed,
        Relation::Moved,
        Relation::OnlyBaseline,
        Relation::OnlyCandidate,
    ];
    Some(UidPair {
        baseline: uid(baseline)?,
        candidate: uid(candidate)?,
        relation: all.into_iter().find(|known| known.label() == relation)?,
    })
}
