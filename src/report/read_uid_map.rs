//! Reads the event pairs in the `uid_map.csv` of a report folder.

use super::csv::read_rows;
use super::manifest::check_whole;
use crate::diff::{Confidence, MergedId, Relation, UidPair};
use crate::error::{Error, ErrorKind, Result};
use crate::trace::Uid;
use std::path::Path;

const FILE: &str = "uid_map.csv";

/// Reads the uid map of a report folder.
///
/// # Errors
/// Fails if the folder has no `uid_map.csv` or is not a complete report, or if a line is malformed.
#[doc(hidden)]
pub fn read_uid_map(folder: &Path) -> Result<Vec<UidPair>> {
    let path = folder.join(FILE);
    if folder.is_file() {
        return Err(Error::new(ErrorKind::Usage, folder, "a second trace is missing")
            .remedy("pass two traces or a report folder"));
    }
    if folder.is_dir() && !path.exists() {
        let message = format!("is not a report folder: it has no {FILE}");
        return Err(Error::new(ErrorKind::Usage, folder, message)
            .remedy("pass two traces, or a report folder with CSV tables"));
    }
    check_whole(folder)?;
    pairs(&read_rows(&path)?, &path)
}

fn pairs(rows: &[Vec<String>], path: &Path) -> Result<Vec<UidPair>> {
    rows.iter()
        .enumerate()
        .map(|(line, cells)| {
            parse(cells).ok_or_else(|| {
                let message = format!(
                    "line {} is not of the form uid1, uid2, relation, region, confidence, group",
                    line + 2
                );
                Error::new(ErrorKind::Malformed, path, message).remedy("write the report again")
            })
        })
        .collect()
}

fn parse(cells: &[String]) -> Option<UidPair> {
    // Reports written by earlier tracetree versions have fewer columns.
    let [baseline, candidate, relation, rest @ ..] = cells else { return None };
    let uid = |text: &str| match text {
        "-1" => Some(None),
        text => text.parse().ok().map(|uid| Some(Uid(uid))),
    };
    let all = [
        Relation::Same,
        Relation::Renamed,
        Relation::Moved,
        Relation::Replaced,
        Relation::OnlyBaseline,
        Relation::OnlyCandidate,
    ];
    Some(UidPair {
        baseline: uid(baseline)?,
        candidate: uid(candidate)?,
        relation: all.into_iter().find(|known| known.label() == relation)?,
        region: match rest {
            [] => None,
            [region, ..] if region.is_empty() => None,
            [region, ..] => Some(MergedId::at(region.parse().ok()?)),
        },
        confidence: match rest {
            [] | [_] => None,
            [_, confidence, group] => read_confidence(confidence, group)?,
            [_, ..] => return None,
        },
    })
}

/// Parses the confidence of a match: `Some(None)` for an event without a counterpart, `None` if the
/// cells are malformed.
fn read_confidence(confidence: &str, group: &str) -> Option<Option<Confidence>> {
    if confidence.is_empty() {
        return Some(None);
    }
    let group = || group.parse().ok();
    let all = [
        Some(Confidence::Firm),
        Some(Confidence::Likely),
        group().map(|group| Confidence::Interchangeable { group }),
    ];
    all.into_iter().flatten().find(|known| known.label() == confidence).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_line_of_the_map_is_named() {
        let rows = [["0", "0", "same"], ["1", "1", "similar"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let error = pairs(&rows, Path::new(FILE)).expect_err("a relation that is none");
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert!(error.to_string().contains("line 3"), "{error}");
    }
}
