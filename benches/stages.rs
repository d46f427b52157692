//! Reading traces: `cargo bench --bench read`.
//!
//! The sample traces of the repository, and those of `TRACETREE_TRACES` where it is set.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use std::io::Read;
use std::path::{Path, PathBuf};
use tracetree::trace::{ReadOptions, Trace};

/// Traces of several eras and styles below `TRACETREE_TRACES`.
const TRACES: [&str; 4] = [
    "mi300_h100/timesformer.h100.json.gz",
    "training/eager.a100.json.gz",
    "training/resnet_act_checkpoint.mi300.json.gz",
    "old/resnet50_2021.num_workers_0.json.gz",
];

fn main() {
    divan::main();
}

fn traces() -> Vec<String> {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/traces");
    let samples =
        std::fs::read_dir(samples).into_iter().flatten().flatten().map(|entry| entry.path());
    let folder = std::env::var_os("TRACETREE_TRACES").map(PathBuf::from);
    let real = folder.iter().flat_map(|folder| TRACES.iter().map(move |name| folder.join(name)));
    let mut all: Vec<String> = samples.chain(real).map(|path| path.display().to_string()).collect();
    all.sort();
    all
}

/// The packed bytes of a trace, and how many they unpack to.
fn packed(path: &str) -> (Vec<u8>, usize) {
    let packed = std::fs::read(path).expect("the trace is there");
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut text).expect("gzip");
    (packed, text.len())
}

/// From packed bytes to columns.
#[divan::bench(args = traces())]
fn read(bencher: Bencher<'_, '_>, path: &str) {
    let (packed, size) = packed(path);
    let options = ReadOptions::default();
    bencher.counter(BytesCount::new(size)).bench_local(|| {
        Trace::from_reader(path, black_box(&packed[..]), &options).expect("a trace")
    });
}

/// From text to columns.
#[divan::bench(args = traces())]
fn read_unpacked(bencher: Bencher<'_, '_>, path: &str) {
    let (packed, size) = packed(path);
    let mut text = Vec::with_capacity(size);
    flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut text).expect("gzip");
    let options = ReadOptions::default();
    bencher
        .counter(BytesCount::new(size))
        .bench_local(|| Trace::from_reader(path, black_box(&text[..]), &options).expect("a trace"));
}
