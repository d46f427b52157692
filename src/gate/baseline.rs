//! [`Digest`] ⇄ a baseline file: one JSON text, small enough to live beside the code.
//!
//! Texts stand once in a list and are named by position; nodes are a list in preorder with their
//! depths. Counts that are the same in every step are one number, others `[least, usual, most]`. A
//! file of more than 100 kB is packed with gzip. No file names, machine names, or metadata of the
//! traces go into it; files of Python functions are named without the folders that they are
//! installed in, and without lines.

use super::digest::{Captured, Digest, Node, NodeKind, Range, RunFacts, Setup, Variant};
use crate::diff::plain_name;
use crate::error::{Error, ErrorKind, Result};
use crate::program::Evidence;
use crate::storage::write_file;
use crate::trace::unpack;
use crate::tree::CallKind;
use flate2::{Compression, GzBuilder};
use indextree::{Arena, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// The schema that is written and read. Older files lack the evidence of their runs, without which nothing can
/// be compared with them.
pub const BASELINE_SCHEMA: u32 = 3;

/// What the first field says of every baseline file.
const FORMAT: &str = "tracetree baseline";

/// Larger files than this are packed, in bytes.
const MOST_PLAIN: usize = 100_000;

/// No baseline unpacks to more than this, in bytes.
const MOST: u64 = 256 << 20;

#[derive(Serialize, Deserialize)]
struct Stored {
    format: String,
    schema: u32,
    /// The version of tracetree that wrote it.
    written_by: String,
    setup: StoredSetup,
    runs: Vec<StoredRun>,
    times_us: BTreeMap<String, Vec<f64>>,
    counts: BTreeMap<String, Count>,
    texts: Vec<String>,
    nodes: Vec<StoredNode>,
}

/// What is looked at before anything else.
#[derive(Deserialize)]
struct Head {
    format: Option<String>,
    schema: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct StoredSetup {
    vendor: String,
    devices: Vec<String>,
    versions: BTreeMap<String, String>,
    world_size: u64,
    has_gpu: bool,
    has_modules: bool,
    has_shapes: bool,
    is_coarse: bool,
    #[serde(skip_serializing_if = "is_bare", default = "bare", with = "Shown")]
    captured: Captured,
}

/// [`Captured`] as files have it.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Captured", rename_all = "lowercase")]
enum Shown {
    No,
    Partly,
    Wholly,
}

fn is_bare(captured: &Captured) -> bool {
    *captured == Captured::No
}

fn bare() -> Captured {
    Captured::No
}

#[derive(Serialize, Deserialize)]
struct StoredRun {
    steps: u64,
    evidence: Evidence,
}

/// A count that never varies, or its least, usual and most.
#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(untagged)]
enum Count {
    Always(u64),
    Varies(u64, u64, u64),
}

impl From<Range> for Count {
    fn from(range: Range) -> Count {
        match range.is_variable() {
            true => Count::Varies(range.least, range.usual, range.most),
            false => Count::Always(range.usual),
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

fn is_one(count: &Count) -> bool {
    matches!(count, Count::Always(1))
}

fn is_none(count: &Count) -> bool {
    matches!(count, Count::Always(0))
}

fn one() -> Count {
    Count::Always(1)
}

fn none() -> Count {
    Count::Always(0)
}

/// A node; texts are positions in the list of texts.
#[derive(Serialize, Deserialize)]
struct StoredNode {
    /// Depth; the step has 0.
    d: usize,
    /// Kind.
    k: u8,
    /// Name.
    n: u32,
    /// Calls in a step.
    #[serde(skip_serializing_if = "is_one", default = "one")]
    c: Count,
    /// Launches.
    #[serde(skip_serializing_if = "is_none", default = "none")]
    l: Count,
    /// Bytes.
    #[serde(skip_serializing_if = "is_none", default = "none")]
    b: Count,
    /// Whether it communicates.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    x: bool,
    /// Phase.
    p: u32,
    /// Category.
    #[serde(skip_serializing_if = "is_empty_text", default)]
    g: u32,
    /// Shapes, types, calls.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    v: Vec<(u32, u32, Count)>,
    /// Functions that call it, calls.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    s: Vec<(u32, Count)>,
    /// Time in a step of each run, in ns.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    t: Vec<u64>,
}

fn is_empty_text(text: &u32) -> bool {
    *text == 0
}

/// Texts by position; 0 is the empty one.
struct Texts {
    list: Vec<String>,
    known: BTreeMap<String, u32>,
}

impl Texts {
    fn new() -> Texts {
        Texts { list: vec![String::new()], known: BTreeMap::from([(String::new(), 0)]) }
    }

    fn at(&mut self, text: &str) -> u32 {
        if let Some(&at) = self.known.get(text) {
            return at;
        }
        let at = self.list.len() as u32;
        self.list.push(text.to_owned());
        self.known.insert(text.to_owned(), at);
        at
    }
}

impl Digest {
    /// The bytes of a baseline file.
    pub fn to_baseline(&self) -> Vec<u8> {
        let mut texts = Texts::new();
        let nodes =
            self.nodes().map(|(depth, node)| stored_node(depth, node, &mut texts)).collect();
        let stored = Stored {
            format: FORMAT.to_owned(),
            schema: BASELINE_SCHEMA,
            written_by: env!("CARGO_PKG_VERSION").to_owned(),
            setup: stored_setup(&self.setup),
            runs: self.runs.iter().map(stored_run).collect(),
            times_us: self
                .times
                .iter()
                .map(|(name, times)| (name.clone(), rounded(times)))
                .collect(),
            counts: self.counts.iter().map(|(name, &range)| (name.clone(), range.into())).collect(),
            texts: texts.list,
            nodes,
        };
        let text = serde_json::to_vec(&stored).expect("plain values are JSON");
        match text.len() > MOST_PLAIN {
            true => packed(&text),
            false => text,
        }
    }

    /// Writes a baseline file, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_baseline(&self, path: impl AsRef<Path>) -> Result<()> {
        write_file(path, &self.to_baseline())
    }

    /// Reads a baseline file.
    ///
    /// # Errors
    /// If it cannot be read, is no baseline, of a newer schema, or damaged.
    pub fn read_baseline(path: impl AsRef<Path>) -> Result<Digest> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|error| Error::io(path, "open the baseline", error))?;
        let (_, bytes) = unpack(file, MOST);
        let bytes = bytes.map_err(|error| Error::io(path, "read the baseline", error))?;
        Digest::from_baseline(path, &bytes)
    }

    /// The digest that the unpacked bytes of a baseline file hold; `path` stands for it in messages.
    ///
    /// # Errors
    /// Like [`Digest::read_baseline`].
    pub fn from_baseline(path: impl AsRef<Path>, bytes: &[u8]) -> Result<Digest> {
        let path = path.as_ref();
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(refused(path, "is empty"));
        }
        let head: Head = serde_json::from_slice(bytes).map_err(|error| damaged(path, &error))?;
        if head.format.as_deref() != Some(FORMAT) {
            let message = "is no baseline of tracetree";
            return Err(Error::new(ErrorKind::Malformed, path, message).remedy(
                "give a file that `tracetree baseline record` wrote, or traces with --base",
            ));
        }
        match head.schema {
            Some(BASELINE_SCHEMA) => {}
            Some(older @ 1..BASELINE_SCHEMA) => {
                let message = format!(
                    "is a baseline of schema {older}, which does not record what its runs measured; this \
                     version reads schema {BASELINE_SCHEMA}"
                );
                return Err(refused(path, &message));
            }
            Some(newer) if newer > BASELINE_SCHEMA => {
                let message = format!(
                    "is a baseline of schema {newer}; this version reads up to {BASELINE_SCHEMA}"
                );
                return Err(Error::new(ErrorKind::Malformed, path, message)
                    .remedy("use a newer tracetree, or record the baseline again"));
            }
            Some(_) | None => return Err(refused(path, "is a baseline of an unknown schema")),
        }
        let stored: Stored =
            serde_json::from_slice(bytes).map_err(|error| damaged(path, &error))?;
        digest(stored).map_err(|message| refused(path, &message))
    }
}

fn refused(path: &Path, message: &str) -> Error {
    Error::new(ErrorKind::Malformed, path, message)
        .remedy("record the baseline again with `tracetree baseline record`")
}

fn damaged(path: &Path, error: &serde_json::Error) -> Error {
    refused(path, &format!("is damaged, or no baseline: {error}"))
}

fn packed(text: &[u8]) -> Vec<u8> {
    // No time and no name in the head: the same digest gives the same bytes.
    let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    packer.write_all(text).expect("memory takes all bytes");
    packer.finish().expect("memory takes all bytes")
}

/// Times in µs to the ns.
fn rounded(times: &[f64]) -> Vec<f64> {
    times.iter().map(|time| (time * 1e3).round() / 1e3).collect()
}

fn stored_setup(setup: &Setup) -> StoredSetup {
    StoredSetup {
        vendor: setup.vendor.clone(),
        devices: setup.devices.clone(),
        versions: setup.versions.iter().cloned().collect(),
        world_size: setup.world_size,
        has_gpu: setup.has_gpu,
        has_modules: setup.has_modules,
        has_shapes: setup.has_shapes,
        is_coarse: setup.is_coarse,
        captured: setup.captured,
    }
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

fn stored_node(depth: usize, node: &Node, texts: &mut Texts) -> StoredNode {
    let mut sites: BTreeMap<String, Range> = BTreeMap::new();
    for (site, calls) in &node.sites {
        let sum = sites.entry(plain_name(CallKind::Frame, site).into_owned()).or_default();
        *sum = sum.plus(*calls);
    }
    StoredNode {
        d: depth,
        k: NodeKind::ALL.iter().position(|&kind| kind == node.kind).unwrap_or(0) as u8,
        n: texts.at(&node.name),
        c: node.calls.into(),
        l: node.launches.into(),
        b: node.bytes.into(),
        x: node.is_collective,
        p: texts.at(&node.phase),
        g: texts.at(&node.category),
        v: node
            .variants
            .iter()
            .map(|variant| {
                (texts.at(&variant.dims), texts.at(&variant.types), variant.calls.into())
            })
            .collect(),
        s: sites.iter().map(|(site, &calls)| (texts.at(site), calls.into())).collect(),
        t: node.micros.iter().map(|micros| (micros * 1e3).round() as u64).collect(),
    }
}

fn digest(stored: Stored) -> std::result::Result<Digest, String> {
    let text = |at: u32| -> std::result::Result<String, String> {
        let found = stored.texts.get(at as usize).cloned();
        found.ok_or_else(|| format!("is damaged: text {at} is missing"))
    };
    if stored.runs.is_empty() {
        return Err("is a baseline without any run".to_owned());
    }
    let mut tree = Arena::new();
    let mut above: Vec<NodeId> = Vec::new();
    for (at, stored_node) in stored.nodes.iter().enumerate() {
        let is_placed = match at {
            0 => stored_node.d == 0,
            _ => (1..=above.len()).contains(&stored_node.d),
        };
        if !is_placed {
            return Err(format!("is damaged: node {at} stands nowhere"));
        }
        let id = tree.new_node(node(stored_node, &text)?);
        above.truncate(stored_node.d);
        if let Some(parent) = above.last() {
            parent.append(id, &mut tree);
        }
        above.push(id);
    }
    let root = *above.first().ok_or("is a baseline of nothing: it has no step")?;
    let setup = stored.setup;
    Ok(Digest {
        setup: Setup {
            vendor: setup.vendor,
            devices: setup.devices,
            versions: setup.versions.into_iter().collect(),
            world_size: setup.world_size,
            has_gpu: setup.has_gpu,
            has_modules: setup.has_modules,
            has_shapes: setup.has_shapes,
            is_coarse: setup.is_coarse,
            captured: setup.captured,
        },
        runs: stored
            .runs
            .into_iter()
            .map(|run| RunFacts { name: String::new(), steps: run.steps, evidence: run.evidence })
            .collect(),
        times: stored.times_us,
        counts: stored.counts.into_iter().map(|(name, count)| (name, count.into())).collect(),
        remarks: Vec::new(),
        tree,
        root,
    })
}

fn node(
    stored: &StoredNode,
    text: &impl Fn(u32) -> std::result::Result<String, String>,
) -> std::result::Result<Node, String> {
    let kind = NodeKind::ALL.get(usize::from(stored.k)).copied();
    let mut node = Node::new(kind.ok_or("is damaged: a node of no known kind")?, text(stored.n)?);
    node.calls = stored.c.into();
    node.launches = stored.l.into();
    node.bytes = stored.b.into();
    node.is_collective = stored.x;
    node.phase = text(stored.p)?;
    node.category = text(stored.g)?;
    for &(dims, types, calls) in &stored.v {
        let (dims, types) = (text(dims)?, text(types)?);
        node.variants.push(Variant { dims, types, calls: calls.into() });
    }
    for &(site, calls) in &stored.s {
        node.sites.push((text(site)?, calls.into()));
    }
    node.micros = stored.t.iter().map(|&nanos| nanos as f64 / 1e3).collect();
    Ok(node)
}
