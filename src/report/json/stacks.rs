//! Writes `stacks.json`: for each op and each kernel, the Python stacks that launched its GPU
//! events.

use crate::analysis::Analysis;
use crate::analysis::kernels::{PythonStack, by_kernel, stacks};
use crate::side::PerSide;
use crate::tree::CallId;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

#[derive(Serialize)]
struct Stacks {
    /// Maximum number of stacks per entry and side.
    limit: usize,
    ops: Vec<Entry>,
    kernels: Vec<KernelEntry>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    trace1: Vec<PythonStack>,
    trace2: Vec<PythonStack>,
}

#[derive(Serialize)]
struct KernelEntry {
    cpu_op: String,
    category: String,
    #[serde(flatten)]
    entry: Entry,
}

pub(in crate::report) fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let limit = analysis.options().stacks;
    let stacks = match limit {
        0 => Stacks { limit, ops: Vec::new(), kernels: Vec::new() },
        _ => Stacks { limit, ops: ops(analysis), kernels: kernels(analysis) },
    };
    super::write_json(&stacks, out)
}

/// One entry per row of `kernels.csv`, in the same order.
fn kernels(analysis: &Analysis) -> Vec<KernelEntry> {
    let rows = by_kernel(analysis.diff(), analysis.ledger(), analysis.categories()).into_iter();
    rows.map(|row| KernelEntry {
        cpu_op: row.op,
        category: analysis.options().categories.name(row.category.id).to_owned(),
        entry: entry(analysis, row.kernel, &row.tally.events),
    })
    .collect()
}

/// One entry per row name, sorted by name.
fn ops(analysis: &Analysis) -> Vec<Entry> {
    let mut events: BTreeMap<String, PerSide<Vec<CallId>>> = BTreeMap::new();
    for row in analysis.rows() {
        let group = events.entry(row.name(analysis.diff())).or_default();
        group.baseline.extend(&row.events.baseline);
        group.candidate.extend(&row.events.candidate);
    }
    events.into_iter().map(|(name, events)| entry(analysis, name, &events)).collect()
}

fn entry(analysis: &Analysis, name: String, events: &PerSide<Vec<CallId>>) -> Entry {
    let stacks = stacks(
        analysis.diff(),
        analysis.ledger(),
        analysis.stacks(),
        analysis.options().stacks,
        events,
    );
    Entry { name, trace1: stacks.baseline, trace2: stacks.candidate }
}
