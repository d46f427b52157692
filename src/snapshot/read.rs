//! Converts the values in a pickle to the blocks of each device, with lifetimes and stacks.

use super::pickle::{MEMORY, Refused, ValueId, Values};
use crate::diff::portable_frame;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::storage;
use crate::trace::{ReadOptions, Unpacked};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A memory snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The file.
    pub source: PathBuf,
    /// The memory of each device, by device number.
    pub devices: BTreeMap<i64, DeviceSnapshot>,
}

/// The memory of a device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[doc(hidden)]
pub struct DeviceSnapshot {
    /// Bytes that the allocator has reserved at the end of the history.
    pub reserved: i64,
    /// Requested bytes of all blocks in use at the end.
    pub live: i64,
    /// Maximum number of bytes in use at one time since the recording of the history began.
    pub peak: i64,
    /// Number of recorded allocations.
    pub allocations: u64,
    /// The memory in use at the peak, by the call stack that allocated it.
    pub at_peak: LiveStacks,
    /// The memory in use at the end, by the call stack that allocated it.
    pub at_end: LiveStacks,
}

/// A call stack: the frames, outermost first, in the form `file.py: function`.
#[doc(hidden)]
pub type Stack = Arc<[Arc<str>]>;

/// Live memory by the call stack that allocated it.
#[doc(hidden)]
pub type LiveStacks = BTreeMap<Stack, StackFigures>;

/// The live memory that one call stack allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[doc(hidden)]
pub struct StackFigures {
    /// Requested bytes.
    pub bytes: i64,
    /// Number of blocks.
    pub blocks: u64,
}

/// A block of memory; `start` and `end` are positions in the recorded events.
struct Block {
    start: Option<usize>,
    end: Option<usize>,
    bytes: i64,
    stack: StackId,
}

/// Position in [`Stacks::all`].
#[derive(Debug, Clone, Copy)]
struct StackId(u32);

/// The stack of blocks that were allocated before the recording of the history began.
const BEFORE: StackId = StackId(0);
/// The stack of blocks whose stack was not recorded.
const NO_STACK: StackId = StackId(1);

/// The different stacks of all blocks. Each frame and each list of frames is converted once.
struct Stacks {
    all: Vec<Stack>,
    known: FxHashMap<Stack, StackId>,
    of_lists: FxHashMap<ValueId, StackId>,
    frames: FxHashMap<ValueId, Frame>,
}

/// A frame, and whether it is a Python frame.
#[derive(Clone)]
struct Frame(Arc<str>, bool);

impl Default for Stacks {
    fn default() -> Self {
        let only = |text: &str| Stack::from([Arc::from(text)]);
        let all = vec![only("(allocated before the recording)"), only("(no stack recorded)")];
        // Each stack has one number, so no stack occurs twice in a comparison.
        Stacks {
            known: all.iter().cloned().zip([BEFORE, NO_STACK]).collect(),
            all,
            of_lists: FxHashMap::default(),
            frames: FxHashMap::default(),
        }
    }
}

impl Snapshot {
    /// Reads a file that `torch.cuda.memory._dump_snapshot` wrote. The file may be compressed with gzip or zstd.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is not a memory snapshot, contains anything but plain values, or exceeds
    /// [`ReadOptions::max_unpacked`].
    #[doc(hidden)]
    pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Snapshot> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let unpacked = Unpacked::new(&name, storage::open(path)?, options)?;
        Snapshot::parse(BufReader::new(unpacked), path)
    }

    /// Reads a decompressed snapshot; `path` is used only in error messages and as [`Snapshot::source`].
    ///
    /// # Errors
    /// Fails if the bytes are not a memory snapshot or contain anything but plain values.
    #[doc(hidden)]
    pub fn parse(input: impl BufRead, path: impl AsRef<Path>) -> Result<Snapshot> {
        let path = path.as_ref();
        let values = Values::read(input).map_err(|refused| refusal(path, refused))?;
        let budget = usize::try_from(values.length).unwrap_or(usize::MAX);
        let mut reader = Reader {
            values: &values,
            budget,
            memory: MEMORY / 2,
            is_full: false,
            stacks: Stacks::default(),
        };
        let devices = reader.devices().map_err(|message| match reader.is_full {
            true => refusal(path, Refused::TooLarge { offset: values.length }),
            false => malformed(path, &message),
        })?;
        Ok(Snapshot { source: path.to_path_buf(), devices })
    }
}

fn malformed(path: &Path, message: &str) -> Error {
    Error::new(ErrorKind::Malformed, path, message)
        .remedy("pass a file that torch.cuda.memory._dump_snapshot(\"memory.pickle\") wrote")
}

fn refusal(path: &Path, refused: Refused) -> Error {
    match refused {
        Refused::Malformed { offset, message } => {
            malformed(path, &message).at(Place { offset, event: None })
        }
        Refused::TooLarge { offset } => {
            let message = format!("the snapshot needs more than {MEMORY} bytes of memory");
            Error::new(ErrorKind::LimitExceeded, path, message)
                .at(Place { offset, event: None })
                .remedy("record fewer events: _record_memory_history(max_entries=100000)")
        }
        Refused::Unread(error) => Error::io(path, "read the snapshot", error),
    }
}

type Parsed<T> = std::result::Result<T, String>;

struct Reader<'v> {
    values: &'v Values,
    /// The number of records that may still be visited. An ordinary file has more bytes than records. Without this
    /// limit, a file that references the same records again and again could keep the reader busy forever.
    budget: usize,
    /// The number of bytes that further frames, stacks and blocks may need. A file that references the same records
    /// again and again can need much more memory than its values.
    memory: usize,
    is_full: bool,
    stacks: Stacks,
}

/// Estimated memory for an event or a block, in bytes.
const PER_BLOCK: usize = 112;
/// Estimated memory for a stack without its frames, in bytes.
const PER_STACK: usize = 64;

/// The blocks in use at the end, by address: the requested bytes and the stack of each block.
type Active = BTreeMap<i64, (i64, StackId)>;

impl Reader<'_> {
    fn devices(&mut self) -> Parsed<BTreeMap<i64, DeviceSnapshot>> {
        let top = self.values.top();
        let segments = self.list(top, "segments")?;
        let mut active: BTreeMap<i64, (i64, Active)> = BTreeMap::new();
        for segment in segments {
            let device = self.int(segment, "device").unwrap_or(0);
            let size =
                self.int(segment, "total_size").ok_or("contains a segment without total_size")?;
            let of_device = active.entry(device).or_default();
            of_device.0 = of_device.0.saturating_add(size);
            let mut address = self.int(segment, "address").unwrap_or(0);
            let blocks = self.list(segment, "blocks")?;
            self.spend(blocks.len() * PER_BLOCK)?;
            for block in blocks {
                let size = self.int(block, "size").ok_or("contains a block without size")?;
                let here = self.int(block, "address").unwrap_or(address);
                address = here.saturating_add(size);
                let state =
                    self.values.get(block, "state").and_then(|state| self.values.text(state));
                if state.is_some_and(|state| state.starts_with("active")) {
                    let requested = self.int(block, "requested_size").unwrap_or(size);
                    let stack = self.stack(block, BEFORE)?;
                    active.entry(device).or_default().1.insert(here, (requested, stack));
                }
            }
        }
        let mut devices = BTreeMap::new();
        let traces = self.list(top, "device_traces")?;
        for (device, trace) in (0i64..).zip(traces) {
            let events = self.items(trace)?;
            let (reserved, in_use) = active.remove(&device).unwrap_or_default();
            let blocks = self.blocks(events, in_use)?;
            if reserved > 0 || !blocks.1.is_empty() {
                devices.insert(device, device_snapshot(reserved, blocks, &self.stacks));
            }
        }
        for (device, (reserved, in_use)) in active {
            let blocks = self.blocks(Vec::new(), in_use)?;
            devices.insert(device, device_snapshot(reserved, blocks, &self.stacks));
        }
        Ok(devices)
    }

    /// Returns the number of a device's events, and the device's blocks with their lifetimes and stacks.
    fn blocks(&mut self, events: Vec<ValueId>, mut in_use: Active) -> Parsed<(usize, Vec<Block>)> {
        let count = events.len();
        self.spend(count * PER_BLOCK)?;
        let mut blocks: Vec<Block> = Vec::new();
        let mut live: FxHashMap<i64, usize> = FxHashMap::default();
        for (at, event) in events.into_iter().enumerate() {
            let action =
                self.values.get(event, "action").and_then(|action| self.values.text(action));
            let action = action.ok_or("contains an event without action")?;
            let is_alloc = action == "alloc";
            if !is_alloc && action != "free_completed" {
                continue;
            }
            let address = self.int(event, "addr").ok_or("contains an event without addr")?;
            let bytes = self.int(event, "size").ok_or("contains an event without size")?;
            let known = live.remove(&address);
            if let Some(known) = known {
                // The block that was live at this address ends here. If the event is an allocation, the event that
                // freed the block was not recorded.
                blocks[known].end = Some(at);
            }
            if is_alloc {
                let stack = self.stack(event, NO_STACK)?;
                live.insert(address, blocks.len());
                blocks.push(Block { start: Some(at), end: None, bytes, stack });
            } else if known.is_none() {
                blocks.push(Block { start: None, end: Some(at), bytes, stack: BEFORE });
            }
        }
        in_use.retain(|address, _| !live.contains_key(address));
        let earlier = in_use.into_values();
        blocks.extend(earlier.map(|(bytes, stack)| Block { start: None, end: None, bytes, stack }));
        Ok((count, blocks))
    }

    /// The stack of a block or event; `instead` if no frames are recorded.
    fn stack(&mut self, record: ValueId, instead: StackId) -> Parsed<StackId> {
        let Some(frames) = self.values.get(record, "frames") else { return Ok(instead) };
        if let Some(known) = self.stacks.of_lists.get(&frames) {
            return Ok(*known);
        }
        let frames_of = self.items(frames)?;
        let shown = frames_of.into_iter().map(|frame| self.frame(frame));
        let shown: Vec<Frame> = shown.collect::<Parsed<_>>()?;
        // C++ frames are only a fallback: next to Python frames, they would only show PyTorch internals.
        let is_python = shown.iter().any(|frame| frame.1);
        let kept = shown.into_iter().rev().filter(|frame| frame.1 == is_python);
        let stack: Stack = kept.map(|frame| frame.0).collect();
        if stack.is_empty() {
            return Ok(instead);
        }
        self.spend(PER_STACK)?;
        let id = match self.stacks.known.get(&stack) {
            Some(known) => *known,
            None => {
                self.spend(stack.len() * size_of::<Arc<str>>())?;
                let id = StackId(self.stacks.all.len() as u32);
                self.stacks.all.push(stack.clone());
                self.stacks.known.insert(stack, id);
                id
            }
        };
        self.stacks.of_lists.insert(frames, id);
        Ok(id)
    }

    fn frame(&mut self, frame: ValueId) -> Parsed<Frame> {
        if let Some(known) = self.stacks.frames.get(&frame) {
            return Ok(known.clone());
        }
        let text = |key| self.values.get(frame, key).and_then(|text| self.values.text(text));
        let (Some(name), Some(file)) = (text("name"), text("filename")) else {
            return Err("contains a frame without name or filename".to_owned());
        };
        self.spend(name.len() + file.len())?;
        let is_python = file.ends_with(".py") || file.starts_with('<');
        let text = if is_python { shown(file, name) } else { name.to_owned() };
        let found = Frame(text.into(), is_python);
        self.stacks.frames.insert(frame, found.clone());
        Ok(found)
    }

    fn spend(&mut self, bytes: usize) -> Parsed<()> {
        let left = self.memory.checked_sub(bytes);
        self.is_full |= left.is_none();
        self.memory = left.ok_or("needs too much memory")?;
        Ok(())
    }

    /// The records in the list that a record stores under a key.
    fn list(&mut self, record: ValueId, key: &str) -> Parsed<Vec<ValueId>> {
        let list = self.values.get(record, key);
        let list =
            list.ok_or_else(|| format!("has no list `{key}`, so it is not a memory snapshot"))?;
        self.items(list)
    }

    fn items(&mut self, list: ValueId) -> Parsed<Vec<ValueId>> {
        let items = self
            .values
            .list(list)
            .ok_or("contains another value where a memory snapshot has a list")?;
        let left = self.budget.checked_sub(items.len());
        self.budget = left.ok_or("references the same records again and again")?;
        Ok(items.to_vec())
    }

    fn int(&self, record: ValueId, key: &str) -> Option<i64> {
        self.values.get(record, key).and_then(|number| self.values.int(number))
    }
}

/// `/x/lib/site-packages/torch/nn/functional.py`, `linear` → `torch/nn/functional.py: linear`. Line numbers are
/// omitted, because they change with every edit of a file.
fn shown(file: &str, name: &str) -> String {
    let frame = format!("{file}(0): {name}");
    let kept = portable_frame(&frame).replacen("(0): ", ": ", 1);
    for folder in ["/site-packages/", "/dist-packages/"] {
        if let Some(rest) = kept.strip_prefix(folder) {
            return rest.to_owned();
        }
    }
    kept
}

/// Finds the peak, and the memory that is live at the peak and at the end.
fn device_snapshot(
    reserved: i64,
    (events, blocks): (usize, Vec<Block>),
    stacks: &Stacks,
) -> DeviceSnapshot {
    let mut steps = vec![0i64; events];
    let mut level = 0i64;
    for block in &blocks {
        match block.start {
            Some(at) => steps[at] = steps[at].saturating_add(block.bytes),
            None => level = level.saturating_add(block.bytes),
        }
        if let Some(at) = block.end {
            steps[at] = steps[at].saturating_sub(block.bytes);
        }
    }
    let (mut peak, mut peak_at) = (level, None);
    for (at, step) in steps.into_iter().enumerate() {
        level = level.saturating_add(step);
        if level > peak {
            (peak, peak_at) = (level, Some(at));
        }
    }
    let is_live_at = |block: &Block, moment: Option<usize>| {
        block.start.is_none_or(|start| moment.is_some_and(|at| start <= at))
            && block.end.is_none_or(|end| moment.is_none_or(|at| end > at))
    };
    let at_end = |block: &Block| block.end.is_none();
    DeviceSnapshot {
        reserved,
        live: level,
        peak,
        allocations: blocks.iter().filter(|block| block.start.is_some()).count() as u64,
        at_peak: by_stack(blocks.iter().filter(|block| is_live_at(block, peak_at)), stacks),
        at_end: by_stack(blocks.iter().filter(|block| at_end(block)), stacks),
    }
}

fn by_stack<'b>(blocks: impl Iterator<Item = &'b Block>, stacks: &Stacks) -> LiveStacks {
    // Blocks are added by number first, because comparing long stacks takes time.
    let mut by_id: BTreeMap<u32, StackFigures> = BTreeMap::new();
    for block in blocks {
        let figures = by_id.entry(block.stack.0).or_default();
        figures.bytes = figures.bytes.saturating_add(block.bytes);
        figures.blocks += 1;
    }
    by_id.into_iter().map(|(id, figures)| (stacks.all[id as usize].clone(), figures)).collect()
}
