//! Tests that all files written for a pair of traces match the snapshots, byte for byte.
//!
//! A table with wrong values can satisfy the general properties that other tests check, but it cannot pass this test.
//! `snapshots/reports` contains the number of lines, the CRC-32 and the beginning of each file. If a change is
//! intended, write the reports of both versions (`tracetree diff … -o`), read the output of `diff -r`, then accept the
//! snapshots.

use crate::support::enter_root;
use crate::support::files::real_traces;
use crate::support::fixtures::FIXTURES;
use crate::support::phenomena;
use crate::support::snapshot::assert_snapshot;
use crate::support::tracetree;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tracetree::report::{write_csv, write_markdown, write_merged_tree};
use tracetree::tables::TableKind;
use tracetree::{Comparison, ComparisonOptions, PerSide};

/// Pairs of traces in `examples/traces`: snapshot name, baseline, candidate.
const EXAMPLES: [(&str, &str, &str); 14] = [
    ("lowering", "resnet.rocm", "resnet.cuda"),
    ("on_the_host", "cnn_eager.pt.trace", "cnn_compiled.pt.trace"),
    ("tf32_off", "h100/resnet_eager.pt.trace", "h100/resnet_tf32_off.pt.trace"),
    ("amp", "h100/resnet_eager.pt.trace", "h100/resnet_amp.pt.trace"),
    ("five_steps", "h100/train_base.pt.trace", "h100/train_five_steps.pt.trace"),
    ("channels_last", "h100/resnet_channels_last.pt.trace", "h100/resnet_eager.pt.trace"),
    ("attention", "h100/tfm_flash.pt.trace", "h100/tfm_math.pt.trace"),
    ("compiled", "h100/tfm_flash.pt.trace", "h100/tfm_compiled.pt.trace"),
    ("compiled_convolutions", "h100/resnet_eager.pt.trace", "h100/resnet_compiled.pt.trace"),
    ("captured", "h100/decode_eager.pt.trace", "h100/decode_graph.pt.trace"),
    ("fused_optimizer", "h100/train_base.pt.trace", "h100/train_fused_adam.pt.trace"),
    ("layer_gone", "h100/train_loader.pt.trace", "h100/train_layer_gone.pt.trace"),
    ("waits", "h100/train_item.pt.trace", "h100/train_batch.pt.trace"),
    ("other_hardware", "h200/tfm_flash.pt.trace", "h100/tfm_flash.pt.trace"),
];

/// Pairs of traces from the collection of real traces.
const REAL: [(&str, &str); 10] = [
    ("mi300_h100/vit.mi300", "mi300_h100/vit.h100"),
    ("mi300_h100/bert.mi300", "mi300_h100/bert.h100"),
    ("inference/sglang_decode.mi300", "inference/vllm_decode_graph.mi300"),
    ("inference/torch_compile_triton.mi300", "odd/gpu_only.mi210"),
    ("odd/ascend_trace_view", "odd/minitoy.mi250"),
    ("cpu/tfm.pt.trace", "cpu/tfm_unfused_qkv.pt.trace"),
    ("cpu/cnn.pt.trace", "cpu/cnn_extra_layer.pt.trace"),
    ("inference/vllm_prefill_decode_piecewise.mi300", "inference/vllm_eager.b200"),
    ("old/resnet50_2021.num_workers_0", "old/resnet50_2021.num_workers_4"),
    ("mi300_h100/timesformer.h100", "mi300_h100/timesformer.mi300"),
];

#[test]
fn reports_of_recorded_pairs_are_byte_for_byte_as_before() {
    for (name, baseline, candidate) in EXAMPLES {
        let path = |name: &str| format!("examples/traces/{name}.json.gz");
        let files = written(path(baseline), path(candidate));
        let lines: String = files.iter().map(|(name, bytes)| line(name, bytes)).collect();
        let (_, markdown) = files.last().expect("files");
        let text = String::from_utf8_lossy(markdown);
        let first: Vec<&str> = text.lines().filter(|line| !line.is_empty()).take(6).collect();
        assert_snapshot("reports", name, &format!("{lines}\n{}", first.join("\n")));
    }
}

#[test]
fn reports_of_phenomena_are_byte_for_byte_as_before() {
    enter_root();
    let folder = Path::new("tests/fixtures");
    let names = phenomena::ALL.iter().map(|phenomenon| phenomenon.name);
    let names = names.chain(FIXTURES.iter().map(|fixture| fixture.folder));
    let report = |name: &str| {
        let file = |file: &str| folder.join(name).join(file);
        line(name, &whole(file("baseline.json"), file("candidate.json")))
    };
    assert_snapshot("reports", "phenomena", &names.map(report).collect::<String>());
}

#[test]
fn reports_of_real_pairs_are_byte_for_byte_as_before() {
    let Some(folder) = real_traces() else { return };
    let report = |(baseline, candidate): (&str, &str)| {
        let file = |name: &str| folder.join(format!("{name}.json.gz"));
        let files = written(file(baseline), file(candidate));
        // The summary contains the path of the report folder, which varies between runs.
        let tables = files.into_iter().filter(|(name, _)| name != "summary");
        let bytes: Vec<u8> = tables.flat_map(|(_, bytes)| bytes).collect();
        line(&format!("{baseline} {candidate}"), &bytes)
    };
    assert_snapshot("reports", "real_pairs", &REAL.map(report).concat());
}

#[test]
fn commands_print_the_same_for_recordings_as_before() {
    enter_root();
    let [h100, eager, compiled] =
        ["", "tfm_flash.pt.trace.json.gz", "tfm_compiled.pt.trace.json.gz"]
            .map(|name| format!("examples/traces/h100/{name}"));
    let mut traces: Vec<String> = std::fs::read_dir(&h100)
        .expect("recordings")
        .map(|entry| entry.expect("a file").path().display().to_string())
        .collect();
    traces.sort();
    let info = |options: &[&str]| {
        let options = ["info"].iter().chain(options).map(|option| (*option).to_owned());
        printed(options.chain(traces.iter().cloned()))
    };
    let explain = |uid: u32| {
        let arguments = ["explain", &eager, &compiled, "--baseline", &uid.to_string()];
        printed(arguments.map(str::to_owned))
    };
    let mut lines =
        line("info", &info(&["-v"])) + &line("info --format json", &info(&["--format", "json"]));
    for uid in (100..1_500).step_by(100) {
        lines += &line(&format!("explain {uid}"), &explain(uid));
    }
    assert_snapshot("reports", "printed", &lines);
}

/// All tables, the merged tree and the printed text for a pair of traces.
fn written(baseline: impl Into<PathBuf>, candidate: impl Into<PathBuf>) -> Vec<(String, Vec<u8>)> {
    enter_root();
    let paths = PerSide::new(baseline.into(), candidate.into());
    let options = ComparisonOptions::default();
    let comparison = Comparison::open(paths.baseline, paths.candidate, &options);
    let comparison = comparison.expect("two traces");
    let analysis = comparison.analysis();
    let mut files = Vec::new();
    let mut add = |name: &str, write: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
        let mut bytes = Vec::new();
        write(&mut bytes).expect("memory");
        files.push((name.to_owned(), bytes));
    };
    for kind in TableKind::ALL {
        let table = kind.of(analysis);
        add(table.name(), &|out| write_csv(&table, out));
    }
    add("merged_tree", &|out| write_merged_tree(analysis, out));
    add("summary", &|out| write_markdown(analysis, 10, out));
    files
}

fn whole(baseline: PathBuf, candidate: PathBuf) -> Vec<u8> {
    written(baseline, candidate).into_iter().flat_map(|(_, bytes)| bytes).collect()
}

/// The output of the command on stdout and stderr.
fn printed(arguments: impl IntoIterator<Item = String>) -> Vec<u8> {
    let mut command = tracetree();
    let output = command.args(arguments).output().expect("the command");
    [output.stdout, output.stderr].concat()
}

fn line(name: &str, bytes: &[u8]) -> String {
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
    format!("{lines:>6} {:08x}  {name}\n", crc32fast::hash(bytes))
}
