//! Runs every command in the README and the docs as written, so that no example becomes outdated.
//!
//! The file names in the examples (BASE, NEW, runs/before_1.json.gz, …) refer to files in a temporary folder.
//! Programs other than `tracetree` (git, dot, pip, …) are replaced by programs that do nothing. A
//! command may report differences (exit code 1) or be inconclusive (3). Exit code 2 (bad usage)
//! means that the example is outdated.
#![cfg(all(feature = "model", unix))]

use crate::support::{enter_root, root, tracetree};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Words, separated by `|`, that occur only in commands on traces outside of this repository.
const OF_REAL_TRACES: &str = "vllm_|sglang_";

/// Occurs in commands on object store addresses. These commands need a server, which `tests/remote` starts.
const OF_ADDRESSES: &str = "s3://";

/// Paths of the documents that contain commands, relative to the project root.
fn documents() -> Vec<PathBuf> {
    enter_root();
    let mut documents = vec!["README.md".into()];
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the documents") {
            let path = entry.expect("a file").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                documents.push(path);
            }
        }
    }
    documents.sort();
    documents
}

/// The blocks of shell commands in a document.
fn blocks(text: &str) -> Vec<&str> {
    let after = text.split("```sh\n").skip(1);
    after.map(|rest| rest.split("```").next().expect("the end of a block")).collect()
}

/// The commands in a block. In a block with `$ ` prompts, lines without a prompt are the output of commands, and are
/// ignored.
fn script(block: &str) -> String {
    let has_prompt = block.lines().any(|line| line.starts_with("$ "));
    let lines = block.lines().filter(|line| !has_prompt || line.starts_with("$ "));
    lines.map(|line| format!("{}\n", line.trim_start_matches("$ "))).collect()
}

/// Writes an executable program into the folder `bin`.
fn program(bin: &Path, name: &str, text: &str) {
    let path = bin.join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a writable folder");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
}

/// Creates, in one folder, all files that the examples name.
fn place(folder: &Path) {
    let bin = folder.join("bin");
    for sub in [
        "bin",
        "runs",
        "new",
        "perf",
        ".local/share/man/man1",
        ".local/share/bash-completion/completions",
    ] {
        fs::create_dir_all(folder.join(sub)).expect("a folder");
    }
    let tracetree = env!("CARGO_BIN_EXE_tracetree");
    // The `tracetree` on the PATH is a wrapper that logs the exit code of each run.
    program(
        &bin,
        "tracetree",
        &format!("{tracetree} \"$@\"; code=$?; echo \"$code $*\" >> \"$LOG\"; exit $code"),
    );
    program(
        &bin,
        "cargo",
        "case \"$1 $2 $3\" in \"run --release --\") shift 3; exec tracetree \"$@\";; esac",
    );
    for nothing in ["git", "pip", "python", "dot"] {
        program(&bin, nothing, "cat > /dev/null 2>&1 < /dev/null; exit 0");
    }
    std::os::unix::fs::symlink(root().join("examples"), folder.join("examples")).expect("a link");
    let copy = |from: &str, to: &str| {
        let to = folder.join(to);
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::copy(root().join(format!("examples/traces/{from}.json.gz")), to).expect("a trace");
    };
    for name in ["tfm_eager", "tfm_compiled", "tfm_compiled_blocks"] {
        copy(&format!("{name}.pt.trace"), &format!("{name}.pt.trace.json.gz"));
    }
    for name in [
        "BASE",
        "A1",
        "A2",
        "A3",
        "TRACE",
        "base.json.gz",
        "before.json.gz",
        "runs/before_1.json.gz",
        "runs/before/rank_0.json.gz",
    ] {
        copy("resnet.rocm", name);
    }
    for name in [
        "NEW",
        "B1",
        "B2",
        "B3",
        "new.json.gz",
        "after.json.gz",
        "runs/after_1.json.gz",
        "runs/after/rank_0.json.gz",
        "new/1.json.gz",
    ] {
        copy("resnet.cuda", name);
    }
}

/// Runs a block of commands in a folder; returns the log of its `tracetree` commands, and stderr.
fn run(folder: &Path, block: &str) -> (Vec<String>, String) {
    let log = folder.join("log");
    fs::write(&log, "").expect("a writable folder");
    let path =
        format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", &script(block)])
        .current_dir(folder)
        .env("PATH", path)
        .env("LOG", &log)
        .env("HOME", folder)
        .env("GITHUB_STEP_SUMMARY", folder.join("step_summary"))
        .output()
        .expect("a shell");
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    let log = fs::read_to_string(log).expect("the log");
    (log.lines().map(str::to_owned).collect(), printed)
}

#[test]
fn every_command_of_the_documents_works() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    place(folder.path());
    let mut run_commands = 0;
    // The following commands create the reports and baselines that the commands on a page need.
    let before = "tracetree diff examples/traces/resnet.rocm.json.gz examples/traces/resnet.cuda.json.gz -o report\n\
                  tracetree baseline record BASE -o base.ttb\ncp base.ttb perf/base.ttb\n";
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a document");
        for block in blocks(&text).into_iter().filter(|block| is_run(block)) {
            let (_, printed) = run(folder.path(), before);
            assert!(folder.path().join("report/summary.json").exists(), "{printed}");
            let (log, printed) = run(folder.path(), block);
            let expected =
                script(block).replace("\\\n", "").lines().filter(|line| is_command(line)).count();
            assert!(
                log.len() >= expected,
                "{}: {log:?} of\n{block}\n{printed}",
                document.display()
            );
            for line in &log {
                let is_right = ["0 ", "1 ", "3 "].iter().any(|code| line.starts_with(code));
                assert!(is_right, "{}: {line}\n{printed}", document.display());
            }
            run_commands += log.len();
        }
    }
    assert!(run_commands > 20, "{run_commands} commands");
}

fn is_command(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("tracetree ") || line.starts_with("cargo run --release -- ")
}

/// Whether a block has a `tracetree` command whose input files are available.
fn is_run(block: &str) -> bool {
    let needs_more = OF_REAL_TRACES.split('|').any(|name| block.contains(name))
        || block.contains(OF_ADDRESSES)
        || block.contains("kernel_details.csv")
        || block.contains("scenarios.toml");
    block.lines().map(|line| line.trim_start_matches("$ ")).any(is_command) && !needs_more
}

/// The output shown after `$ tracetree …` equals the actual output of the command.
#[test]
fn the_output_shown_in_the_documents_is_what_the_command_prints() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    place(folder.path());
    run(folder.path(), "tracetree diff BASE NEW -o report\n");
    let text = fs::read_to_string(root().join("docs/guides/walkthrough.md")).expect("a document");
    let block = blocks(&text).into_iter().find(|block| block.starts_with("$ ")).expect("a block");
    let (command, shown) = block.split_once('\n').expect("what it prints");
    let mut words = command.trim_start_matches("$ tracetree ").split(' ');
    let output = tracetree()
        .args(words.by_ref())
        .current_dir(folder.path())
        .output()
        .expect("the program runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), shown);
}
