//! Benchmarks for the stages of a comparison. Run `cargo bench --bench stages`, and add `-- align` to run a single
//! stage.
//!
//! The benchmarks use the sample traces in the repository and, if `TRACETREE_TRACES` is set, traces in that folder.
//! Throughput is reported in uncompressed bytes per second.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tracetree::report::Report;
use tracetree::trace::ReadOptions;
use tracetree::{Analysis, CallTree, PerSide, Side, Trace, TraceDiff};

/// Two pairs of traces in the repository, followed by three pairs in the folder `TRACETREE_TRACES`: one with Python
/// frames, one without Python frames, and one in the trace format used in 2021.
const PAIRS: [(&str, [&str; 2]); 5] = [
    ("examples/traces", ["resnet.rocm.json.gz", "resnet.cuda.json.gz"]),
    ("examples/traces", ["cnn.pt.trace.json.gz", "cnn_extra_op.pt.trace.json.gz"]),
    ("", ["mi300_h100/timesformer.mi300.json.gz", "mi300_h100/timesformer.h100.json.gz"]),
    ("", ["training/eager.a100.json.gz", "training/compiled_graphs.v100.json.gz"]),
    ("", ["old/resnet50_2021.num_workers_0.json.gz", "old/resnet50_2021.num_workers_4.json.gz"]),
];

fn main() {
    divan::main();
}

/// The pairs whose files exist, as indices of [`PAIRS`].
fn pairs() -> impl Iterator<Item = usize> {
    (0..PAIRS.len()).filter(|&at| paths(at).is_some_and(|paths| paths.baseline.exists()))
}

fn paths(at: usize) -> Option<PerSide<PathBuf>> {
    let (folder, names) = PAIRS[at];
    let folder = match folder {
        "" => PathBuf::from(std::env::var_os("TRACETREE_TRACES")?),
        folder => Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
    };
    Some(PerSide::new(folder.join(names[0]), folder.join(names[1])))
}

/// The two traces of a pair and their total uncompressed size.
fn traces(at: usize) -> (PerSide<Arc<Trace>>, BytesCount) {
    let paths = paths(at).expect("an existing pair");
    let traces = paths.map(|path| Arc::new(Trace::open(path).expect("a trace")));
    let bytes: u64 = Side::BOTH.iter().map(|&side| traces[side].unpacked_bytes()).sum();
    (traces, BytesCount::new(bytes))
}

/// The content of a pair's baseline file: first uncompressed, then compressed.
fn texts(at: usize) -> (Vec<u8>, Vec<u8>) {
    let paths = paths(at).expect("an existing pair");
    let packed = std::fs::read(paths.baseline).expect("a file");
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut text).expect("gzip");
    (text, packed)
}

fn read_from(bencher: Bencher<'_, '_>, bytes: &[u8], size: usize) {
    let options = ReadOptions::default();
    bencher
        .counter(BytesCount::new(size))
        .bench_local(|| Trace::from_reader("t", black_box(bytes), &options).expect("a trace"));
}

/// Reads a compressed trace.
#[divan::bench(args = pairs())]
fn read(bencher: Bencher<'_, '_>, at: usize) {
    let (text, packed) = texts(at);
    read_from(bencher, &packed, text.len());
}

/// Reads an uncompressed trace.
#[divan::bench(args = pairs())]
fn read_unpacked(bencher: Bencher<'_, '_>, at: usize) {
    let (text, _) = texts(at);
    read_from(bencher, &text, text.len());
}

#[divan::bench(args = pairs())]
fn build(bencher: Bencher<'_, '_>, at: usize) {
    let (traces, bytes) = traces(at);
    bencher.counter(bytes).bench_local(|| {
        black_box(traces.clone().map(CallTree::build));
    });
}

#[divan::bench(args = pairs())]
fn align(bencher: Bencher<'_, '_>, at: usize) {
    let (traces, bytes) = traces(at);
    let trees = traces.map(|trace| Arc::new(CallTree::build(trace)));
    bencher
        .counter(bytes)
        .bench_local(|| TraceDiff::new(black_box(trees.baseline.clone()), trees.candidate.clone()));
}

#[divan::bench(args = pairs())]
fn account(bencher: Bencher<'_, '_>, at: usize) {
    let (traces, bytes) = traces(at);
    let trees = traces.map(|trace| Arc::new(CallTree::build(trace)));
    let diff = Arc::new(TraceDiff::new(trees.baseline, trees.candidate));
    bencher.counter(bytes).bench_local(|| Analysis::new(black_box(diff.clone())));
}

/// Writes the tables, the HTML page and the Markdown report, and computes the step and layer analysis that these files
/// require.
#[divan::bench(args = pairs())]
fn write(bencher: Bencher<'_, '_>, at: usize) {
    let (traces, bytes) = traces(at);
    let trees = traces.map(|trace| Arc::new(CallTree::build(trace)));
    let diff = Arc::new(TraceDiff::new(trees.baseline, trees.candidate));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = folder.path().join("report");
    bencher.counter(bytes).bench_local(|| {
        let analysis = Analysis::new(diff.clone());
        Report::new(analysis).write(&target).expect("a writable folder")
    });
}
