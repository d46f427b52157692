//! Renames calls in a recording, as if the ops, the platform or the run were different.

use super::{Forest, Kind, Recording, SplitMix, ops_of, portion};
use crate::support::recording::{Event, Rooms};
use serde_json::json;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// In a second run, pauses are inserted between events; a pause takes at most this time, in ns.
const LONGEST_PAUSE: usize = 9_000;

/// Renames `percent`% of the ops.
pub(super) fn ops(recording: &Recording, percent: f64, random: &mut SplitMix) -> Option<Recording> {
    let all = ops_of(recording, &Forest::of(&recording.events));
    let mut changed = recording.clone();
    for at in random.sample(&all, portion(all.len(), percent)) {
        let event = &mut changed.events[at];
        let last = event.name.rsplit("::").next().unwrap_or_default();
        event.name = format!("renamed::{last}_v2").into();
    }
    (!all.is_empty()).then_some(changed)
}

/// Gives kernels the names of a different library, and runtime calls the names of a different
/// platform.
pub(super) fn platform(recording: &Recording) -> Option<Recording> {
    let mut changed = recording.clone();
    for event in &mut changed.events {
        event.name = match event.kind {
            Kind::Runtime => other_api(&event.name).into(),
            Kind::Gpu if !event.name.starts_with("Mem") => other_kernel(&event.name).into(),
            Kind::Gpu | Kind::Op | Kind::Frame | Kind::Annotation | Kind::Other => continue,
        };
        // One argument of `hipLaunchKernel` is the old kernel name, so this argument is removed.
        Arc::make_mut(&mut event.args).remove("kernel");
    }
    recording.has_gpu().then_some(changed)
}

/// Simulates a second run of the same program: addresses, process ids and correlation ids are different, and pauses are
/// inserted.
pub(super) fn other_run(recording: &Recording, random: &mut SplitMix) -> Recording {
    let mut changed = recording.clone();
    let calls = recording.events.iter().filter(|event| event.kind.is_host());
    let paused =
        calls.filter(|_| random.below(8) == 0).map(|event| event.start).collect::<Vec<_>>();
    let pauses = paused.into_iter().map(|at| (at, 1 + random.below(LONGEST_PAUSE) as i64));
    changed.make_room(&Rooms::new(pauses.collect()));
    let shift = 1 + random.below(1_000) as i64;
    for event in &mut changed.events {
        event.name = with_other_addresses(&event.name, shift as u64 * 0x11_1000).into();
        give_other_ids(event, shift);
    }
    changed
}

fn give_other_ids(event: &mut Event, shift: i64) {
    if let Some(id) = event.correlation {
        *event = event.clone().correlated(id + shift);
    }
    if let Some(id) = event.args.get("External id").and_then(|id| id.as_i64()) {
        Arc::make_mut(&mut event.args).insert("External id".to_owned(), json!(id + shift));
    }
    if event.kind != Kind::Gpu {
        event.lane = (other_number(&event.lane.0, shift), other_number(&event.lane.1, shift));
    }
}

/// Shifts a process or thread id. Ids that are strings stay the same, and so do ids below 100, such as GPU ids.
fn other_number(id: &Arc<str>, shift: i64) -> Arc<str> {
    match id.parse::<i64>() {
        Ok(number) if number > 99 => (number + shift).to_string().into(),
        Ok(_) | Err(_) => id.clone(),
    }
}

/// Shifts the addresses in a name. The `0x` in a tile size such as `256x160x64` does not start an address.
fn with_other_addresses(name: &str, shift: u64) -> String {
    let mut parts = name.split("0x");
    let mut renamed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_address = !renamed.ends_with(|c: char| c.is_ascii_alphanumeric());
        let rest = part.trim_start_matches(|c: char| c.is_ascii_hexdigit());
        let digits = &part[..part.len() - rest.len()];
        match u64::from_str_radix(digits, 16).ok().filter(|_| is_address) {
            Some(address) => renamed += &format!("0x{:x}{rest}", address.wrapping_add(shift)),
            None => renamed += &format!("0x{part}"),
        }
    }
    renamed
}

/// The name of the runtime API that corresponds to the given API on a different platform. Some names are listed
/// individually; in all other names, only the prefix is replaced.
fn other_api(name: &str) -> String {
    match name {
        "hipExtModuleLaunchKernel" => return "cuLaunchKernel".to_owned(),
        "hipModuleLaunchKernel" => return "cuLaunchKernelEx".to_owned(),
        "hipMemcpyWithStream" => return "cudaMemcpyAsync".to_owned(),
        "cuLaunchKernel" | "cudaLaunchKernelExC" => return "hipExtModuleLaunchKernel".to_owned(),
        "cuLaunchKernelEx" => return "hipModuleLaunchKernel".to_owned(),
        _ => {}
    }
    match (name.strip_prefix("hip"), name.strip_prefix("cuda")) {
        (Some(rest), _) => format!("cuda{rest}"),
        (_, Some(rest)) => format!("hip{rest}"),
        (None, None) => name.to_owned(),
    }
}

/// Generates a new name for a kernel. The new name is derived from a hash of `name`. Kernels with the same name
/// therefore get the same new name. The new name does not resemble the old name.
pub(super) fn other_kernel(name: &str) -> String {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    format!("sm90_xmma_{:016x}_kernel", hasher.finish())
}
