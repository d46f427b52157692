//! Writes one recorded call as a Python script that repeats the call, times it, and prints the result below what both
//! traces recorded. The script needs only PyTorch.
//!
//! ```text
//! call ─choose─▶ call that a script can repeat ─┬─ arguments of each side ──▶ literals ─┐
//!                                               └─ recorded times, kernels ─▶ literals ─┴─ + template.py ─▶ script
//! ```
//! tracetree has no table of operators. The script finds the overload of the op in the PyTorch that runs it.
//!
//! Traces are untrusted. Their text reaches the script only through the functions of `grammar`: names of ops, element
//! types, numbers and ASCII string literals. Paths of files and arguments of commands are never written, so a script
//! can be shared.

// Only `tracetree::storage` writes files.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod arguments;
mod choose;
mod grammar;
mod neighbor;
mod options;
mod recorded;
mod script;
mod share;

pub use choose::Reach;
pub use options::{ElementType, Module, Printed, ScriptOptions, Setting};
pub use share::{Share, replayable_share};

use arguments::Refused;
use script::Script;
use tracetree::analysis::Analysis;
use tracetree::diff::TraceDiff;
use tracetree::tree::CallId;
use tracetree::{Error, ErrorKind, PerSide, Result, Side};

/// The script that repeats a call, given on one side or on both. If a script cannot repeat the call itself, or if the
/// call works only on the GPUs of one vendor, the script repeats the nearest call around it for which this is not the
/// case; see [`Reach`]. If both calls are given and a script can repeat both, it repeats the baseline's call; it always
/// contains what was recorded about the counterpart.
///
/// # Errors
/// Fails if no call is given, or if the trace does not contain the arguments of the call and of all calls around it.
pub fn script(
    diff: &TraceDiff,
    calls: PerSide<Option<CallId>>,
    options: &ScriptOptions,
) -> Result<String> {
    let mut first_error = None;
    for side in Side::BOTH {
        let Some(call) = calls[side] else { continue };
        match Script::of(diff, side, call, options) {
            Ok(script) => return Ok(script.to_string()),
            Err(refused) => {
                first_error = first_error.or_else(|| Some(error(diff, side, call, &refused)));
            }
        }
    }
    Err(first_error.unwrap_or_else(|| {
        Error::usage(
            "repro",
            "the row has no call: the launches of its GPU events are not in the trace",
        )
        .remedy("choose a row that has uid1 or uid2 in diff_stats.csv")
    }))
}

/// The calls with the largest attributed difference among the call sites of a line of the bill, given by its number
/// `bill_line`. Rows without a call are ignored.
///
/// # Errors
/// Fails if there is no such line, if the line is not a change, or if no row belongs to it.
pub fn calls_of_line(analysis: &Analysis, number: usize) -> Result<PerSide<Option<CallId>>> {
    const FLAG: &str = "--bill-line";
    let lines = analysis.bill().lines();
    let line = lines.get(number).ok_or_else(|| {
        let message = format!("there is no line {number}; the bill has {} lines", lines.len());
        Error::usage(FLAG, message).remedy("see bill_line in bill.csv, from 0")
    })?;
    let by_uid = "choose a call by its uid: --baseline or --candidate";
    let change = line.change.ok_or_else(|| {
        let kind = line.kind.label();
        Error::usage(FLAG, format!("line {number} ({kind}) is about no single call")).remedy(by_uid)
    })?;
    let rows = analysis.rows();
    let has_call = |row: &usize| Side::BOTH.iter().any(|&side| rows[*row].calls[side].is_some());
    let largest = |row: &usize| (rows[*row].difference().abs(), std::cmp::Reverse(*row));
    let of_change = analysis.changes().list()[change].rows.iter().copied();
    let row = of_change.filter(has_call).max_by_key(largest);
    row.map(|row| rows[row].calls).ok_or_else(|| {
        Error::usage(FLAG, format!("no measured call belongs to line {number}")).remedy(by_uid)
    })
}

fn error(diff: &TraceDiff, side: Side, call: CallId, refused: &Refused) -> Error {
    let tree = diff.tree(side);
    let name = tracetree::report::one_line(tree.name(call)).into_owned();
    let event = tree.event(call).map(|event| tree.trace().uid_label(event)).unwrap_or_default();
    let message = format!(
        "event {event} of the {}, {name}, cannot be repeated: {}",
        side.word(),
        refused.reason
    );
    Error::new(ErrorKind::Usage, tree.trace().source(), message).remedy(refused.remedy)
}
