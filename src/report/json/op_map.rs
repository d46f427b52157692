//! Writes `cpu_op_map.json`, a dictionary from row names to the ops and kernels that implement them.

use crate::analysis::Analysis;
use crate::analysis::account::LoweringSide;
use crate::trace::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

#[derive(Serialize)]
struct Entry {
    row_count: u64,
    trace1: SideEntry,
    trace2: SideEntry,
}

#[derive(Serialize)]
struct SideEntry {
    kernel_time_us: f64,
    ops: Vec<Named>,
    kernels: Vec<Named>,
}

#[derive(Serialize)]
struct Named {
    name: String,
    count: u64,
    time_us: f64,
}

pub(in crate::report) fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let map: BTreeMap<&String, Entry> = analysis
        .lowerings()
        .iter()
        .map(|(name, lowering)| {
            let entry = Entry {
                row_count: lowering.row_count,
                trace1: side_entry(&lowering.sides.baseline),
                trace2: side_entry(&lowering.sides.candidate),
            };
            (name, entry)
        })
        .collect();
    super::write_json(&map, out)
}

fn side_entry(side: &LoweringSide) -> SideEntry {
    SideEntry {
        kernel_time_us: side.time.as_micros(),
        ops: named(&side.ops),
        kernels: named(&side.kernels),
    }
}

fn named(counts: &BTreeMap<String, (u64, Nanos)>) -> Vec<Named> {
    counts
        .iter()
        .map(|(name, &(count, time))| Named {
            name: name.clone(),
            count,
            time_us: time.as_micros(),
        })
        .collect()
}
