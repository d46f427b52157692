//! Tests that commands escape hostile names, which contain workflow commands for a CI log or control sequences for a
//! terminal.

use crate::support::tracetree;
use std::fs;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

/// A hostile name. The name contains a GitHub workflow command on its own line, one-byte and two-byte escape sequences,
/// and characters that change the text direction. The name also contains a workflow command in the older form `##[…]`,
/// which takes effect anywhere in a line.
const NAME: &str = "n\n::error::x\r\u{1b}[2J\u{9b}31m\u{202e}\t##[error]y";

/// A hostile name that is short enough for a side name.
const SHORT: &str = "n\n::error::x\r\u{1b}[2J\u{202e}##[e]";

/// A trace in which names and versions are [`NAME`], and one op's name is a workflow command.
fn trace(time: u32) -> String {
    let event = |cat: &str, name: &str, tid: &str, ts: u32, args: serde_json::Value| {
        serde_json::json!({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts,
            "dur": time, "args": args})
    };
    let shapes = serde_json::json!({"Input Dims": [[4, 4], []], "Input type": [NAME, "float"],
        "Concrete Inputs": ["", NAME], "External id": 1});
    let events = [
        serde_json::json!({"ph": "M", "name": "thread_name", "pid": 1, "tid": "2", "args": {"name": NAME}}),
        event("user_annotation", "ProfilerStep#1", "2", 0, serde_json::json!({})),
        event("python_function", &format!("nn.Module: {NAME}_0"), "2", 1, serde_json::json!({})),
        event("cpu_op", NAME, "2", 2, shapes),
        event("cpu_op", "::error::z", "2", 3, serde_json::json!({})),
        event("cuda_runtime", "cudaLaunchKernel", "2", 4, serde_json::json!({"correlation": 7})),
        event(
            "kernel",
            NAME,
            "stream 7",
            900,
            serde_json::json!({"correlation": 7, "stream": 7, "device": 0}),
        ),
    ];
    let mut events: Vec<serde_json::Value> = events.into();
    // Each call ends before its parent does.
    for (at, event) in events.iter_mut().enumerate().take(6).skip(1) {
        event["dur"] = (800 - 20 * at + time as usize).into();
    }
    serde_json::json!({
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": NAME, "computeMajor": 9, "computeMinor": 0}],
        "cuda_runtime_version": NAME,
        "pytorch_version": NAME,
        NAME.to_owned() + "_version": NAME,
        "distributedInfo": {"backend": NAME, "rank": 0, "world_size": 2},
        "traceEvents": events,
    })
    .to_string()
}

fn run(home: &Path, arguments: &[&str]) -> Output {
    let mut command = tracetree();
    command.current_dir(home).args(arguments).output().expect("the program runs")
}

/// Asserts that a text contains no workflow commands and no control characters. `ours` lists the prefixes of workflow
/// commands that the tested output format writes itself.
fn assert_tame(what: &str, bytes: &[u8], ours: &[&str]) {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    for line in text.lines() {
        let start = line.trim_start();
        let is_ours = ours.iter().any(|ours| start.starts_with(ours));
        assert!(is_ours || !start.starts_with("::"), "{what}: {line}");
        let acts = |letter: char| letter.is_control() && letter != '\t' || letter == '\u{202e}';
        assert!(!line.contains(acts), "{what}: {line:?}");
        assert!(!line.contains("##["), "{what}: {line}");
    }
}

/// A folder with two traces whose file names are hostile.
fn home() -> TempDir {
    let home = tempfile::tempdir().expect("a folder");
    for (name, time) in [("a", 10), ("b", 90)] {
        fs::write(home.path().join(format!("{name}{NAME}").replace('/', "")), trace(time))
            .expect("a trace");
    }
    home
}

#[test]
fn no_line_of_any_command_is_a_workflow_command() {
    let home = home();
    let [a, b] = ["a", "b"].map(|name| format!("{name}{NAME}"));
    let (a, b) = (a.as_str(), b.as_str());
    let record = run(home.path(), &["baseline", "record", a, "-o", "base.ttb"]);
    assert_eq!(record.status.code(), Some(0), "{}", String::from_utf8_lossy(&record.stderr));
    let commands: &[&[&str]] = &[
        &["baseline", "record", a, "-o", "base.ttb"],
        &["baseline", "show", "base.ttb"],
        &["info", a],
        &["info", "-v", a, b],
        &["info", "--format", "json", a],
        &["info", "missing\n::error::x"],
        &["info", "--missing\n::error::x"],
        &["tree", a],
        &["tree", "--all", a],
        &["tree", "--links", a],
        &["tree", "--include", "x\n::error::x(", a],
        &["uid", a, b, "3"],
        &["explain", a, b, "3"],
        &["explain", a, b, "6"],
        &["diff", a, b, "-o", "report", "--emit", "all"],
        &["diff", a, b, "--no-report", "--base-name", NAME],
        &["diff", a, b, "--no-report", "--base-name", SHORT, "--fail-on", "1%"],
        &["diff", a, b, "--no-report", "--format", "json"],
        &["diff", a, b, "--no-report", "--format", "csv"],
        &["diff", a, b, "--no-report", "--format", "csv", "--csv-raw"],
        &["diff", a, b, "--no-report", "--format", "md"],
        &["gate", "--base", a, "--new", b],
        &["gate", "--base", a, "--new", b, "--format", "json"],
        &["gate", "--base", a, "--new", b, "--format", "junit"],
        &["gate", "--base", a, "--new", b, "--format", "md"],
        &["gate", "--base", a, "--new", b, "--format", "github"],
        &["gate", "--baseline", "base.ttb", "missing\n::error::x"],
        &["history", "base.ttb", "base.ttb"],
        &["history", "base.ttb", "base.ttb", "--format", "html"],
        &["fleet", "run", NAME, NAME, "-o", "fleet"],
        &["completions", "\n::error::x"],
        &["model-diff", a, b],
    ];
    for arguments in commands {
        let output = run(home.path(), arguments);
        let ours: &[&str] = if arguments.contains(&"github") {
            &["::error title=", "::error file=", "::warning title=", "::notice::"]
        } else {
            &[]
        };
        assert_tame(&format!("{arguments:?}"), &output.stdout, ours);
        assert_tame(&format!("stderr of {arguments:?}"), &output.stderr, &[]);
        let is_empty = output.stdout.is_empty() && output.stderr.is_empty();
        assert!(!is_empty && output.status.code().is_some_and(|code| code < 4), "{arguments:?}");
    }
    for file in
        ["report.md", "merged_tree_output.txt", "folded.txt", "kernels.csv", "diff_stats.csv"]
    {
        let bytes = fs::read(home.path().join("report").join(file)).expect("a file of the report");
        assert!(String::from_utf8_lossy(&bytes).contains("error"), "{file}");
        let text = String::from_utf8(bytes).expect("UTF-8").replace("##[", "");
        // Report files are not CI logs, so a line in a report file may begin with a workflow command.
        assert_tame(file, text.replace("::error::z", "").as_bytes(), &[]);
    }
    for file in ["summary.json", "cpu_op_map.json", "stacks.json", "report.html"] {
        let text = fs::read_to_string(home.path().join("report").join(file)).expect("a file");
        let acts = |letter: char| {
            (letter.is_control() && !matches!(letter, '\n' | '\t')) || letter == '\u{202e}'
        };
        assert!(!text.contains(acts), "{file}");
    }
    let written = ["junit", "github", "text", "md", "json"];
    for format in written {
        let arguments = ["gate", "--base", a, "--new", b, "--format", format, "-o", "result"];
        run(home.path(), &arguments);
        let bytes = fs::read(home.path().join("result")).expect("a result");
        let text = String::from_utf8(bytes).expect("UTF-8");
        assert!(!text.lines().any(|line| line.starts_with("::error::")), "{format}: {text}");
        let acts = |letter: char| letter.is_control() && letter != '\n';
        assert!(format == "json" || !text.contains(acts), "{format}: {text:?}");
    }
}

#[test]
fn json_on_standard_output_means_the_same_though_it_is_escaped() {
    let home = home();
    let output = run(home.path(), &["info", "--format", "json", &format!("a{NAME}")]);
    let infos: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(infos[0]["head"]["devices"][0]["name"], NAME);
}
