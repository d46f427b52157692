//! Builds the page's memory section, which lists the changes in memory use. For each device, the section also shows
//! both sides' curves to scale, the totals, and the memory that is live at the peaks.

mod curve;

use crate::analysis::Analysis;
use crate::analysis::changes::ChangeKind;
use crate::analysis::memory::{
    DeviceUsage, LiveRow, LiveSet, MemoryPlace, MemorySource, bytes, live_sets,
};
use crate::order::Order as _;
use crate::report::lists::change;
use crate::report::text::tensors;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use curve::Curves;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Maximum number of lines that list live memory. One more line contains the sum of the remaining lines, so that the
/// table adds up.
const LINES: usize = 12;

/// The memory section of the page, which exists only if a trace has memory events.
pub(super) struct MemorySection {
    /// The changes in memory use, leaks first.
    pub(super) changes: Vec<String>,
    pub(super) devices: Vec<Device>,
}

/// The memory of one device.
pub(super) struct Device {
    pub(super) name: String,
    pub(super) curves: Curves,
    pub(super) totals: Vec<Figures>,
    pub(super) live: Vec<Live>,
    /// A remark that says which memory is missing from the figures; empty if the figures include
    /// all memory.
    pub(super) remark: &'static str,
}

/// A line with a value for each side and the difference; a cell is empty if the side has no value.
pub(super) struct Figures {
    pub(super) title: String,
    pub(super) note: String,
    pub(super) cells: [String; 2],
    pub(super) difference: String,
    pub(super) style: &'static str,
}

/// The live memory at the peak of one side, by module and op, with the corresponding memory on the other side.
pub(super) struct Live {
    pub(super) title: String,
    pub(super) remark: String,
    pub(super) lines: Vec<Figures>,
    pub(super) sum: Figures,
}

pub(super) fn section(analysis: &Analysis) -> Option<MemorySection> {
    let places: BTreeSet<MemoryPlace> = Side::BOTH
        .into_iter()
        .flat_map(|side| analysis.diff().memory(side).devices().map(|(place, _)| place))
        .collect();
    if places.is_empty() {
        return None;
    }
    let sets = live_sets(analysis.diff());
    let device = |place| {
        let sets = sets.iter().filter(|set| set.place == place);
        device(analysis, place, sets.map(|set| live(analysis, set)).collect())
    };
    Some(MemorySection {
        changes: changes(analysis),
        devices: places.into_iter().map(device).collect(),
    })
}

/// One sentence per change in memory use, leaks first.
fn changes(analysis: &Analysis) -> Vec<String> {
    let kinds =
        [ChangeKind::Leak, ChangeKind::Memory, ChangeKind::Workspace, ChangeKind::Allocator];
    let of_kind = |kind| {
        let changes = analysis.changes().list().iter().filter(move |change| change.kind == kind);
        changes.map(|change| change.sentence.clone())
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

fn device(analysis: &Analysis, place: MemoryPlace, live: Vec<Live>) -> Device {
    let usages = PerSide::from_fn(|side| analysis.diff().memory(side).device(place));
    let of = |figure: &dyn Fn(&DeviceUsage) -> Option<i64>| {
        PerSide::from_fn(|side| usages[side].and_then(figure))
    };
    let is_absolute = |usage: &DeviceUsage| usage.is_absolute();
    let all = |usage: &DeviceUsage| {
        Some(usage.blocks().iter().map(|block| block.bytes).fold(0, i64::saturating_add))
    };
    let temporary = |usage: &DeviceUsage| {
        let blocks = usage.blocks().iter().filter(|block| block.is_temporary);
        let bytes = blocks.map(|block| block.bytes).fold(0, i64::saturating_add);
        usage.has_addresses().then_some(bytes)
    };
    let counted = |usage: &DeviceUsage| Some(usage.blocks().len() as i64);
    let last = |usage: &DeviceUsage| usage.allocated().last().copied();
    let mut totals = vec![
        figures("peak", "most bytes allocated at once", of(&|usage| Some(usage.peak())), bytes),
        figures(
            "live before the recording",
            "",
            of(&|usage| is_absolute(usage).then(|| usage.before())),
            bytes,
        ),
        figures("allocated at the end", "", of(&last), bytes),
        figures(
            "peak reserved",
            "memory that the allocator reserved on the device",
            of(&DeviceUsage::most_reserved),
            bytes,
        ),
        figures(
            "total allocated",
            "allocation churn: memory that is freed and allocated again counts each time",
            of(&all),
            bytes,
        ),
        figures(
            "temporary part of the total",
            "freed before the outermost op around the allocation ends",
            of(&temporary),
            bytes,
        ),
        figures("allocations", "", of(&counted), |count: i64| count.to_string()),
    ];
    totals.retain(|line| line.cells.iter().any(|cell| !cell.is_empty()));
    let is_relative =
        Side::BOTH.into_iter().any(|side| usages[side].is_some_and(|usage| !is_absolute(usage)));
    Device {
        name: place.to_string(),
        curves: Curves::of(analysis, usages),
        totals,
        live,
        remark: if is_relative {
            "Excludes memory that was allocated before the recording, because its size is unknown."
        } else {
            ""
        },
    }
}

fn live(analysis: &Analysis, set: &LiveSet) -> Live {
    let [here, there] = [set.peak_of, set.peak_of.other()].map(|side| &analysis.names()[side]);
    let remark = match set.call.as_str() {
        "" => format!(
            "{here} reaches its peak outside of matched calls, so {there} is shown at its own peak."
        ),
        call => {
            format!(
                "{here} reaches its peak in {call}. {there} is shown at its maximum within the matched call."
            )
        }
    };
    let mut rows: Vec<&LiveRow> = set.rows.iter().collect();
    let largest = |row: &&LiveRow| {
        let [one, two] = [row.bytes.baseline, row.bytes.candidate].map(Option::unwrap_or_default);
        Reverse(one.abs().max(two.abs()))
    };
    rows.order_by_key(largest);
    let rest = rows.split_off(rows.len().min(LINES));
    let mut lines: Vec<Figures> = rows.into_iter().map(row).collect();
    if !rest.is_empty() {
        let sum = |side: Side| {
            let mut all = rest.iter().map(|row| row.bytes[side]);
            all.try_fold(0i64, |sum, bytes| Some(sum.saturating_add(bytes?)))
        };
        let title = format!("{} more", rest.len());
        lines.push(figures(&title, "", PerSide::from_fn(sum), bytes));
    }
    Live {
        title: format!("Live at the peak of {here}"),
        remark,
        lines,
        sum: figures("sum", "", set.bytes, bytes),
    }
}

fn row(row: &LiveRow) -> Figures {
    let mut notes = Vec::new();
    if !row.module.is_empty() {
        notes.push(format!("in {}", row.module));
    }
    if let MemorySource::Op { name, root, shapes } = &row.source {
        if root != name {
            notes.push(format!("below {root}"));
        }
        notes.extend(shapes.iter().map(|dims| tensors(dims)).find(|dims| !dims.is_empty()));
    }
    figures(row.source.name(), &notes.join(", "), row.bytes, bytes)
}

fn figures(
    title: &str,
    note: &str,
    values: PerSide<Option<i64>>,
    show: impl Fn(i64) -> String,
) -> Figures {
    let difference = values
        .baseline
        .zip(values.candidate)
        .map(|(baseline, candidate)| candidate.saturating_sub(baseline));
    let signed = |difference: i64| match difference {
        0 => "±0".to_owned(),
        1.. => format!("+{}", show(difference)),
        _ => format!("−{}", show(difference.saturating_neg())),
    };
    Figures {
        title: title.to_owned(),
        note: note.to_owned(),
        cells: Side::BOTH.map(|side| values[side].map_or(String::new(), &show)),
        difference: difference.map_or(String::new(), signed),
        style: change(Nanos(difference.unwrap_or(0))),
    }
}
