//! Summarizes the times of each op, category and layer on the ranks in each role, and finds the ranks that are
//! outliers or got slower.

use super::compared::Compared;
use super::roles::Role;
use crate::rows::{OutlierRow, PartRow, SlowedOp};
use crate::shard::{Part, PartKind};
use crate::slowed::{self, slowed_members};
use crate::stats::{Quantiles, outliers};
use std::collections::BTreeMap;
use std::sync::Arc;
use tracetree::analysis::robust::median;
use tracetree::order::Order as _;
use tracetree::side::{PerSide, Side};

/// Minimum difference between an outlier and the median of its role, as a share of the median.
const NOTABLE: f64 = 0.05;

/// Minimum difference between an outlier and the median of its role, as a share of the median total time of the ranks
/// in the role.
const NOTABLE_OF_ALL: f64 = 0.005;

/// Identifies an op, category or layer: kind, name, and number of the layer.
type PartKey<'s> = (PartKind, &'s Arc<str>, Option<i64>);

pub(super) fn parts(
    whole: &[&Compared<'_>],
    roles: &[Role],
) -> (Vec<PartRow>, Vec<OutlierRow>, Vec<SlowedOp>) {
    let (mut rows, mut odd, mut slowed) = (Vec::new(), Vec::new(), Vec::new());
    for role in roles {
        let mut of_name: BTreeMap<PartKey<'_>, Vec<(usize, &Part)>> = BTreeMap::new();
        for (place, &at) in role.members.iter().enumerate() {
            for part in &whole[at].facts.parts {
                of_name
                    .entry((part.kind, &part.name, part.number))
                    .or_default()
                    .push((place, part));
            }
        }
        let totals = PerSide::from_fn(|side| {
            let total = |&at: &usize| whole[at].per_step(side, whole[at].facts.account[side].time);
            median(&role.members.iter().map(total).collect::<Vec<_>>())
        });
        for (key, found) in of_name {
            // If a rank does not run the op, category or layer, its time is 0.
            let mut times = PerSide::from_fn(|_| vec![0.0; role.members.len()]);
            for (place, part) in found {
                for side in Side::BOTH {
                    let one = whole[role.members[place]];
                    times[side][place] = one.per_step(side, part.time[side]);
                }
            }
            let found = outlying(role, key, &times, totals, whole);
            if key.0 == PartKind::Op {
                let least = NOTABLE * median(&times.baseline);
                let least = least.max(NOTABLE_OF_ALL * totals.baseline);
                slowed.extend(slowed_members(&times, least).into_iter().map(|place| SlowedOp {
                    folder: whole[role.members[place]].pair.folder.clone(),
                    name: key.1.clone(),
                    time_us: times.as_ref().map(|times| times[place]),
                }));
            }
            rows.push(part_row(role, key, &times, &found, whole));
            odd.extend(found);
        }
    }
    odd.order_by(|a, b| {
        b.distance_us()
            .total_cmp(&a.distance_us())
            .then_with(|| (&a.folder, a.kind, &a.name).cmp(&(&b.folder, b.kind, &b.name)))
    });
    slowed::sort(&mut slowed);
    (rows, odd, slowed)
}

fn part_row(
    role: &Role,
    (kind, name, number): PartKey<'_>,
    times: &PerSide<Vec<f64>>,
    odd: &[OutlierRow],
    whole: &[&Compared<'_>],
) -> PartRow {
    let differences: Vec<f64> =
        times.baseline.iter().zip(&times.candidate).map(|(before, after)| after - before).collect();
    let worst =
        differences.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)));
    let worst = worst.map_or(0, |(at, _)| at);
    PartRow {
        role: role.hash.clone(),
        kind: kind.label(),
        name: name.clone(),
        number,
        ranks: role.members.len() as u64,
        quantiles: times.as_ref().map(|times| Quantiles::of(times)),
        difference_us: median(&differences),
        worst: whole[role.members[worst]].pair.folder.clone(),
        worst_difference_us: differences.get(worst).copied().unwrap_or(0.0),
        outliers: PerSide::from_fn(|side| odd.iter().filter(|one| one.side == side).count() as u64),
    }
}

fn outlying(
    role: &Role,
    (kind, name, number): PartKey<'_>,
    times: &PerSide<Vec<f64>>,
    totals: PerSide<f64>,
    whole: &[&Compared<'_>],
) -> Vec<OutlierRow> {
    let of_side = |side: Side| {
        let middle = median(&times[side]);
        let row = move |(place, z): (usize, f64)| OutlierRow {
            side,
            role: role.hash.clone(),
            kind: kind.label(),
            name: name.clone(),
            number,
            rank: whole[role.members[place]].pair.rank,
            folder: whole[role.members[place]].pair.folder.clone(),
            time_us: times[side][place],
            median_us: middle,
            robust_z: z,
            ranks: role.members.len() as u64,
        };
        let is_notable = move |row: &OutlierRow| {
            row.distance_us() >= NOTABLE * middle
                && row.distance_us() >= NOTABLE_OF_ALL * totals[side]
        };
        outliers(&times[side]).into_iter().map(row).filter(is_notable).collect::<Vec<_>>()
    };
    Side::BOTH.into_iter().flat_map(of_side).collect()
}
