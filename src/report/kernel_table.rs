//! `diff_stats_kernels.csv`: one line for each accounted event of both traces.

use super::csv_table::{CsvTable, name_list, optional, uid};
use crate::analysis::{Analysis, Row};
use crate::side::Side;
use crate::trace::Nanos;
use crate::tree::CallId;
use std::io::{self, Write};

const COLUMNS: [&str; 15] = [
    "name",
    "cpu_op_name",
    "cpu_op_uid",
    "source",
    "Input Dims",
    "Input Strides",
    "Input type",
    "Concrete Inputs",
    "kernel_time",
    "busy_time",
    "lowest_common_ancestor_name",
    "lowest_common_ancestor_id",
    "gpu_op_uid",
    "nn_module_stack",
    "nn_module_parent",
];

pub(super) fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let mut table = CsvTable::new(out, &COLUMNS)?;
    for row in analysis.rows() {
        for side in Side::BOTH {
            for (&event, busy) in row.events[side].iter().zip(analysis.busy_shares(row, side)) {
                let cells = cells(analysis, row, side, event, busy);
                table.row(&cells.iter().map(String::as_str).collect::<Vec<_>>())?;
            }
        }
    }
    table.finish()
}

fn cells(analysis: &Analysis, row: &Row, side: Side, event: CallId, busy: Nanos) -> Vec<String> {
    let tree = analysis.tree(side);
    let trace = tree.trace();
    let op = analysis.op_of(side, event);
    let arguments = op.and_then(|op| tree.arguments(op));
    let text = |pick: fn(&crate::trace::Arguments) -> crate::trace::TextId| {
        arguments.map_or_else(String::new, |arguments| trace.text(pick(arguments)).to_owned())
    };
    let uid_of = |call: Option<CallId>| {
        uid(call.and_then(|call| tree.event(call)).map(|event| trace.uid(event)))
    };
    let modules: Vec<&str> =
        tree.module_stack(event).iter().map(|&module| tree.name(module)).collect();
    vec![
        tree.name(event).to_owned(),
        op.map_or_else(String::new, |op| tree.name(op).to_owned()),
        uid_of(op),
        side.label().to_owned(),
        text(|arguments| arguments.dims),
        text(|arguments| arguments.strides),
        text(|arguments| arguments.types),
        text(|arguments| arguments.concrete),
        analysis.time_of(side, event).to_string(),
        busy.to_string(),
        analysis.lowest_common_name(row).to_owned(),
        optional(row.lowest_common.map(|id| id.index())),
        uid_of(Some(event)),
        if modules.is_empty() { String::new() } else { name_list(&modules) },
        modules.last().map_or_else(String::new, |&module| module.to_owned()),
    ]
}
