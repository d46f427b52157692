//! Builds the page's section about two platforms: classes of work, where to look, and what runs each op.

use super::first::Bar;
use crate::analysis::Analysis;
use crate::analysis::kernel_facts::Role;
use crate::analysis::porting::{Kernels, PortingRow};
use crate::report::text::{Narrative, Port, PortItem, Unit, tensors};
use crate::side::{PerSide, Side};
use crate::signed::signed;
use crate::trace::Nanos;
use std::cmp::Reverse;

/// Maximum number of ops in the lowering table.
const OPS: usize = 40;

/// The section.
pub(super) struct PortingSection {
    pub(super) port: Port,
    pub(super) titles: [String; 8],
    /// The cells of each class, and bars for the two times.
    pub(super) classes: Vec<([String; 8], [Bar; 2])>,
    /// For each side with such ops, its name and the ops that are slower there than the hardware explains.
    pub(super) look: Vec<(String, Vec<PortItem>)>,
    pub(super) ops: Vec<OpRow>,
    /// Number of ops that are not listed.
    pub(super) others: usize,
}

/// An op on both platforms.
pub(super) struct OpRow {
    pub(super) name: String,
    pub(super) shape: String,
    pub(super) module: String,
    pub(super) nanos: PerSide<Nanos>,
    pub(super) times: [String; 2],
    pub(super) ratio: String,
    pub(super) software: String,
    /// The kernels of a call on each side.
    pub(super) lanes: [Vec<LanePart>; 2],
    pub(super) hints: Vec<String>,
}

/// The kernels of a call that have the same role.
pub(super) struct LanePart {
    /// `work`, or the role; the style of the part.
    pub(super) style: &'static str,
    pub(super) label: String,
    /// Share of the call's GPU time, in percent.
    pub(super) width: String,
}

/// The section; `None` if the devices are the same.
pub(super) fn section(
    analysis: &Analysis,
    narrative: &Narrative,
    unit: Unit,
) -> Option<PortingSection> {
    let port = narrative.port.clone().filter(|port| !port.classes.is_empty())?;
    let porting = analysis.porting();
    let classes = porting.classes();
    let per_step = |side: Side, time: Nanos| time.0 as f64 / porting.steps[side].max(1) as f64;
    let longest = classes
        .iter()
        .flat_map(|(_, sums)| Side::BOTH.map(|side| per_step(side, sums.time[side])))
        .fold(1.0, f64::max);
    let bars = |name: &str| {
        let sums = classes.iter().find(|(class, _)| *class == name);
        Side::BOTH.map(|side| Bar {
            left: "0".to_owned(),
            width: sums.map_or_else(String::new, |(_, sums)| {
                format!("{:.2}", 100.0 * per_step(side, sums.time[side]) / longest)
            }),
        })
    };
    let shown = port.classes.iter().map(|cells| (cells.clone(), bars(&cells[0]))).collect();
    let look = Side::BOTH
        .into_iter()
        .filter(|&side| !port.slower_on[side].is_empty())
        .map(|side| (narrative.names[side].clone(), port.slower_on[side].clone()))
        .collect();
    let mut rows: Vec<&PortingRow> = porting.rows.iter().collect();
    rows.sort_by_key(|row| Reverse(row.time.baseline.max(row.time.candidate)));
    Some(PortingSection {
        titles: port.titles(&narrative.names),
        classes: shown,
        look,
        others: rows.len().saturating_sub(OPS),
        ops: rows.into_iter().take(OPS).map(|row| op_row(analysis, row, unit)).collect(),
        port,
    })
}

fn op_row(analysis: &Analysis, row: &PortingRow, unit: Unit) -> OpRow {
    let steps = analysis.porting().steps;
    let shape = Side::BOTH.map(|side| tensors(&row.dims[side]));
    let [one, two] = shape;
    OpRow {
        name: row.name.clone(),
        shape: if one.is_empty() { two } else { one },
        module: row.module.clone(),
        nanos: row.time,
        times: Side::BOTH.map(|side| unit.show(row.time[side])),
        ratio: row.ratio(steps).map_or_else(String::new, |ratio| format!("{ratio:.2}×")),
        software: match row.rho {
            Some(_) => signed(row.software.as_micros(), 1),
            None => String::new(),
        },
        lanes: Side::BOTH.map(|side| lane(row, side)),
        hints: row
            .hints
            .iter()
            .map(|hint| hint.words(|side| analysis.names()[side].clone()))
            .collect(),
    }
}

fn lane(row: &PortingRow, side: Side) -> Vec<LanePart> {
    let Kernels { roles, libraries, main, .. } = &row.kernels[side];
    let all: Nanos = roles.values().map(|&(_, time)| time).sum();
    let calls = row.calls[side].max(1);
    let part = |(&role, &(count, time)): (&Role, &(u64, Nanos))| {
        let name = match libraries.as_str() {
            _ if role != Role::Work => role.label(),
            "" => main.as_str(),
            libraries => libraries,
        };
        let count = count.div_ceil(calls);
        LanePart {
            style: if role == Role::Work { "busy" } else { "idle" },
            label: if count == 1 { name.to_owned() } else { format!("{count} × {name}") },
            width: format!("{:.2}", 100.0 * time.0 as f64 / all.0.max(1) as f64),
        }
    };
    roles.iter().map(part).collect()
}
