//! Reads and writes a [`Recording`] as a baseline file, which is small enough for version control.
//!
//! A baseline file is JSON, compressed with gzip. The file contains the calls in the steps of the median run. For all
//! runs, it contains the times, the counts and the evidence (how many events were recorded and how many are missing).
//! The [stored calls](tracetree::tree::StoredTree) can be aligned with the calls of any trace. The file contains
//! neither the names of machines nor the names or metadata of the traces. Paths of Python files are stored without
//! installation folders.

mod seal;
mod steady;

use super::recording::{COUNTS, InSteps, Places, Range, Recording, RunFacts, Setup, TimedPlace};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use steady::Times;
use tracetree::diff::portable_frame;
use tracetree::error::{Error, ErrorKind, Result};
use tracetree::escape::in_json;
use tracetree::program::{Evidence, Program, SideFacts, StepOrigin, StepSpan, Word};
use tracetree::storage::write_file;
use tracetree::trace::{Nanos, ReadOptions, unpack};
use tracetree::tree::{CallId, CallTree, StoredTree};

/// The version of the baseline schema. Baselines are written with this version, and files with other versions are
/// rejected. Files with older schemas have no hash, so changes of such a file cannot be found.
pub const BASELINE_SCHEMA: u32 = 5;

/// Value of the `format` field of every baseline file.
const FORMAT: &str = "tracetree baseline";

/// Maximum size of an unpacked baseline, in bytes.
const MOST: u64 = 256 << 20;

/// The times that every recording contains, depending on whether it has GPU events.
const TIMES: [&[&str]; 2] =
    [&["step_wall", "gpu_time", "idle", "exposed_communication"], &["step_wall", "host_time"]];

/// Maximum time of a step in µs: 100 days.
const LONGEST: f64 = 100.0 * 86_400.0 * 1e6;

/// Within a step, the time of a Python frame that makes no calls is stored only if the frame lasts at least this long.
const LONG: Nanos = Nanos(50_000);

#[derive(Serialize, Deserialize)]
struct Stored {
    format: Cow<'static, str>,
    schema: u32,
    /// The version of tracetree that wrote the file.
    written_by: String,
    runs: Vec<StoredRun>,
    times_us: BTreeMap<String, Vec<f64>>,
    counts: BTreeMap<String, Count>,
    /// Absent if the runs have no memory events.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    memory: BTreeMap<String, Count>,
    ops: BTreeMap<String, Count>,
    varying: BTreeSet<String>,
    places: Vec<StoredPlace>,
    calls: StoredTree,
}

/// The header fields, which are checked before the other fields are parsed.
#[derive(Deserialize)]
struct Head {
    format: Option<String>,
    schema: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct StoredRun {
    steps: u64,
    evidence: Evidence,
}

/// How often something occurs in a step: one number if all steps agree, otherwise the minimum, median and maximum over
/// the steps.
#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(untagged)]
enum Count {
    Always(u64),
    Varies(u64, u64, u64),
}

impl From<Range> for Count {
    fn from(range: Range) -> Count {
        if range.is_variable() {
            Count::Varies(range.least, range.usual, range.most)
        } else {
            Count::Always(range.usual)
        }
    }
}

impl From<Count> for Range {
    fn from(count: Count) -> Range {
        match count {
            Count::Always(count) => Range::always(count),
            Count::Varies(least, usual, most) => Range { least, usual, most },
        }
    }
}

/// A call site. The fields are: 1 + the index of the enclosing call site (0 if there is none), the index of the call
/// kind, the name, the phase, the category, and the time per step of each run in ns.
#[derive(Serialize, Deserialize)]
struct StoredPlace(u32, u8, String, String, String, Vec<u64>);

impl Recording {
    /// Encodes the recording as the bytes of a baseline file.
    pub fn to_baseline(&self) -> Vec<u8> {
        let stored = Stored {
            format: FORMAT.into(),
            schema: BASELINE_SCHEMA,
            written_by: env!("CARGO_PKG_VERSION").to_owned(),
            runs: self.runs.iter().zip(&self.facts.runs).map(stored_run).collect(),
            times_us: self
                .times
                .iter()
                .map(|(name, times)| (name.clone(), rounded(times)))
                .collect(),
            counts: self.counts.iter().map(|(name, &range)| (name.clone(), range.into())).collect(),
            memory: self.memory.iter().map(|(name, &range)| (name.clone(), range.into())).collect(),
            ops: self.ops.iter().map(|(name, &range)| (name.clone(), range.into())).collect(),
            varying: self.varying.clone(),
            places: self.places.list.iter().map(stored_place).collect(),
            calls: calls(&self.tree),
        };
        let text = serde_json::to_string(&stored).expect("plain values can be written as JSON");
        packed(&seal::sealed(&in_json(&text))).expect("writing to memory cannot fail")
    }

    /// Writes a baseline file atomically.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write_baseline(&self, path: impl AsRef<Path>) -> Result<()> {
        write_file(path, &self.to_baseline())
    }

    /// Reads a baseline file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is not a baseline, has an unsupported schema, or is damaged.
    pub fn read_baseline(path: impl AsRef<Path>) -> Result<Recording> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|error| Error::io(path, "open the baseline", error))?;
        let mut bytes = Vec::new();
        let read = file.take(MOST + 1).read_to_end(&mut bytes);
        read.map_err(|error| Error::io(path, "read the baseline", error))?;
        Recording::from_baseline(path, &bytes)
    }

    /// Parses the bytes of a baseline file. Error messages refer to the file as `path`.
    ///
    /// # Errors
    /// Fails in the same cases as [`Recording::read_baseline`].
    pub fn from_baseline(path: impl AsRef<Path>, bytes: &[u8]) -> Result<Recording> {
        let path = path.as_ref();
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(refused(path, "is empty"));
        }
        let options = ReadOptions::default().max_unpacked(MOST);
        let bytes = &*unpack("baseline", bytes, &options)
            .map_err(|error| damaged(path, &error.message()))?;
        let head: Head = serde_json::from_slice(bytes).map_err(|error| damaged(path, &error))?;
        if head.format.as_deref() != Some(FORMAT) {
            let message = "is not a tracetree baseline";
            return Err(Error::new(ErrorKind::Malformed, path, message).remedy(
                "pass a file written by `tracetree baseline record`, or traces with --base",
            ));
        }
        match head.schema {
            Some(BASELINE_SCHEMA) => {}
            Some(older @ 1..BASELINE_SCHEMA) => {
                let message = format!(
                    "uses baseline schema {older}, which has no hash of the content; this version reads \
                     schema {BASELINE_SCHEMA}"
                );
                return Err(refused(path, &message));
            }
            Some(newer) if newer > BASELINE_SCHEMA => {
                let message = format!(
                    "uses baseline schema {newer}; this version reads up to {BASELINE_SCHEMA}"
                );
                return Err(Error::new(ErrorKind::Malformed, path, message)
                    .remedy("use a newer tracetree, or record the baseline again"));
            }
            Some(_) | None => return Err(refused(path, "has no valid baseline schema")),
        }
        if !seal::is_intact(bytes) {
            return Err(refused(
                path,
                "was changed or damaged: its content does not match its hash",
            ));
        }
        let stored: Stored =
            serde_json::from_slice(bytes).map_err(|error| damaged(path, &error))?;
        recording(stored, path).map_err(|message| refused(path, &message))
    }
}

fn refused(path: &Path, message: &str) -> Error {
    Error::new(ErrorKind::Malformed, path, message).remedy(format!(
        "record the baseline again: tracetree baseline record TRACE… -o {}",
        path.display()
    ))
}

fn damaged(path: &Path, error: &dyn std::fmt::Display) -> Error {
    refused(path, &format!("is damaged or not a baseline: {error}"))
}

fn packed(text: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(text)?;
    packer.finish()
}

/// Rounds times in µs to whole nanoseconds.
fn rounded(times: &[f64]) -> Vec<f64> {
    times.iter().map(|time| (time * 1e3).round() / 1e3).collect()
}

fn stored_run((run, evidence): (&RunFacts, &Evidence)) -> StoredRun {
    StoredRun {
        steps: run.steps,
        evidence: Evidence {
            launched_share: (evidence.launched_share * 1e6).round() / 1e6,
            outside_steps: (evidence.outside_steps * 1e6).round() / 1e6,
            ..evidence.clone()
        },
    }
}

fn stored_place(place: &TimedPlace) -> StoredPlace {
    let word = Word::ALL.iter().position(|&word| word == place.word).unwrap_or(0) as u8;
    StoredPlace(
        place.above.map_or(0, |at| at + 1),
        word,
        place.name.clone(),
        place.phase.clone(),
        place.category.clone(),
        place.micros.iter().map(|micros| (micros * 1e3).round() as u64).collect(),
    )
}

/// The calls to store: the calls in all steps, or all calls if no steps were recorded. A step that makes the same calls
/// as the representative step is stored with the times of the representative step.
fn calls(tree: &Arc<CallTree>) -> StoredTree {
    let program = Program::of(tree.clone());
    let steps = program.steps();
    // If the steps were detected from repeated calls, all calls are kept, because detecting the steps again requires
    // all of them.
    let is_repeat = |span: &StepSpan| span.origin == StepOrigin::Repeat;
    let mut is_kept = vec![steps.is_empty() || steps.spans().iter().any(is_repeat); tree.len()];
    // In traces from 2021, each step is also recorded as an operator. This operator is kept.
    let marks = steps.spans().iter().filter_map(|span| tree.call_of(span.event));
    for call in tree.calls().filter(|&call| steps.step(call).is_some()).chain(marks) {
        let path = std::iter::once(call).chain(tree.ancestors(call));
        for above in path {
            if std::mem::replace(&mut is_kept[above.index()], true) {
                break;
            }
        }
    }
    let times = Times::of(&program);
    // Frames outside of steps and the outermost frames in steps are stored with their times, because these times
    // determine which step a frame belongs to. The times of long frames that make no calls are stored as well.
    let step = |call: Option<CallId>| call.and_then(|call| steps.step(call));
    let is_timed = |call: CallId| {
        step(Some(call)).is_none()
            || step(Some(call)) != step(tree.parent(call))
            || tree.size(call) == 1 && tree.duration(call) >= LONG
    };
    tree.stored(
        |call: CallId| is_kept[call.index()],
        is_timed,
        |event| times.of_event(event),
        portable_frame,
    )
}

fn recording(stored: Stored, path: &Path) -> std::result::Result<Recording, String> {
    if stored.runs.is_empty() {
        return Err("contains no runs".to_owned());
    }
    let runs = stored.runs.len();
    check_measures(&stored)?;
    let source = path.display().to_string();
    let tree = stored.calls.restored(&source).map_err(|what| format!("is damaged: {what}"))?;
    if tree.is_empty() {
        return Err("contains no step".to_owned());
    }
    let mut places: Vec<TimedPlace> = Vec::with_capacity(stored.places.len());
    for StoredPlace(above, word, name, phase, category, nanos) in stored.places {
        let word = Word::ALL.get(usize::from(word)).copied();
        let is_whole = above as usize <= places.len() && (nanos.is_empty() || nanos.len() == runs);
        let Some(word) = word.filter(|_| is_whole) else {
            return Err(format!("is damaged: call site {} has no valid parent", places.len()));
        };
        let micros = nanos.into_iter().map(|nanos| nanos as f64 / 1e3).collect();
        places.push(TimedPlace {
            above: above.checked_sub(1),
            word,
            name,
            phase,
            category,
            micros,
        });
    }
    let tree = Arc::new(tree);
    let ranges = |counts: BTreeMap<String, Count>| {
        counts.into_iter().map(|(name, count)| (name, count.into())).collect()
    };
    let run = |run: StoredRun| (RunFacts { name: String::new(), steps: run.steps }, run.evidence);
    let (runs, evidence) = stored.runs.into_iter().map(run).unzip();
    Ok(Recording {
        facts: SideFacts { runs: evidence, ..SideFacts::of(&Program::of(tree.clone())) },
        setup: Setup::of(&tree),
        runs,
        times: stored.times_us,
        counts: ranges(stored.counts),
        memory: ranges(stored.memory),
        remarks: Vec::new(),
        ops: ranges(stored.ops),
        varying: stored.varying,
        in_steps: InSteps::default(),
        places: Places { list: places },
        tree,
    })
}

/// Checks that the file contains every measure, and that no figure is impossible.
fn check_measures(stored: &Stored) -> std::result::Result<(), String> {
    let runs = stored.runs.len();
    if let Some(at) = stored.runs.iter().position(|run| run.steps == 0) {
        return Err(format!("is damaged: run {} has no steps", at + 1));
    }
    let lacks = |names: &&[&str]| names.iter().any(|name| !stored.times_us.contains_key(*name));
    if TIMES.iter().all(lacks) {
        return Err(format!("is damaged: times_us lacks one of {}", TIMES[0].join(", ")));
    }
    let is_possible = |time: &f64| (0.0..=LONGEST).contains(time);
    for (name, times) in &stored.times_us {
        if times.len() != runs {
            return Err(format!("is damaged: {name} does not have one time for each run"));
        }
        if let Some(time) = times.iter().find(|time| !is_possible(time)) {
            return Err(format!("is damaged: {name} is {time:e} µs"));
        }
    }
    if let Some(count) = COUNTS.iter().find(|count| !stored.counts.contains_key(**count)) {
        return Err(format!("is damaged: counts lacks {count}"));
    }
    let ranges = [&stored.counts, &stored.memory, &stored.ops].into_iter().flatten();
    let mut ranges = ranges.map(|(name, &count)| (name, Range::from(count)));
    match ranges.find(|(_, range)| range.least > range.usual || range.usual > range.most) {
        Some((name, _)) => Err(format!("is damaged: the range of {name} is impossible")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Recorder;

    /// A recording as the JSON value of its baseline file.
    fn stored() -> serde_json::Value {
        let trace =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/traces/cnn.pt.trace.json.gz");
        let recorder = Recorder::default();
        let recording = recorder.read(&[trace.into()], &[ReadOptions::default()]).expect("a run");
        let bytes = recording.to_baseline();
        let text = unpack("a", &*bytes, &ReadOptions::default()).expect("gzip");
        assert!(Recording::from_baseline("a.ttb", &text).is_ok());
        serde_json::from_slice(&text).expect("JSON")
    }

    /// The error for a file with this content and a hash that matches it.
    fn refusal(mut stored: serde_json::Value) -> String {
        stored.as_object_mut().expect("an object").remove("hash");
        let sealed = seal::sealed(&stored.to_string());
        Recording::from_baseline("a.ttb", &sealed).expect_err("refused").to_string()
    }

    #[test]
    fn impossible_figures_are_refused_with_the_file_and_the_remedy() {
        let stored = stored();
        let changed = |change: fn(&mut serde_json::Value)| {
            let mut changed = stored.clone();
            change(&mut changed);
            let error = refusal(changed);
            assert!(error.starts_with("a.ttb: ") && error.contains("baseline record"), "{error}");
            error
        };
        let error = changed(|file| file["times_us"] = serde_json::json!({}));
        assert!(error.contains("times_us lacks"), "{error}");
        let error = changed(|file| drop(file.as_object_mut().expect("a map").remove("times_us")));
        assert!(error.contains("times_us"), "{error}");
        let error = changed(|file| file["runs"][0]["steps"] = 0.into());
        assert!(error.contains("run 1 has no steps"), "{error}");
        for time in [1e308, -1.0] {
            let mut changed = stored.clone();
            changed["times_us"]["step_wall"][0] = time.into();
            assert!(refusal(changed).contains("step_wall is"), "{time}");
        }
        let error = changed(|file| file["counts"]["kernels"] = serde_json::json!([3, 2, 1]));
        assert!(error.contains("the range of kernels is impossible"), "{error}");
        let error =
            changed(|file| drop(file["counts"].as_object_mut().expect("a map").remove("waits")));
        assert!(error.contains("counts lacks waits"), "{error}");
    }
}
