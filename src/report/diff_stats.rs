//! `diff_stats.csv`: one line for each row of the account.

use super::csv_table::{CsvTable, name_list, optional, optional_ratio, uid};
use crate::analysis::{Analysis, Row};
use crate::side::Side;
use crate::trace::Uid;
use std::io::{self, Write};

const COLUMNS: [&str; 30] = [
    "name",
    "input_shape_trace1",
    "input_shape_trace2",
    "concrete_inputs_trace1",
    "concrete_inputs_trace2",
    "input_strides_trace1",
    "input_strides_trace2",
    "input_type_trace1",
    "input_type_trace2",
    "kernel_time_trace1",
    "kernel_time_trace2",
    "kernel_names_trace1",
    "kernel_names_trace2",
    "busy_time_trace1",
    "busy_time_trace2",
    "host_time_trace1",
    "host_time_trace2",
    "host_self_time_trace1",
    "host_self_time_trace2",
    "diff",
    "ratio",
    "presence",
    "category",
    "step",
    "nn_module",
    "lowest_common_ancestor_name",
    "lowest_common_ancestor_id",
    "uid1",
    "uid2",
    "row_id",
];

pub(super) fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let mut table = CsvTable::new(out, &COLUMNS)?;
    for (id, row) in analysis.rows().iter().enumerate() {
        let cells = cells(analysis, row, id);
        table.row(&cells.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    table.finish()
}

fn cells(analysis: &Analysis, row: &Row, id: usize) -> Vec<String> {
    let mut cells = vec![analysis.row_name(row)];
    cells.extend(analysis.argument_texts(row).into_iter().map(str::to_owned));
    cells.extend(Side::BOTH.map(|side| row.time[side].to_string()));
    cells.extend(Side::BOTH.map(|side| name_list(&analysis.event_names(row, side))));
    cells.extend(Side::BOTH.map(|side| row.busy[side].to_string()));
    cells.extend(Side::BOTH.map(|side| row.host_time[side].to_string()));
    cells.extend(Side::BOTH.map(|side| row.host_self_time[side].to_string()));
    cells.push(row.difference().to_string());
    cells.push(optional_ratio(row.ratio()));
    cells.push(row.presence().label().to_owned());
    cells.push(analysis.row_category(row).to_owned());
    cells.push(optional(analysis.step_of(row).map(|step| step.0)));
    cells.push(analysis.module_of(row).to_owned());
    cells.push(analysis.lowest_common_name(row).to_owned());
    cells.push(optional(row.lowest_common.map(|id| id.index())));
    cells.extend(Side::BOTH.map(|side| uid(uid_of(analysis, row, side))));
    cells.push(id.to_string());
    cells
}

/// The uid of the op or launch that a row stands for.
fn uid_of(analysis: &Analysis, row: &Row, side: Side) -> Option<Uid> {
    let tree = analysis.tree(side);
    let event = tree.event(row.calls[side]?)?;
    Some(tree.trace().uid(event))
}
