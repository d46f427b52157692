//! Measures how alignment time grows on difficult inputs. The time should double when the input size doubles.
//!
//! ```text
//! cargo run --release --example align_shapes -- [TIMES] [SHAPE]
//! ```
//!
//! The traces are generated in memory. Each input shape is measured at three sizes: the smallest meaningful size
//! multiplied by `TIMES` (default 1), and then two and four times that size. `SHAPE` restricts the measurement to input
//! shapes whose names contain this string. All times are CPU times.
//!
//! The input shapes are: one long list of siblings, all renamed; one long list in a different order; one long list with
//! few distinct names, whose tensor shapes differ between the traces; many threads in a different order; many threads
//! on one side and a single thread on the other; and many steps with many layers.

#![expect(clippy::print_stdout, reason = "the example prints a table")]

mod measuring;

use measuring::processor_seconds;
use std::error::Error;
use std::fmt::Write;
use std::sync::Arc;
use tracetree::trace::ReadOptions;
use tracetree::{CallTree, PerSide, Side, Trace, TraceDiff};

/// An input shape: its name, its smallest size, and a function that generates both traces for a given size.
type Shape = (&'static str, usize, fn(usize) -> PerSide<String>);

const SHAPES: [Shape; 6] = [
    ("flat siblings, all renamed", 12_500, renamed),
    ("flat siblings, different order", 12_500, shuffled),
    ("flat siblings, different shapes", 12_500, reshaped),
    ("threads, different order", 1_250, threads),
    ("many threads against one", 250, threads_against_one),
    ("steps of 100 layers", 125, steps),
];

fn main() -> Result<(), Box<dyn Error>> {
    let times: usize = std::env::args().nth(1).map_or(Ok(1), |text| text.parse())?;
    let only = std::env::args().nth(2).unwrap_or_default();
    println!(
        "| shape | size | align ms | twice | align ms | four times | align ms | events of each |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (name, smallest, shape) in SHAPES.into_iter().filter(|shape| shape.0.contains(&only)) {
        let mut row = format!("| {name} |");
        let mut most = 0;
        for size in [1, 2, 4].map(|factor| factor * times * smallest) {
            let (events, seconds) = aligned(&shape(size))?;
            most = events;
            write!(row, " {size} | {:.0} |", seconds * 1e3)?;
        }
        println!("{row} {most} |");
    }
    Ok(())
}

/// The number of baseline events, and the CPU time that the alignment takes, in seconds.
fn aligned(texts: &PerSide<String>) -> Result<(usize, f64), Box<dyn Error>> {
    let read =
        |side: Side| Trace::from_reader("made", texts[side].as_bytes(), &ReadOptions::default());
    let traces = PerSide::new(read(Side::Baseline)?, read(Side::Candidate)?);
    let events = traces.baseline.len();
    let trees = traces.map(|trace| Arc::new(CallTree::build(trace)));
    let start = processor_seconds();
    drop(std::hint::black_box(TraceDiff::new(trees.baseline, trees.candidate)));
    Ok((events, processor_seconds() - start))
}

/// Writes the events of a trace, one after another.
struct Writer {
    text: String,
    time: usize,
    thread: usize,
    events: usize,
    rows: usize,
}

impl Writer {
    fn new() -> Self {
        Writer { text: String::from("["), time: 0, thread: 1, events: 0, rows: 4 }
    }

    fn end(mut self) -> String {
        self.text.push(']');
        self.text
    }

    fn event(
        &mut self,
        category: &str,
        name: &str,
        (start, length): (usize, usize),
        thread: usize,
    ) {
        let separator = if self.events > 0 { "," } else { "" };
        let id = self.events - usize::from(category == "kernel");
        writeln!(
            self.text,
            "{separator}{{\"ph\":\"X\",\"cat\":\"{category}\",\"name\":\"{name}\",\"pid\":1,\"tid\":{thread},\
             \"ts\":{start},\"dur\":{length},\"args\":{{\"correlation\":{id},\"Input Dims\":[[{rows},4]]}}}}",
            rows = self.rows
        )
        .expect("writing to a string cannot fail");
        self.events += 1;
    }

    /// Writes an op with a launch and its kernel.
    fn op(&mut self, name: &str) {
        self.event("cpu_op", name, (self.time, 6), self.thread);
        self.event("cuda_runtime", "cudaLaunchKernel", (self.time + 1, 2), self.thread);
        self.event("kernel", "k_add", (self.time + 4, 1), 0);
        self.time += 10;
    }
}

fn flat(names: impl Iterator<Item = String>) -> String {
    let mut writer = Writer::new();
    names.for_each(|name| writer.op(&name));
    writer.end()
}

fn renamed(size: usize) -> PerSide<String> {
    PerSide::new(
        flat((0..size).map(|at| format!("op::n{at}"))),
        flat((0..size).map(|at| format!("other::m{at}"))),
    )
}

fn shuffled(size: usize) -> PerSide<String> {
    // The prime 7,919 divides none of the sizes, so `other` is a permutation of the numbers below `size`.
    let other = move |at: usize| (at * 7_919 + 13) % size;
    PerSide::new(
        flat((0..size).map(|at| format!("op::n{at}"))),
        flat((0..size).map(move |at| format!("op::n{}", other(at)))),
    )
}

fn reshaped(size: usize) -> PerSide<String> {
    let run = |first: usize| {
        let mut writer = Writer::new();
        for at in 0..size {
            writer.rows = first + (at * 7_919) % size;
            writer.op(&format!("op::n{}", at % 11));
        }
        writer.end()
    };
    PerSide::new(run(1), run(size + 1))
}

fn on_threads(numbers: impl Iterator<Item = usize>) -> String {
    let mut writer = Writer::new();
    for number in numbers {
        writer.thread += 1;
        for part in 0..8 {
            writer.op(&format!("work{number}::part{part}"));
        }
    }
    writer.end()
}

fn threads(size: usize) -> PerSide<String> {
    PerSide::new(on_threads(0..size), on_threads((0..size).rev()))
}

fn threads_against_one(size: usize) -> PerSide<String> {
    let names = (0..size).flat_map(|number| {
        (0..100).map(move |part| format!("work{}::part{}", number % 7, part % 8))
    });
    PerSide::new(on_threads((0..size).map(|number| number % 7)), flat(names))
}

fn steps(size: usize) -> PerSide<String> {
    let run = |steps: std::ops::Range<usize>| {
        let mut writer = Writer::new();
        for step in steps {
            let name = format!("ProfilerStep#{step}");
            writer.event("user_annotation", &name, (writer.time, 100 * 10), 1);
            for layer in 0..100 {
                let name = format!("nn.Module: Layer_{layer}");
                writer.event("python_function", &name, (writer.time, 9), 1);
                writer.op("aten::linear");
            }
        }
        writer.end()
    };
    PerSide::new(run(0..size), run(3..size + 3))
}
