//! Draws groups of attributed events (by step, by category, …) as bar charts that are visible
//! without scripts.

use super::overview::width;
use crate::report::lists::change;
use crate::report::nodes::facets::Facet;
use crate::report::text::Unit;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// Maximum number of groups in a chart. All remaining groups are combined into one group, so the bars of a chart add up
/// to the total.
const GROUPS: usize = 16;

/// The attributed events grouped by one facet.
pub(super) struct Chart {
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    pub(super) groups: Vec<ChartGroup>,
}

/// A group of events; the chart shows one bar per side for the group.
pub(super) struct ChartGroup {
    pub(super) label: String,
    pub(super) events: u64,
    pub(super) time: PerSide<Nanos>,
    pub(super) times: [String; 2],
    pub(super) widths: [String; 2],
    pub(super) difference: String,
    pub(super) ratio: String,
    pub(super) change: &'static str,
}

pub(super) fn chart(facet: &Facet, unit: Unit) -> Chart {
    let groups = &facet.groups;
    let longest = |time: &PerSide<Nanos>| time.baseline.max(time.candidate);
    let most = groups.iter().map(|group| longest(&group.time)).max().unwrap_or_default();
    let mut shown: Vec<ChartGroup> = Vec::new();
    let mut rest = (0, 0, PerSide::<Nanos>::default());
    for group in groups {
        if shown.len() < GROUPS {
            let label = if group.value.is_empty() { "(none)" } else { group.value.as_str() };
            shown.push(chart_group(label.to_owned(), group.events, group.time, most, unit));
        } else {
            rest = (rest.0 + 1, rest.1 + group.events, sum(rest.2, group.time));
        }
    }
    if rest.0 > 0 {
        let label = format!("({} more)", rest.0);
        shown.push(chart_group(label, rest.1, rest.2, most.max(longest(&rest.2)), unit));
    }
    Chart { key: facet.key, title: facet.title, groups: shown }
}

fn sum(a: PerSide<Nanos>, b: PerSide<Nanos>) -> PerSide<Nanos> {
    PerSide::from_fn(|side| a[side] + b[side])
}

fn chart_group(
    label: String,
    events: u64,
    time: PerSide<Nanos>,
    most: Nanos,
    unit: Unit,
) -> ChartGroup {
    let [one, two, difference, ratio] = unit.figures(time);
    ChartGroup {
        label,
        events,
        time,
        times: [one, two],
        widths: Side::BOTH.map(|side| width(time[side], most)),
        difference,
        ratio,
        change: change(time.difference()),
    }
}
