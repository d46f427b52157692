//! Reads and writes a [`Recording`] as a baseline file, which is small enough for version control.
//!
//! A baseline file is JSON, compressed with gzip. The file contains the calls in the steps of the median run. For all
//! runs, it contains the times, the counts and the evidence (how many events were recorded and how many are missing).
//! The [stored calls](tracetree::tree::StoredTree) can be aligned with the calls of any trace. The file contains
//! neither the names of machines nor the names or metadata of the traces. Paths of Python files are stored without
//! installation folders.

mod steady;

use super::recording::{Places, Range, Recording, RunFacts, Setup, TimedPlace};
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
use tracetree::program::{Evidence, Footing, Program, StepOrigin, StepSpan, Word};
use tracetree::storage::write_file;
use tracetree::trace::{Nanos, unpack};
use tracetree::tree::{CallId, CallTree, StoredTree};

/// The version of the baseline schema. Baselines are written with this version, and files with other versions are
/// rejected. Files with older schemas do not contain calls, which the alignment needs.
pub const BASELINE_SCHEMA: u32 = 4;

/// Value of the `format` field of every baseline file.
const FORMAT: &str = "tracetree baseline";

/// Maximum size of an unpacked baseline, in bytes.
const MOST: u64 = 256 << 20;

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
            runs: self.runs.iter().map(stored_run).collect(),
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
        packed(in_json(&text).as_bytes()).expect("writing to memory cannot fail")
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
        // Baselines with earlier schemas were plain JSON or compressed with gzip.
        let bytes = &*unpack(bytes, MOST).1.map_err(|error| damaged(path, &error))?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(refused(path, "is empty"));
        }
        if bytes.len() as u64 > MOST {
            return Err(refused(path, "is larger than any baseline"));
        }
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
                    "uses baseline schema {older}, which does not contain the calls of a step; this version \
                     reads schema {BASELINE_SCHEMA}"
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

fn stored_run(run: &RunFacts) -> StoredRun {
    StoredRun {
        steps: run.steps,
        evidence: Evidence {
            launched_share: (run.evidence.launched_share * 1e6).round() / 1e6,
            outside_steps: (run.evidence.outside_steps * 1e6).round() / 1e6,
            ..run.evidence.clone()
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
    let source = path.display().to_string();
    let tree = stored.calls.restored(&source).map_err(|what| format!("is damaged: {what}"))?;
    if tree.is_empty() {
        return Err("contains no step".to_owned());
    }
    let runs = stored.runs.len();
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
    if stored.times_us.values().any(|times| times.len() != runs) {
        return Err("is damaged: the number of times differs from the number of runs".to_owned());
    }
    let tree = Arc::new(tree);
    let setup = Setup::of(&tree, &Footing::of(&Program::of(tree.clone())));
    let ranges = |counts: BTreeMap<String, Count>| {
        counts.into_iter().map(|(name, count)| (name, count.into())).collect()
    };
    let run =
        |run: StoredRun| RunFacts { name: String::new(), steps: run.steps, evidence: run.evidence };
    Ok(Recording {
        setup,
        runs: stored.runs.into_iter().map(run).collect(),
        times: stored.times_us,
        counts: ranges(stored.counts),
        memory: ranges(stored.memory),
        remarks: Vec::new(),
        ops: ranges(stored.ops),
        varying: stored.varying,
        places: Places { list: places },
        tree,
    })
}
