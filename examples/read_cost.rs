//! Measures how much time and memory it takes to read a trace, and how much time it takes just to inflate the file.
//!
//! ```text
//! cargo run --release --example read_cost -- TRACE.json.gz
//! ```
//!
//! Times are CPU times of all threads. Each round reads the trace and then inflates the file without reading it. The
//! shortest time of each is printed. If a core is free, the reader inflates on a second thread, which adds CPU time.
//! Memory is the peak during the first read, minus the 2 to 3 MB that the program itself uses.

#![expect(clippy::print_stdout, reason = "the example prints a table")]

mod measuring;

use measuring::{peak_memory, processor_seconds};
use std::error::Error;
use std::time::Instant;
use tracetree::trace::{ReadOptions, Trace};

/// Maximum number of rounds.
const ROUNDS: usize = 30;

/// Time in seconds after which no new round starts. Large files therefore get fewer rounds.
const ENOUGH_SECONDS: f64 = 5.0;

/// Size in bytes of the output buffer when the file is only inflated.
const BUFFER: usize = 256 * 1024;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("pass a trace compressed with gzip")?;
    println!(
        "| trace | MB | events | read ms | GB/s | inflate ms | ratio | peak MB | bytes per byte |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    println!("{}", row(&path)?);
    Ok(())
}

fn row(path: &str) -> Result<String, Box<dyn Error>> {
    let before = peak_memory();
    let trace = Trace::open(path)?;
    let peak = peak_memory().saturating_sub(before) as f64;
    let (events, unpacked) = (trace.len(), trace.unpacked_bytes() as f64);
    drop(trace);
    let packed = std::fs::read(path)?;
    let (mut read, mut inflate) = (f64::MAX, f64::MAX);
    let start = Instant::now();
    for _ in 0..ROUNDS {
        read = read.min(seconds(|| {
            Trace::from_reader(path, &packed[..], &ReadOptions::default().without_flows()).map(drop)
        })?);
        inflate = inflate.min(seconds(|| inflate_all(&packed))?);
        if start.elapsed().as_secs_f64() > ENOUGH_SECONDS {
            break;
        }
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    Ok(format!(
        "| {name} | {:.1} | {events} | {:.1} | {:.2} | {:.1} | {:.1} | {:.1} | {:.3} |",
        unpacked / 1e6,
        read * 1e3,
        unpacked / read / 1e9,
        inflate * 1e3,
        read / inflate,
        peak / 1e6,
        peak / unpacked,
    ))
}

fn seconds<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<f64, E> {
    let start = processor_seconds();
    work()?;
    Ok(processor_seconds() - start)
}

/// Inflates a gzip member and discards the output, without verifying its checksum.
fn inflate_all(packed: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut inflate = flate2::Decompress::new(false);
    let mut out = vec![0; BUFFER];
    let data = packed.get(header_length(packed)..).ok_or("not a gzip file")?;
    loop {
        let rest = &data[inflate.total_in() as usize..];
        match inflate.decompress(rest, &mut out, flate2::FlushDecompress::None)? {
            flate2::Status::StreamEnd => return Ok(()),
            flate2::Status::Ok => {}
            flate2::Status::BufError => return Err("the gzip data is truncated".into()),
        }
    }
}

/// Length of a gzip header. The file name is the only optional field that is supported.
fn header_length(packed: &[u8]) -> usize {
    let has_name = packed.get(3).is_some_and(|flags| flags & 8 != 0);
    let name = packed.iter().skip(10).position(|&b| b == 0).map_or(0, |length| length + 1);
    10 + if has_name { name } else { 0 }
}
