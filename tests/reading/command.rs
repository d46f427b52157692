//! Tests with damaged, truncated and oversized traces on the command line: what is reported and what is rejected.

use crate::support::files;
use crate::support::root;
use crate::support::tracetree;
use std::io::Write;
use std::process::{Output, Stdio};

const CNN: &str = "examples/traces/cnn.pt.trace.json.gz";

/// A truncated trace whose first event has a trailing comma.
const DAMAGED: &str = r#"{"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 1,},
{"ph": "X", "cat": "cpu_op", "name": "aten::m"#;

fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = tracetree();
    command.args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A program that rejects its input closes the pipe before the whole input is written.
    let _ = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().expect("the program ends")
}

/// The exit code and the text on stderr from a run.
fn shown(arguments: &[&str], input: &[u8]) -> (Option<i32>, String) {
    let output = run(arguments, input);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn info_reports_repairs_and_how_much_of_the_file_was_read() {
    let (code, err) = shown(&["info", "-"], DAMAGED.as_bytes());
    assert_eq!(code, Some(0));
    assert!(err.contains("REPAIRED_JSON 1 × extra comma (first: byte 18, event 0)"), "{err}");
    assert!(err.contains("TRUNCATED") && err.contains("events kept: 1, up to byte"), "{err}");
    assert_eq!(shown(&["info", "-q", "-"], DAMAGED.as_bytes()), (Some(0), String::new()));
}

#[test]
fn strict_rejects_damage_in_every_command_that_reads_a_trace() {
    for arguments in [
        &["info", "-", "--strict"][..],
        &["tree", "-", "--strict"],
        &[
            "--strict",
            "diff",
            CNN,
            "-",
            "-o",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/never-written"),
        ],
        &["uid", CNN, "-", "--baseline", "5", "--strict"],
        &["explain", CNN, "-", "--baseline", "5", "--strict"],
    ] {
        let (code, err) = shown(arguments, DAMAGED.as_bytes());
        assert_eq!(code, Some(2), "{arguments:?}: {err}");
        assert!(err.contains("byte 18, event 0: extra comma"), "{arguments:?}: {err}");
    }
}

#[test]
fn max_unpacked_limits_how_much_is_read() {
    for arguments in
        [&["info", CNN, "--max-unpacked", "1KB"][..], &["tree", CNN, "--max-unpacked", "1000"]]
    {
        let (code, err) = shown(arguments, b"");
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains("unpacks to more than 1000 bytes"), "{err}");
    }
    assert_eq!(shown(&["info", CNN, "--max-unpacked", "100MB"], b"").0, Some(0));
}

#[test]
fn utf_16_text_is_reported() {
    let text: Vec<u8> = "[{\"ph\": \"X\"}]".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (code, err) = shown(&["info", "-"], &[&[0xff, 0xfe], &text[..]].concat());
    assert_eq!(code, Some(2));
    assert!(err.contains("UTF-16"), "{err}");
}

/// Each file name has the wrong ending for the file's format, because the reader must recognize the format from the
/// content alone.
#[test]
fn every_command_reads_the_files_of_every_recorder() {
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    let root = root();
    let copy = |source: &str, name: &str| {
        let bytes = files::unpacked(&root.join(source)).expect("a trace");
        std::fs::write(folder.path().join(name), bytes).expect("a writable folder");
        folder.path().join(name).display().to_string()
    };
    let report = folder.path().join("report").display().to_string();
    let export = copy("tests/fixtures/recorders/nsight.sqlite.gz", "export.json");
    let base = copy("examples/traces/jax/jax_base.xplane.pb.gz", "base.sqlite");
    let batch = copy("examples/traces/jax/jax_batch.xplane.pb.gz", "batch.json");
    for (one, two, recorder) in [
        (&export, &export, "Nsight Systems"),
        (&base, &batch, "XLA"),
        (&export, &base, "Nsight Systems"),
    ] {
        let information = run(&["info", one], b"");
        assert_eq!(information.status.code(), Some(0));
        let text = String::from_utf8_lossy(&information.stdout).into_owned();
        assert!(text.contains(recorder), "{text}");
        for arguments in [
            &["tree", one][..],
            &["diff", one, two, "-o", &report, "--force", "--emit", "all"],
            &["uid", one, two, "--baseline", "60"],
            &["explain", one, two, "--baseline", "60"],
        ] {
            let (code, err) = shown(arguments, b"");
            assert_eq!(code, Some(0), "{arguments:?}: {err}");
        }
        let page = std::fs::read_to_string(folder.path().join("report/report.html"));
        assert!(page.expect("a page").contains("id=\"what\""));
        let (code, err) = shown(&["gate", "--base", one, "--new", one], b"");
        assert!(matches!(code, Some(0 | 3)), "{code:?}: {err}");
    }
}
