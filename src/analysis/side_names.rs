//! Chooses display names for the two sides if the user gave none: the devices if they differ, otherwise the
//! files if they differ, otherwise `baseline` and `candidate`.

use crate::side::{PerSide, Side};
use crate::trace::Trace;
use std::path::Path;

/// Maximum length of a display name; terminal columns would truncate longer names.
const LONGEST: usize = 24;

/// The display names of two traces. Non-empty names in `given` are kept; each empty name is replaced with a
/// chosen name.
pub(super) fn of(traces: PerSide<&Trace>, given: &PerSide<String>) -> PerSide<String> {
    let distinct = |names: PerSide<Option<String>>| match names {
        PerSide { baseline: Some(a), candidate: Some(b) }
            if a != b && [&a, &b].iter().all(|name| is_short(name)) =>
        {
            Some(PerSide::new(a, b))
        }
        PerSide { .. } => None,
    };
    let labels = PerSide::from_fn(|side: Side| side.word().to_owned());
    let found = distinct(traces.map(model))
        .or_else(|| distinct(traces.map(board)))
        .or_else(|| distinct(traces.map(file)))
        .or_else(|| distinct(traces.map(folder)))
        .unwrap_or_else(|| labels.clone());
    let named = |found: &PerSide<String>| {
        PerSide::from_fn(|side| match given[side].as_str() {
            "" => found[side].clone(),
            name => name.to_owned(),
        })
    };
    let names = named(&found);
    if names.baseline == names.candidate { named(&labels) } else { names }
}

fn is_short(name: &str) -> bool {
    (1..=LONGEST).contains(&name.chars().count()) && !name.contains(char::is_control)
}

/// The name that all devices in a trace share; `None` if the devices have different names.
fn device(trace: &Trace) -> Option<String> {
    let mut names = trace.header().devices.iter().map(|device| device.name.trim());
    let first = names.next().filter(|name| !name.is_empty())?;
    names.all(|name| name == first).then(|| first.to_owned())
}

/// The device model: the first word that consists of letters followed by digits, such as `MI300X` for
/// `AMD Instinct MI300X VF`, or `V100` for `Tesla V100-SXM2-16GB`.
fn model(trace: &Trace) -> Option<String> {
    let board = board(trace)?;
    board.split([' ', '-']).next().map(str::to_owned)
}

/// The device model and everything after it, such as `MI300X VF` for `AMD Instinct MI300X VF`.
fn board(trace: &Trace) -> Option<String> {
    let name = device(trace)?;
    let is_model = |word: &str| {
        let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        digits.len() < word.len() && digits.starts_with(|c: char| c.is_ascii_digit())
    };
    let mut words = std::iter::successors(Some(&name[..]), |rest| {
        rest.split_once([' ', '-']).map(|(_, rest)| rest)
    });
    words.find(|rest| is_model(rest)).map(str::to_owned)
}

/// The file name without the extensions of trace files.
fn file(trace: &Trace) -> Option<String> {
    let mut name = Path::new(trace.source()).file_name()?.to_str()?;
    let endings = [".gz", ".zst", ".json", ".pt.trace", ".trace"];
    while let Some(rest) = endings.iter().find_map(|ending| name.strip_suffix(ending)) {
        name = rest;
    }
    Some(name.to_owned())
}

/// The folder that contains the file. Its name distinguishes sides such as `before/trace.json` and
/// `after/trace.json`.
fn folder(trace: &Trace) -> Option<String> {
    Some(Path::new(trace.source()).parent()?.file_name()?.to_str()?.to_owned())
}
