//! Draws the lag of the candidate as a counter above both traces.

use super::clock::Clock;
use super::lines::Lines;
use crate::analysis::Analysis;
use crate::report::lag::shown;
use crate::side::Side;
use serde_json::json;
use std::io;

/// The process number of the counter; the processes of the traces have other numbers.
const PROCESS: usize = 20_000;

/// Writes a value of the counter at each matched call of one step, at the time of the baseline's call.
pub(super) fn write(analysis: &Analysis, clock: Clock, lines: &mut Lines<'_>) -> io::Result<()> {
    let Some(lag) = shown(analysis) else { return Ok(()) };
    let name = "trace2 behind trace1";
    lines.push(
        &json!({"ph": "M", "name": "process_name", "pid": PROCESS, "args": {"name": name}}),
    )?;
    lines.push(&json!({
        "ph": "M", "name": "process_sort_index", "pid": PROCESS, "args": {"sort_index": -1},
    }))?;
    for point in &lag.points {
        let at = clock.at(Side::Baseline, lag.start.baseline + point.at.baseline);
        lines.push(&json!({
            "ph": "C", "name": name, "pid": PROCESS, "ts": at.as_micros(),
            "args": {"ms": point.behind().as_millis()},
        }))?;
    }
    Ok(())
}
