//! Measures how alignment time grows with the size of the traces, and compares alignment time with reading time.
//!
//! ```text
//! cargo run --release --example align_cost -- [MOST_EVENTS]
//! ```
//!
//! The traces are generated in memory, with up to MOST_EVENTS events. The traces contain training steps with modules,
//! ops, launches and kernels. Each trace is aligned with four candidates: an identical trace (shifted in time), a trace
//! in which every tenth op is renamed, a trace in which all names differ, and a trace in which all names and shapes
//! differ. The names of launches are the same in all traces. All times are CPU times. Each alignment time is the
//! minimum over three rounds; each reading time is the minimum over the four candidates.

#![expect(clippy::print_stdout, reason = "the example prints a table")]

mod measuring;

use measuring::processor_seconds;
use std::error::Error;
use std::fmt::Write;
use std::sync::Arc;
use tracetree::trace::ReadOptions;
use tracetree::{CallTree, PerSide, Side, Trace, TraceDiff};

/// The trace sizes to measure, in events per trace.
const SIZES: [usize; 6] = [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000];

/// For each op in a layer, its name and the number of kernels that it launches.
const OPS: [(&str, usize); 8] = [
    ("aten::layer_norm", 1),
    ("aten::linear", 1),
    ("aten::view", 0),
    ("aten::bmm", 1),
    ("aten::softmax", 2),
    ("aten::dropout", 1),
    ("aten::add", 1),
    ("aten::gelu", 1),
];

const LAYERS: usize = 24;
const ROUNDS: usize = 3;

/// How the candidate differs from the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Nothing,
    EveryTenthOp,
    EveryName,
    Everything,
}

const CHANGES: [Change; 4] =
    [Change::Nothing, Change::EveryTenthOp, Change::EveryName, Change::Everything];

fn main() -> Result<(), Box<dyn Error>> {
    let most = std::env::args().nth(1).map_or(Ok(SIZES[SIZES.len() - 1]), |text| text.parse())?;
    println!(
        "| events of each | read both ms | align, equal ms | 10% changed ms | other names ms | nothing shared ms |"
    );
    println!("|---|---|---|---|---|---|");
    for size in SIZES.into_iter().filter(|&size| size <= most) {
        println!("{}", row(size)?);
    }
    Ok(())
}

fn row(size: usize) -> Result<String, Box<dyn Error>> {
    let baseline = text(size, 0, Change::Nothing);
    let mut cells = Vec::new();
    let mut read = f64::MAX;
    let mut events = 0;
    for change in CHANGES {
        let candidate = text(size, 1, change);
        let texts = PerSide::new(&baseline, &candidate);
        let read_side = |side: Side| {
            Trace::from_reader("made", texts[side].as_bytes(), &ReadOptions::default())
        };
        let start = processor_seconds();
        let traces = PerSide::new(read_side(Side::Baseline)?, read_side(Side::Candidate)?);
        read = read.min(processor_seconds() - start);
        events = traces.baseline.len();
        let trees = traces.map(|trace| Arc::new(CallTree::build(trace)));
        cells.push(seconds_to_align(&trees));
    }
    let milliseconds = |seconds: f64| format!("{:.1}", seconds * 1e3);
    let cells: Vec<String> = cells.into_iter().map(milliseconds).collect();
    Ok(format!("| {events} | {} | {} |", milliseconds(read), cells.join(" | ")))
}

fn seconds_to_align(trees: &PerSide<Arc<CallTree>>) -> f64 {
    let round = || {
        let PerSide { baseline, candidate } = trees.clone();
        let start = processor_seconds();
        drop(std::hint::black_box(TraceDiff::new(baseline, candidate)));
        processor_seconds() - start
    };
    (0..ROUNDS).map(|_| round()).fold(f64::MAX, f64::min)
}

/// A trace with about `size` events.
fn text(size: usize, shift: usize, change: Change) -> String {
    let mut writer = Writer { text: String::from("["), time: shift, events: 0, ops: 0, change };
    let mut step = 0;
    while writer.events < size {
        writer.step(step);
        step += 1;
    }
    writer.text.push(']');
    writer.text
}

/// Writes events in order of start time. An outer event is written before the events that it encloses, so the duration
/// of the outer event must be known in advance.
struct Writer {
    text: String,
    time: usize,
    events: usize,
    ops: usize,
    change: Change,
}

impl Writer {
    fn step(&mut self, step: usize) {
        let length = LAYERS * OPS.len() * 10 + LAYERS;
        self.host("python_function", &format!("train.py({step}): step"), length);
        for layer in 0..LAYERS {
            self.host("python_function", &format!("nn.Module: Layer_{layer}"), OPS.len() * 10);
            for (op, kernels) in OPS {
                self.op(op, kernels);
            }
            self.time += 1;
        }
    }

    fn op(&mut self, op: &str, kernels: usize) {
        self.ops += 1;
        let is_other = match self.change {
            Change::Nothing => false,
            Change::EveryTenthOp => self.ops.is_multiple_of(10),
            Change::EveryName | Change::Everything => true,
        };
        let name = if is_other { format!("other::{}", &op[6..]) } else { op.to_owned() };
        self.host("cpu_op", &name, 9);
        for kernel in 0..kernels {
            self.time += 1;
            let id = self.events;
            self.event("cuda_runtime", "cudaLaunchKernel", 1, 1, id);
            self.event("kernel", &format!("{}_kernel_{kernel}", &name[6..]), 2, 2, id);
        }
        self.time += 10 - kernels;
    }

    fn host(&mut self, category: &str, name: &str, duration: usize) {
        let name = match self.change {
            Change::EveryName | Change::Everything => {
                name.replace("Layer", "Block").replace("train", "learn")
            }
            Change::Nothing | Change::EveryTenthOp => name.to_owned(),
        };
        self.event(category, &name, 1, duration, 0);
    }

    fn event(&mut self, category: &str, name: &str, thread: u32, duration: usize, id: usize) {
        let separator = if self.events > 0 { ",\n" } else { "" };
        let (time, external) = (self.time, self.events);
        let rows = if self.change == Change::Everything { 48 } else { 32 };
        write!(
            self.text,
            "{separator}{{\"ph\": \"X\", \"cat\": \"{category}\", \"name\": \"{name}\", \"pid\": 1, \
             \"tid\": {thread}, \"ts\": {time}, \"dur\": {duration}, \"args\": {{\"External id\": \
             {external}, \"correlation\": {id}, \"Input Dims\": [[{rows}, 512, 768], [768]]}}}}"
        )
        .expect("writing to a string cannot fail");
        self.events += 1;
    }
}
