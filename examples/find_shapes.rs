//! Looks for traces whose comparison takes more than twice as long when they become twice as long.
//!
//! ```text
//! cargo run --release --example find_shapes -- [COUNT] [SEED] [SIZE]
//! ```
//!
//! A shape is drawn at random from a small grammar: how calls nest, on how many threads, of which kinds and names, what
//! they launch, and what is different about the candidate. `COUNT` (50) shapes are compared with `SIZE` (4,000) calls and
//! with twice as many, report included. One that takes more than 2.6 times as long is measured again with four times as
//! many, and listed if it did so both times. Times are those of the processor.

#![expect(clippy::print_stdout, reason = "the list is for the terminal")]

mod measuring;

use measuring::processor_seconds;
use std::error::Error;
use std::fmt::Write;
use tracetree::report::Report;
use tracetree::trace::ReadOptions;
use tracetree::{Analysis, CallTree, PerSide, Side, Trace, TraceDiff};

/// More than that when a trace becomes twice as long is not linear; sorting and growing take some of it.
const TOO_MUCH: f64 = 2.6;

/// Less than that, in seconds, tells nothing.
const LEAST: f64 = 0.05;

#[derive(Debug, Clone, Copy)]
enum Nesting {
    Flat,
    Chain,
    Equal,
    Endless,
    Teeth,
    BackFromDeep,
}

#[derive(Debug, Clone, Copy)]
enum Threads {
    One,
    Eight,
    OneForEachCall,
}

#[derive(Debug, Clone, Copy)]
enum Kinds {
    Ops,
    Modules,
    Mixed,
    Annotated,
}

#[derive(Debug, Clone, Copy)]
enum Names {
    One,
    Few,
    Hundred,
    Distinct,
}

#[derive(Debug, Clone, Copy)]
enum Launches {
    None,
    Kernel,
    OneGraph,
    Backward,
}

#[derive(Debug, Clone, Copy)]
enum Candidate {
    Equal,
    Renamed,
    Shifted,
    HalfAsLong,
    Reversed,
}

#[derive(Debug, Clone, Copy)]
struct Shape {
    nesting: Nesting,
    threads: Threads,
    kinds: Kinds,
    names: Names,
    launches: Launches,
    candidate: Candidate,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let mut next = |otherwise| numbers.next().unwrap_or(Ok(otherwise));
    let (count, mut seed, size) = (next(50)?, next(1)? as u64, next(4_000)?);
    let mut found = 0;
    for _ in 0..count {
        let shape = Shape::drawn(&mut seed);
        let mut seconds = [compared(shape, size)?, compared(shape, 2 * size)?];
        if seconds[1] < LEAST || seconds[1] < TOO_MUCH * seconds[0] {
            continue;
        }
        seconds = [seconds[1].min(compared(shape, 2 * size)?), compared(shape, 4 * size)?];
        if seconds[1] > TOO_MUCH * seconds[0] {
            found += 1;
            println!("{shape:?}: {:.2} s, twice as long {:.2} s", seconds[0], seconds[1]);
        }
    }
    println!("{found} of {count} shapes take more than {TOO_MUCH} times as long when they double");
    Ok(())
}

/// Seconds that a comparison of two traces of a shape takes, from their text to the report.
fn compared(shape: Shape, size: usize) -> Result<f64, Box<dyn Error>> {
    let texts = PerSide::from_fn(|side| shape.text(side, size));
    let folder = tempfile::tempdir()?;
    let start = processor_seconds();
    let read = |side: Side| {
        let text = texts[side].as_bytes();
        Trace::from_reader("made", text, &ReadOptions::default()).map(CallTree::build)
    };
    let diff = TraceDiff::new(read(Side::Baseline)?, read(Side::Candidate)?);
    Report::new(Analysis::new(diff)).write(folder.path().join("report"))?;
    Ok(processor_seconds() - start)
}

/// One of the values, by SplitMix64.
fn one_of<T: Copy>(seed: &mut u64, values: &[T]) -> T {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *seed;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    values[((mixed ^ (mixed >> 31)) % values.len() as u64) as usize]
}

impl Shape {
    fn drawn(seed: &mut u64) -> Shape {
        use Nesting::{BackFromDeep, Chain, Endless, Flat, Teeth};
        use Threads::{Eight, One, OneForEachCall};
        Shape {
            nesting: one_of(seed, &[Flat, Chain, Nesting::Equal, Endless, Teeth, BackFromDeep]),
            threads: one_of(seed, &[One, One, Eight, OneForEachCall]),
            kinds: one_of(seed, &[Kinds::Ops, Kinds::Modules, Kinds::Mixed, Kinds::Annotated]),
            names: one_of(seed, &[Names::One, Names::Few, Names::Hundred, Names::Distinct]),
            launches: one_of(
                seed,
                &[Launches::None, Launches::Kernel, Launches::OneGraph, Launches::Backward],
            ),
            candidate: one_of(
                seed,
                &[
                    Candidate::Equal,
                    Candidate::Renamed,
                    Candidate::Shifted,
                    Candidate::HalfAsLong,
                    Candidate::Reversed,
                ],
            ),
        }
    }

    fn text(self, side: Side, size: usize) -> String {
        let is_changed = side == Side::Candidate;
        let size = match self.candidate {
            Candidate::HalfAsLong if is_changed => size / 2,
            _ => size,
        };
        let mut text = String::from("[");
        for at in 0..size {
            self.call(&mut text, (at, size), is_changed);
        }
        text.truncate(text.trim_end_matches([',', '\n']).len());
        text + "]"
    }

    /// A call and what it launches.
    fn call(self, text: &mut String, (at, size): (usize, usize), is_changed: bool) {
        let (start, length, inside) = self.span(at, size);
        let thread = match self.threads {
            Threads::One => 1,
            Threads::Eight => at % 8,
            Threads::OneForEachCall => at,
        };
        let named = match self.candidate {
            Candidate::Reversed if is_changed => size - at,
            Candidate::Shifted if is_changed => at + 1 + at / 7,
            _ => at,
        };
        let number = match self.names {
            Names::One => 0,
            Names::Few => named % 5,
            Names::Hundred => named % 100,
            Names::Distinct => named,
        };
        let word = match self.candidate {
            Candidate::Renamed if is_changed => "other",
            _ => "op",
        };
        let (category, name) = match (self.kinds, at % 3) {
            (Kinds::Modules, _) | (Kinds::Mixed, 1) => {
                ("python_function", format!("nn.Module: {word}_{number}"))
            }
            (Kinds::Mixed, 2) => ("python_function", format!("{word}.py({number}): run")),
            (Kinds::Annotated, 1) => ("user_annotation", format!("ProfilerStep#{at}")),
            _ => ("cpu_op", format!("{word}::n{number}")),
        };
        let backward = matches!(self.launches, Launches::Backward) && at >= size / 2;
        let (sequence, forward) = if backward { (size - 1 - at, at + 1) } else { (at, 0) };
        let numbers = format!("\"Sequence number\":{sequence},\"Fwd thread id\":{forward}");
        let args = if matches!(self.launches, Launches::Backward) { &numbers } else { "" };
        event(text, category, &name, (start, length, thread + 10), args);
        let correlation = match self.launches {
            Launches::None | Launches::Backward => return,
            Launches::Kernel => at + 1,
            Launches::OneGraph => 1,
        };
        let args = format!("\"correlation\":{correlation}");
        if matches!(self.launches, Launches::Kernel) || at == 0 {
            event(text, "cuda_runtime", "cudaLaunchKernel", (inside, 1, thread + 10), &args);
        }
        event(text, "kernel", &format!("k{number}"), (100 * size + 10 * at, 7, 7), &args);
    }

    /// Start, length, and a moment inside.
    fn span(self, at: usize, size: usize) -> (usize, usize, usize) {
        let (start, length) = match self.nesting {
            Nesting::Flat => (10 * at, 8),
            Nesting::Chain | Nesting::BackFromDeep => (10 * at, 40 * (size - at)),
            Nesting::Equal => (100, 50),
            Nesting::Endless => (10 * at, 20 * size),
            Nesting::Teeth => (10 * at, 10 * (300 - at % 300)),
        };
        match self.nesting {
            Nesting::BackFromDeep => (start, length, start + length - 10),
            _ => (start, length, start + 1),
        }
    }
}

fn event(
    text: &mut String,
    category: &str,
    name: &str,
    (start, length, thread): (usize, usize, usize),
    args: &str,
) {
    writeln!(
        text,
        "{{\"ph\":\"X\",\"cat\":\"{category}\",\"name\":\"{name}\",\"pid\":1,\"tid\":{thread},\
         \"ts\":{start},\"dur\":{length},\"args\":{{{args}}}}},"
    )
    .expect("writing to a string does not fail");
}
