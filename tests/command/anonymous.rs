//! Tests for `--anonymize`: no file and no output contains the user, the host or the folders of the recording machine.

use crate::support::tracetree;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Output;

const USER: &str = "alice";
const HOST: &str = "gpu-node-17";

/// A trace that contains the user and the host wherever names can be.
fn trace(time: u32) -> String {
    let event = |cat: &str,
                 name: &str,
                 tid: &str,
                 (ts, dur): (u32, u32),
                 args: serde_json::Value| {
        serde_json::json!({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur,
            "args": args})
    };
    let none = || serde_json::json!({});
    let frame = "/home/alice/secret-lab/project/train.py(7): step";
    let path = "/home/alice/secret-lab/project/data on gpu-node-17";
    let shapes = serde_json::json!({"Input Dims": [[4, 4]], "Input type": ["float"], "Concrete Inputs": [path]});
    let mut events = vec![
        serde_json::json!({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": path}}),
        serde_json::json!({"ph": "M", "name": "thread_name", "pid": 1, "tid": "2", "args": {"name": "alice@gpu-node-17"}}),
    ];
    for step in 0..3 {
        let at = step * 1000;
        events.extend([
            event("user_annotation", &format!("ProfilerStep#{step}"), "2", (at, 990), none()),
            event(
                "user_annotation",
                "save to /home/alice/secret-lab/project/a.pt",
                "2",
                (at + 1, 980),
                none(),
            ),
            event("python_function", frame, "2", (at + 2, 970), none()),
            event("cpu_op", "load@gpu-node-17", "2", (at + 3, 900 + time), shapes.clone()),
            event("cpu_op", "aten::add", "2", (at + 4, 800), none()),
            event(
                "cuda_runtime",
                "cudaLaunchKernel",
                "2",
                (at + 5, 5),
                serde_json::json!({"correlation": step + 7}),
            ),
            event(
                "kernel",
                "kernel_of_/home/alice/secret-lab/project/k.cu",
                "stream 7",
                (at + 20, 100 + time),
                serde_json::json!({"correlation": step + 7, "stream": 7, "device": 0}),
            ),
        ]);
    }
    serde_json::json!({
        "schemaVersion": 1,
        "hostname": HOST,
        "deviceProperties": [{"id": 0, "name": "NVIDIA H100 of alice@gpu-node-17", "computeMajor": 9, "computeMinor": 0}],
        "traceEvents": events,
    })
    .to_string()
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The bytes of a file, unpacked if the file is compressed with gzip.
fn content(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).expect("a file");
    let mut text = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).expect("gzip");
        return text;
    }
    bytes
}

fn has(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|found| found == word.as_bytes())
}

fn run(home: &Path, arguments: &[&str]) -> Output {
    tracetree().current_dir(home).args(arguments).output().expect("the program runs")
}

#[test]
fn no_output_names_the_recording_machine() {
    let temporary = tempfile::tempdir().expect("a folder");
    let home = temporary.path().join("home/alice/secret-lab/runs");
    fs::create_dir_all(&home).expect("created");
    let names = [("before", 10), ("after", 90)].map(|(side, time)| {
        let folder = home.join(side);
        fs::create_dir(&folder).expect("created");
        let path = folder.join(format!("{HOST}_4321.1700000000.pt.trace.json"));
        fs::write(&path, trace(time)).expect("written");
        path.to_string_lossy().into_owned()
    });
    let [a, b] = [&*names[0], &*names[1]];
    let commands: [&[&str]; 7] = [
        &["diff", a, b, "-o", "report", "--emit", "all"],
        &["diff", a, b, "--format", "json", "-o", "other", "--verbose"],
        &["diff", "before", "after", "-o", "fleet", "--emit", "html"],
        &["gate", "--base", a, "--new", b],
        &["gate", "--base", a, "--new", b, "--format", "json"],
        &["info", a],
        &["tree", a],
    ];
    for command in commands {
        let output = run(&home, &[command, &["--anonymize"]].concat());
        assert!(
            !output.stdout.is_empty(),
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        for word in [USER, HOST, "secret-lab"] {
            assert!(!text.contains(word), "{command:?}: {word} in {text}");
        }
        if command[0] == "tree" {
            assert!(text.contains("/project/train.py(7): step"), "{text}");
        }
    }
    let written = ["report", "other", "fleet"].map(|name| files(&home.join(name)));
    assert!(written[0].len() > 20, "{written:?}");
    for path in written.iter().flatten() {
        let bytes = content(path);
        for word in [USER, HOST, "secret-lab"] {
            assert!(!has(&bytes, word), "{word} in {}", path.display());
        }
    }
    let summary =
        |folder: &str| fs::read(home.join(folder).join("summary.json")).expect("a summary");
    run(&home, &["diff", a, b, "-o", "again", "--anonymize"]);
    assert_eq!(summary("again"), summary("other"));
}

#[test]
fn the_page_says_when_it_contains_paths_of_a_home_folder() {
    let home = tempfile::tempdir().expect("a folder");
    for (name, time) in [("a.json", 10), ("b.json", 90)] {
        fs::write(home.path().join(name), trace(time)).expect("written");
    }
    let page = |arguments: &[&str]| {
        run(
            home.path(),
            &[&["diff", "a.json", "b.json", "-o", "r", "--force"], arguments].concat(),
        );
        fs::read_to_string(home.path().join("r/report.html")).expect("a page")
    };
    let sentence = "This page contains paths of home folders";
    let plain = page(&[]);
    assert!(plain.contains(sentence) && plain.contains("/home/alice/"));
    let hidden = page(&["--anonymize=aten"]);
    assert!(!hidden.contains(sentence) && hidden.contains("aten::add"));
}
