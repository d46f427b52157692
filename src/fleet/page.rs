//! A [`Fleet`] → the content of its page.

use super::Fleet;
use super::ranges::ranges;
use super::reduce::Counts;
use super::rows::{CauseRow, CollectiveRow, RankRow, Spread, StepRow};
use crate::program::counted;
use crate::report::{FleetCauseLine, FleetPage, FleetRankLine, HeatMap};
use crate::side::Side;
use std::collections::{BTreeMap, BTreeSet};

/// The content of a fleet's page. Ranks link to their reports if these exist.
pub(super) fn page(fleet: &Fleet, has_reports: bool) -> FleetPage {
    let Counts { planned, ok, failed, unmatched } = fleet.counts();
    FleetPage {
        folders: [fleet.baseline.clone(), fleet.candidate.clone()],
        lead: format!(
            "{planned} planned = {ok} compared + {failed} failed + {unmatched} unmatched; {}",
            counted(fleet.roles.len() as u64, "role")
        ),
        findings: fleet
            .findings
            .iter()
            .map(|one| [one.code.clone(), one.ranks.clone(), one.message.clone()])
            .collect(),
        causes: fleet.causes.iter().map(cause).collect(),
        maps: [steps(fleet), waits(fleet)].into_iter().flatten().collect(),
        ranks: fleet.ranks.iter().map(|row| rank(row, has_reports)).collect(),
        notes: fleet.notes.clone(),
    }
}

fn cause(row: &CauseRow) -> FleetCauseLine {
    let module = if row.module.is_empty() { String::new() } else { format!(" in {}", row.module) };
    let shared = &row.shared;
    let whom = match shared.spread {
        Spread::All => format!("{}: all", shared.ranks),
        Spread::Role => format!("{}: role {}", shared.ranks, shared.roles),
        Spread::Some | Spread::Few => format!("{}: {}", shared.ranks, shared.rank_list),
    };
    FleetCauseLine {
        what: format!("{} at {}{module}", row.reason, row.place),
        whom,
        percent: (1000.0 * shared.share).round() / 10.0,
        difference: format!("{:+.3} ms", shared.median_us / 1e3),
        evidence: format!("{}: {:+.3} ms; {}", shared.worst, shared.worst_us / 1e3, row.evidence),
    }
}

fn rank(row: &RankRow, has_reports: bool) -> FleetRankLine {
    let link = match has_reports {
        true => format!("{}/report.html", encoded(&row.folder)),
        false => String::new(),
    };
    let mut cells = vec![row.role.to_string()];
    cells.extend(Side::BOTH.map(|side| format!("{:.3}", row.wall[side].as_millis())));
    cells.extend(Side::BOTH.map(|side| format!("{:.3}", row.waits[side].wait.as_millis())));
    cells.push(ranges(&row.waits[Side::Candidate].last_in));
    let odd = Side::BOTH.map(|side| row.notes[side].as_str());
    let odd: BTreeSet<&str> = odd.into_iter().filter(|text| !text.is_empty()).collect();
    cells.push(odd.into_iter().collect::<Vec<_>>().join("; "));
    FleetRankLine { name: row.folder.clone(), link, cells }
}

/// A folder's name in a link. All bytes except letters, digits and `-_.` are percent-encoded.
fn encoded(folder: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    folder
        .bytes()
        .map(
            |byte| {
                if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
            },
        )
        .collect()
}

/// How much longer each step of each rank takes in the candidate.
fn steps(fleet: &Fleet) -> Option<HeatMap> {
    let count = usize::try_from(fleet.steps.iter().map(|step| step.step + 1).max()?).ok()?;
    let place: BTreeMap<&str, usize> =
        fleet.ranks.iter().enumerate().map(|(at, rank)| (rank.folder.as_str(), at)).collect();
    let is_on_both = |step: &&StepRow| Side::BOTH.iter().all(|&side| step.wall[side].0 > 0);
    let cells = fleet.steps.iter().filter(is_on_both).filter_map(|step| {
        let column = usize::try_from(step.step).ok()?;
        Some((*place.get(step.folder.as_str())?, column, step.wall.difference().as_micros()))
    });
    let columns: Vec<String> = (0..count).map(|step| format!("step {step}")).collect();
    let map = HeatMap {
        title: "Ranks × steps".to_owned(),
        about: "Wall time of each step, candidate − baseline. Red is slower, blue is faster."
            .to_owned(),
        unit: "µs".to_owned(),
        ..HeatMap::default()
    };
    Some(map.with_cells((&folders(fleet), &columns), cells))
}

/// How long each rank waited in each collective of the candidate.
fn waits(fleet: &Fleet) -> Option<HeatMap> {
    let rows = fleet.collectives.iter().filter(|row| row.side == Side::Candidate);
    let mut rows: Vec<&CollectiveRow> = rows.filter(|row| row.number.is_some()).collect();
    rows.sort_by_key(|row| row.number);
    let columns: Vec<String> = rows.iter().map(|row| collective(row)).collect();
    let cells =
        fleet.waits.iter().map(|&(number, rank, wait)| (rank, number as usize, wait.as_micros()));
    let map = HeatMap {
        title: "Ranks × collectives".to_owned(),
        about: "Time that each rank of the candidate waited for the others. The palest cell of a \
                column is the rank that came last."
            .to_owned(),
        unit: "µs".to_owned(),
        ..HeatMap::default()
    };
    (!columns.is_empty()).then(|| map.with_cells((&folders(fleet), &columns), cells))
}

fn folders(fleet: &Fleet) -> Vec<String> {
    fleet.ranks.iter().map(|rank| rank.folder.clone()).collect()
}

fn collective(row: &CollectiveRow) -> String {
    let number = row.number.unwrap_or_default();
    match row.group.as_str() {
        "" => format!("#{number} {}", row.name),
        group => format!("#{number} {} of group {group}", row.name),
    }
}
