//! The `memory_peaks` table: live memory at the peak of each side, by module and matched op.

use super::memory::{BYTES, DIFFERENCE, source};
use super::table::{Columns, Table};
use crate::analysis::Analysis;
use crate::analysis::memory::{LiveRow, LiveSet, live_sets, live_sets_of_steps};
use std::sync::Arc;

/// A row of the table, which is given as a live set and the index of one of its rows.
struct Part {
    set: Arc<LiveSet>,
    at: usize,
}

impl Part {
    fn row(&self) -> &LiveRow {
        &self.set.rows[self.at]
    }
}

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::default()
        .text("device", "as in `memory.csv`", |_: &Analysis, part: &Part| {
            part.set.place.to_string().into()
        })
        .text(
            "step",
            "`(whole recording)`, or the position of the step whose peak the row describes, from 0",
            |a, part| {
                let step = part.set.step.map(|step| a.options().displayed_step(step.baseline));
                step.map_or("(whole recording)".to_owned(), |step| step.to_string()).into()
            },
        )
        .word("peak_of", "the side whose peak the row describes: `trace1` or `trace2`", |_, part| {
            part.set.peak_of.label().into()
        })
        .text(
            "peak_call",
            "the innermost matched call in which the peak is reached. For the other side, the row shows the largest \
             live set during the counterpart of this call. Empty if the peak is outside of matched calls; the other \
             side is then shown at its own peak",
            |_, part| part.set.call.as_str().into(),
        )
        .text("module", "the innermost `nn.Module` around the allocations", |_, part| {
            part.row().module.as_str().into()
        })
        .and(source("as in `memory.csv`", |part: &Part| &part.row().source))
        .compared(
            "live_bytes",
            BYTES,
            [
                "live bytes at the shown moment; the rows of a live set add up to `Total Allocated` at this moment",
                DIFFERENCE,
            ],
            |_, part, side| part.row().bytes[side].into(),
        )
        .table(
            (name, "one row per device, side whose peak is shown, module, matched op and shapes: first for the peaks \
                    of the whole recording, then for the peaks of each matched step; most live bytes first"),
            analysis,
            |analysis| {
                let whole = live_sets(analysis.diff()).into_iter();
                Box::new(whole.chain(live_sets_of_steps(analysis.diff(), analysis.compared())).flat_map(|set| {
                    let set = Arc::new(set);
                    (0..set.rows.len()).map(move |at| Part { set: set.clone(), at })
                }))
            },
        )
}
