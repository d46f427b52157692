//! Computes the content of a [`Fleet`]'s page.

use super::Fleet;
use super::findings::name;
use super::headline::Headline;
use super::pattern::ranges;
use super::reduce::Counts;
use super::rows::{CollectiveRow, LineRow, OutlierRow, RankRow, Spread, StepRow};
use super::slowed::{RankChange, Slowed};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tracetree::order::Order as _;
use tracetree::program::counted;
use tracetree::report::{
    FleetBillLine, FleetDot, FleetLag, FleetLast, FleetOutlierRow, FleetOutliers, FleetPage,
    FleetRankLine, HeatMap,
};
use tracetree::side::Side;
use tracetree::trace::Nanos;

/// Maximum numbers of ranks and ops in the small heat map.
const SHOWN: (usize, usize) = (5, 8);
/// Maximum number of ranks in the list of ranks that arrive last in collectives.
const LAST: usize = 6;
/// The content of a fleet's page. If `reports` is set, the names of ranks link to their reports in this folder.
pub(super) fn page(fleet: &Fleet, reports: Option<&Path>) -> FleetPage {
    let has_reports = reports.is_some();
    let dots = dots(fleet, has_reports);
    let Headline { text: headline, reason, rank: folder, is_slow } = fleet.headline();
    let row = folder.and_then(|folder| fleet.ranks.iter().find(|row| row.folder == folder));
    let within = dots.iter().filter(|dot| !dot.is_outlier).count() as u64;
    let lead = match is_slow {
        true => {
            format!("{reason}; {} within the spread of their roles", counted(within, "other rank"))
        }
        false => reason,
    };
    FleetPage {
        lag: reports.zip(row).and_then(|(folder, row)| lag(row, folder)),
        folders: [fleet.baseline.clone(), fleet.candidate.clone()],
        coverage: coverage(fleet),
        headline,
        lead,
        dots,
        outliers: standing_out(fleet, has_reports),
        last: last(fleet, has_reports),
        collectives: matched(fleet).count() as u64,
        findings: fleet
            .findings
            .iter()
            .map(|one| [one.code.clone(), one.ranks.clone(), one.message.clone()])
            .collect(),
        bill: fleet.bill.iter().map(line).collect(),
        classes: fleet.classes.iter().map(|row| (row.name.to_string(), row.cells())).collect(),
        maps: [steps(fleet), waits(fleet)].into_iter().flatten().collect(),
        ranks: fleet.ranks.iter().map(|row| rank(row, has_reports)).collect(),
        notes: fleet.notes.clone(),
    }
}

/// The picture in the report of a rank; `None` if it shows no curve.
fn lag(row: &RankRow, reports: &Path) -> Option<FleetLag> {
    let picture = std::fs::read_to_string(reports.join(&row.folder).join("lag.svg")).ok()?;
    let has_curve = picture.contains("lag-line");
    has_curve.then(|| FleetLag { rank: name(row), link: link(&row.folder, true), picture })
}

/// States how many ranks were compared, such as `64 of 64 ranks compared` or `15 of 16 ranks compared; 1 failed; 2
/// traces without a match`.
fn coverage(fleet: &Fleet) -> String {
    let Counts { planned, ok, failed, unmatched } = fleet.counts();
    let pairs = (planned - unmatched) as u64;
    let mut text = format!("{ok} of {} compared", counted(pairs, "rank"));
    if failed > 0 {
        text += &format!("; {failed} failed");
    }
    if unmatched > 0 {
        text += &format!("; {} without a match", counted(unmatched as u64, "trace"));
    }
    format!("{text}; {}", counted(fleet.roles.len() as u64, "role"))
}

fn link(folder: &str, has_reports: bool) -> String {
    if has_reports { format!("{}/report.html", encoded(folder)) } else { String::new() }
}

/// For each rank, how its time per step (without waits) changed, as the ratio candidate / baseline. Each ratio comes
/// with the quartiles of the ratios of all ranks in the same role.
fn dots(fleet: &Fleet, has_reports: bool) -> Vec<FleetDot> {
    let dot = |change: RankChange<'_>| FleetDot {
        name: name(change.row),
        link: link(&change.row.folder, has_reports),
        ratio: change.ratio,
        band: change.band,
        is_outlier: change.is_outlier,
    };
    fleet.rank_changes().into_iter().map(dot).collect()
}

/// The ranks that got slower, and the ops that got slower on them; if there are none, the ranks that are outliers in
/// the candidate.
fn standing_out(fleet: &Fleet, has_reports: bool) -> FleetOutliers {
    let slowed: Vec<Slowed<'_>> =
        fleet.slowed().into_iter().filter(|rank| !rank.ops.is_empty()).take(SHOWN.0).collect();
    if slowed.is_empty() {
        return outliers(fleet, has_reports);
    }
    let mut ops: Vec<&str> = Vec::new();
    for op in slowed.iter().flat_map(|rank| &rank.ops) {
        if !ops.contains(&&*op.name) && ops.len() < SHOWN.1 {
            ops.push(&op.name);
        }
    }
    let cell = |rank: &Slowed<'_>, name: &str| {
        let found = rank.ops.iter().find(|op| &*op.name == name);
        found.map_or_else(Default::default, |op| (op.text(), style(op.ratio())))
    };
    let row = |rank: &Slowed<'_>| FleetOutlierRow {
        name: name(rank.change.row),
        link: link(&rank.change.row.folder, has_reports),
        cells: ops.iter().map(|op| cell(rank, op)).collect(),
    };
    FleetOutliers {
        title: "Ops that got slower, by rank",
        about: "candidate ÷ baseline of the same rank, unlike its role",
        rows: slowed.iter().map(row).collect(),
        columns: ops.iter().map(|&op| op.to_owned()).collect(),
    }
}

/// The candidate ranks whose op times are farthest from the median of their role, and the ops with the largest
/// differences.
fn outliers(fleet: &Fleet, has_reports: bool) -> FleetOutliers {
    let rows = fleet.outliers.iter().filter(|one| one.side == Side::Candidate && one.kind == "op");
    let rows: Vec<&OutlierRow> = rows.collect();
    let leading = |key: fn(&OutlierRow) -> &str, most: usize| -> Vec<&str> {
        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        rows.iter().for_each(|row| *sums.entry(key(row)).or_default() += row.distance_us());
        let mut list: Vec<(&str, f64)> = sums.into_iter().collect();
        list.order_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        list.into_iter().take(most).map(|(key, _)| key).collect()
    };
    let ranks = leading(|row| &row.folder, SHOWN.0);
    let ops = leading(|row| &row.name, SHOWN.1);
    let cell = |folder: &str, op: &str| {
        let found = rows.iter().find(|row| row.folder == folder && &*row.name == op);
        found.map_or_else(Default::default, |row| {
            let ratio = row.time_us / row.median_us.max(f64::MIN_POSITIVE);
            let text = if ratio < 100.0 {
                format!("{ratio:.2}× ({:.3} vs {:.3} ms)", row.time_us / 1e3, row.median_us / 1e3)
            } else {
                format!("{:.3} vs {:.3} ms", row.time_us / 1e3, row.median_us / 1e3)
            };
            (text, style(ratio))
        })
    };
    let row = |folder: &str| {
        let known = fleet.ranks.iter().find(|row| row.folder == folder);
        let name = known.map_or_else(|| folder.to_owned(), name);
        FleetOutlierRow {
            name,
            link: link(folder, has_reports),
            cells: ops.iter().map(|op| cell(folder, op)).collect(),
        }
    };
    FleetOutliers {
        title: "Outlier ops by rank",
        about: "candidate, relative to the median of the role",
        rows: ranks.into_iter().map(row).collect(),
        columns: ops.iter().map(|&op| op.to_owned()).collect(),
    }
}

fn style(ratio: f64) -> &'static str {
    match (ratio < 1.0, (ratio - 1.0).abs()) {
        (false, 0.4..) => "more3",
        (false, 0.1..) => "more2",
        (false, _) => "more1",
        (true, 0.4..) => "less3",
        (true, 0.1..) => "less2",
        (true, _) => "less1",
    }
}

/// The candidate collectives that every rank of the process group recorded.
fn matched(fleet: &Fleet) -> impl Iterator<Item = &CollectiveRow> {
    fleet.collectives.iter().filter(|row| row.side == Side::Candidate && row.number.is_some())
}

/// The ranks that arrive last in the candidate's collectives; the rank with the largest total delay comes first.
/// Collectives in which the last two ranks arrive at the same time are ignored, because the choice of the last rank
/// would be arbitrary.
fn last(fleet: &Fleet, has_reports: bool) -> Vec<FleetLast> {
    let all = matched(fleet).count();
    let mut of_ranks: BTreeMap<&str, (u64, Nanos)> = BTreeMap::new();
    for row in matched(fleet).filter(|row| row.margin > Nanos::ZERO) {
        let (count, margin) = of_ranks.entry(&row.last_folder).or_default();
        *count += 1;
        *margin += row.margin;
    }
    let mut list: Vec<(&str, (u64, Nanos))> = of_ranks.into_iter().collect();
    list.order_by_key(|&(folder, (_, margin))| (Reverse(margin), folder));
    let line = |(folder, (count, margin)): (&str, (u64, Nanos))| {
        let known = fleet.ranks.iter().find(|row| row.folder == folder);
        FleetLast {
            name: known.map_or_else(|| folder.to_owned(), name),
            link: link(folder, has_reports),
            count,
            percent: (1000.0 * count as f64 / all.max(1) as f64).round() / 10.0,
            margin: format!("{:.3} ms", margin.as_millis()),
        }
    };
    list.into_iter().take(LAST).map(line).collect()
}

fn line(row: &LineRow) -> FleetBillLine {
    let shared = &row.shared;
    let whom = match shared.spread {
        Spread::All => format!("{}: all", shared.ranks),
        Spread::Role => format!("{}: role {}", shared.ranks, shared.roles),
        Spread::Some | Spread::Few => format!("{}: {}", shared.ranks, shared.pattern),
    };
    FleetBillLine {
        sentence: row.sentence.to_string(),
        whom,
        percent: (1000.0 * shared.share).round() / 10.0,
        price: format!("{:+.3} ms", shared.median_us / 1e3),
        worst: format!("{}: {:+.3} ms", shared.worst, shared.worst_us / 1e3),
    }
}

fn rank(row: &RankRow, has_reports: bool) -> FleetRankLine {
    let link = link(&row.folder, has_reports);
    let mut cells = vec![row.role.to_string()];
    cells.extend(Side::BOTH.map(|side| format!("{:.3}", row.wall[side].as_millis())));
    cells.extend(Side::BOTH.map(|side| format!("{:.3}", row.waits[side].wait.as_millis())));
    cells.push(ranges(&row.waits[Side::Candidate].last_in, "#"));
    let odd = Side::BOTH.map(|side| row.notes[side].as_str());
    let odd: BTreeSet<&str> = odd.into_iter().filter(|text| !text.is_empty()).collect();
    cells.push(odd.into_iter().collect::<Vec<_>>().join("; "));
    FleetRankLine { name: row.folder.clone(), link, cells }
}

/// A folder name as part of a link. All bytes except letters, digits and `-_.` are percent-encoded.
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

/// How much longer each step takes on each rank in the candidate than in the baseline.
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

/// How long each rank waited in each candidate collective.
fn waits(fleet: &Fleet) -> Option<HeatMap> {
    let rows = fleet.collectives.iter().filter(|row| row.side == Side::Candidate);
    let mut rows: Vec<&CollectiveRow> = rows.filter(|row| row.number.is_some()).collect();
    rows.order_by_key(|row| row.number);
    let columns: Vec<String> = rows.iter().map(|row| collective(row)).collect();
    let cells =
        fleet.waits.iter().map(|&(number, rank, wait)| (rank, number as usize, wait.as_micros()));
    let map = HeatMap {
        title: "Ranks × collectives".to_owned(),
        about: "Time that each candidate rank waited for the other ranks. The palest cell in a \
                column marks the rank that arrived last."
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
