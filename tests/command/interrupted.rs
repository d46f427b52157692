//! Tests for the files that remain if writing a report is interrupted, fails, or replaces an earlier report.
#![cfg(unix)]

use crate::support::{self, root};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::Arc;

pub(super) const CNN: &str = "examples/traces/cnn.pt.trace.json.gz";

pub(super) fn tracetree(arguments: &[&str]) -> Command {
    let mut command = support::tracetree();
    command.args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(super) fn run(arguments: &[&str]) -> Output {
    tracetree(arguments).output().expect("the program runs")
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into()).collect()
}

pub(super) fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether processes that this process starts ignore the signal. `nohup` and shells without job control start their
/// commands in this way.
fn is_ignored(signal: Signal) -> bool {
    let name = if signal == Signal::HUP { "HUP" } else { "INT" };
    let kill = format!("kill -s {name} $$");
    Command::new("sh").args(["-c", &kill]).status().expect("a shell").signal().is_none()
}

/// Lets the signal end the processes that this process starts. A process inherits which signals are ignored, but not
/// which are handled, so a handler that does nothing is enough. This process still survives the signal.
fn stop_ignoring(signal: Signal) {
    let handler = signal_hook::flag::register(signal.as_raw(), Arc::default());
    assert!(handler.is_ok() && !is_ignored(signal), "{signal:?} is ignored");
}

/// Sends a signal to a comparison as soon as it writes files to `home`. Returns how the comparison ended, and whether
/// it was still running.
fn interrupted(mut comparison: Command, home: &Path, signal: Signal) -> (ExitStatus, bool) {
    let mut child = comparison.spawn().expect("the program starts");
    let mut was_running = false;
    while child.try_wait().expect("a child").is_none() {
        if names(home).iter().any(|name| name.ends_with(".partial")) {
            kill_process(Pid::from_child(&child), signal).expect("the program runs");
            was_running = true;
            break;
        }
        std::thread::yield_now();
    }
    (child.wait().expect("a status"), was_running)
}

#[test]
fn a_signal_ends_the_program_and_leaves_nothing_half_written() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        if signal != Signal::TERM && is_ignored(signal) {
            stop_ignoring(signal);
        }
        let was_hit = (0..20).any(|_| {
            let home = tempfile::tempdir().expect("a folder");
            let target = home.path().join("report");
            let target = target.to_string_lossy();
            let comparison = tracetree(&["diff", CNN, CNN, "-q", "-o", &target, "--emit", "all"]);
            let (status, _) = interrupted(comparison, home.path(), signal);
            let left = names(home.path());
            assert!(left.iter().all(|name| name == "report"), "{signal:?} left {left:?}");
            assert!(status.signal().is_none_or(|ended_by| ended_by == signal.as_raw()));
            status.signal().is_some()
        });
        assert!(was_hit, "no run was interrupted by {signal:?}");
    }
}

/// On other systems than Linux, only `unsafe` code can find out which signals are ignored.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    for (signal, name) in [(Signal::INT, "INT"), (Signal::HUP, "HUP")] {
        let was_running = (0..20).any(|_| {
            let home = tempfile::tempdir().expect("a folder");
            let mut comparison = Command::new("sh");
            comparison.args(["-c", &format!("trap '' {name}; exec \"$@\""), "sh"]);
            comparison.args([env!("CARGO_BIN_EXE_tracetree"), "diff", CNN, CNN, "-q", "--emit"]);
            comparison.args(["all", "-o"]).arg(home.path().join("report")).current_dir(root());
            comparison.stdout(Stdio::null());
            let (status, was_running) = interrupted(comparison, home.path(), signal);
            assert!(status.success(), "{signal:?}: {status}");
            was_running
        });
        assert!(was_running, "no run received {signal:?}");
    }
}

#[test]
fn a_report_over_another_removes_the_old_files_and_keeps_all_foreign_ones() {
    let home = tempfile::tempdir().expect("a folder");
    let target = home.path().join("report");
    let write = |emit: &str| {
        let output =
            run(&["diff", CNN, CNN, "-q", "-o", &target.to_string_lossy(), "--emit", emit]);
        assert!(output.status.success(), "{}", error(&output));
    };
    write("html,svg");
    assert!(target.join("report.html").is_file() && target.join("folded.txt").is_file());
    fs::write(target.join("notes.txt"), "mine").expect("written");
    write("md");
    let left = names(&target);
    for gone in ["report.html", "folded.txt", "flamegraph.svg"] {
        assert!(!left.contains(gone), "{gone} is left of the old report");
    }
    assert!(left.contains("report.md") && left.contains("notes.txt"), "{left:?}");
}

pub(super) const OTHER: &str = "examples/traces/cnn_extra_op.pt.trace.json.gz";

pub(super) fn write_report(candidate: &str, target: &Path, more: &[&str]) -> Output {
    let mut command = tracetree(&["diff", CNN, candidate, "-o", &target.to_string_lossy()]);
    command.args(more).output().expect("the program runs")
}

/// Asserts that `uid` and `explain` reject the report. The error must contain `words` and say what to
/// do.
pub(super) fn assert_refused(report: &Path, words: &str) {
    for command in ["uid", "explain"] {
        let output = run(&[command, &report.to_string_lossy(), "5"]);
        let shown = error(&output);
        assert_eq!(output.status.code(), Some(2), "{command}: {shown}");
        assert!(shown.contains(words) && shown.contains("run `tracetree diff` again"), "{shown}");
        assert!(output.stdout.is_empty(), "{command} answers from a mix");
    }
}

#[test]
fn a_report_of_two_generations_is_refused_and_the_next_run_says_so() {
    let home = tempfile::tempdir().expect("a folder");
    let (report, other) = (home.path().join("report"), home.path().join("other"));
    for (candidate, folder) in [(CNN, &report), (OTHER, &other)] {
        let output = write_report(candidate, folder, &["-q", "--emit", "none"]);
        assert!(output.status.success(), "{}", error(&output));
    }
    let manifest = fs::read_to_string(report.join("manifest.json")).expect("a manifest");
    for file in ["uid_map.csv", "summary.json", "kernels.csv"] {
        let whole = fs::read(report.join(file)).expect("a file");
        fs::copy(other.join(file), report.join(file)).expect("copied");
        assert_refused(&report, &format!("{file} was changed after the report was written"));
        fs::write(report.join(file), whole).expect("written");
    }
    assert!(run(&["uid", &report.to_string_lossy(), "5"]).status.success());
    fs::remove_file(report.join("manifest.json")).expect("removed");
    assert_refused(&report, "it has no manifest.json");
    let stopped = manifest.replace("\"complete\"", "\"writing\"");
    fs::write(report.join("manifest.json"), stopped).expect("written");
    assert_refused(&report, "was interrupted");
    let next = write_report(OTHER, &report, &["--emit", "none"]);
    assert!(next.status.success() && error(&next).contains("was interrupted"), "{}", error(&next));
    assert!(run(&["explain", &report.to_string_lossy(), "5"]).status.success());
    assert!(!error(&write_report(OTHER, &report, &["--emit", "none"])).contains("interrupted"));
}

#[test]
fn a_killed_run_leaves_one_report_or_one_that_is_refused() {
    let home = tempfile::tempdir().expect("a folder");
    let report = home.path().join("report");
    let arguments = ["-q", "--emit", "none"];
    assert!(write_report(CNN, &report, &arguments).status.success());
    let old = fs::read(report.join("uid_map.csv")).expect("a map");
    let manifest = fs::read(report.join("manifest.json")).expect("a manifest");
    let mut child = tracetree(&["diff", CNN, OTHER, "-o", &report.to_string_lossy()])
        .args(arguments)
        .spawn()
        .expect("the program starts");
    // Kills the program as soon as it has replaced one file of the report.
    while child.try_wait().expect("a child").is_none() {
        if fs::read(report.join("manifest.json")).is_ok_and(|now| now != manifest) {
            kill_process(Pid::from_child(&child), Signal::KILL).expect("the program runs");
            break;
        }
    }
    child.wait().expect("a status");
    let uid = run(&["uid", &report.to_string_lossy(), "5"]);
    let map = fs::read(report.join("uid_map.csv")).ok();
    let is_whole = uid.status.success() && map.is_some_and(|map| map != old);
    let is_refused = uid.status.code() == Some(2) && error(&uid).contains("was interrupted");
    assert!(is_whole || is_refused, "{}", error(&uid));
    assert!(write_report(OTHER, &report, &arguments).status.success());
    assert!(run(&["uid", &report.to_string_lossy(), "5"]).status.success());
}

#[test]
fn foreign_files_are_not_overwritten_without_force() {
    for file in ["report.md", "kernels.csv", "manifest.json"] {
        let home = tempfile::tempdir().expect("a folder");
        fs::write(home.path().join(file), "mine").expect("written");
        let refused = write_report(CNN, home.path(), &["-q"]);
        let shown = error(&refused);
        assert_eq!(refused.status.code(), Some(2), "{shown}");
        assert!(shown.contains(file) && shown.contains("--force"), "{shown}");
        assert_eq!(fs::read_to_string(home.path().join(file)).expect("the file"), "mine");
        assert_eq!(names(home.path()).len(), 1, "{:?}", names(home.path()));
        assert!(write_report(CNN, home.path(), &["-q", "--force"]).status.success());
        assert_ne!(fs::read_to_string(home.path().join(file)).expect("the file"), "mine");
        // The first run marks the folder as written by tracetree.
        assert!(write_report(CNN, home.path(), &["-q"]).status.success());
    }
}

#[test]
fn a_file_that_came_into_a_report_later_is_not_overwritten() {
    let home = tempfile::tempdir().expect("a folder");
    let report = home.path().join("report");
    assert!(write_report(CNN, &report, &["-q", "--emit", "none"]).status.success());
    fs::write(report.join("report.md"), "mine").expect("written");
    let refused = write_report(CNN, &report, &["-q"]);
    assert!(error(&refused).contains("report.md: already exists"), "{}", error(&refused));
    assert!(write_report(CNN, &report, &["-q", "--emit", "none"]).status.success());
    assert_eq!(fs::read_to_string(report.join("report.md")).expect("the file"), "mine");
}

#[test]
fn a_report_file_that_was_edited_is_not_removed_as_stale() {
    let home = tempfile::tempdir().expect("a folder");
    let report = home.path().join("report");
    assert!(write_report(CNN, &report, &["-q", "--emit", "md,svg"]).status.success());
    fs::write(report.join("report.md"), "my notes").expect("written");
    assert!(write_report(CNN, &report, &["-q", "--emit", "none"]).status.success());
    assert_eq!(fs::read_to_string(report.join("report.md")).expect("the file"), "my notes");
    assert!(!report.join("folded.txt").exists());
}

#[test]
fn a_workbook_on_a_full_disk_is_an_error_and_not_a_panic() {
    let home = tempfile::tempdir().expect("a folder");
    let target = home.path().join("report");
    let tables = home.path().join("tables");
    assert!(write_report(CNN, &tables, &["-q", "--emit", "none"]).status.success());
    let sizes = names(&tables)
        .into_iter()
        .map(|name| fs::metadata(tables.join(name)).expect("a file").len());
    // The size limit, given in blocks of 512 bytes, is large enough for every file except the workbook.
    let blocks = sizes.max().expect("files").div_ceil(512);
    let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &limited, "sh", env!("CARGO_BIN_EXE_tracetree"), "diff", CNN, CNN, "-q"])
        .current_dir(root())
        .args(["--emit", "xlsx", "-o"])
        .arg(&target)
        .output()
        .expect("the program runs");
    let shown = error(&output);
    assert_eq!(output.status.code(), Some(2), "{shown}");
    assert!(shown.contains("report.xlsx") && shown.contains("free some space"), "{shown}");
    assert!(!shown.contains("panicked"), "{shown}");
    assert!(!target.exists() && names(home.path()).len() == 1, "{:?}", names(home.path()));
}

#[test]
fn a_workbook_needs_no_folder_for_temporary_files() {
    let home = tempfile::tempdir().expect("a folder");
    let target = home.path().join("report");
    let mut command = tracetree(&["diff", CNN, CNN, "-q", "--emit", "xlsx", "-o"]);
    command.arg(&target).env("TMPDIR", home.path().join("missing"));
    let output = command.output().expect("the program runs");
    assert!(output.status.success(), "{}", error(&output));
    assert!(target.join("report.xlsx").is_file());
}

#[test]
fn a_page_in_a_folder_without_a_report_stays() {
    let home = tempfile::tempdir().expect("a folder");
    fs::write(home.path().join("report.html"), "mine").expect("written");
    let target = home.path().to_string_lossy().into_owned();
    assert!(run(&["diff", CNN, CNN, "-q", "-o", &target, "--emit", "none"]).status.success());
    assert_eq!(fs::read_to_string(home.path().join("report.html")).expect("the page"), "mine");
}

#[test]
fn a_dangling_link_is_named_as_one() {
    let home = tempfile::tempdir().expect("a folder");
    let link = home.path().join("report");
    symlink(home.path().join("gone"), &link).expect("a link");
    let output = run(&["diff", CNN, CNN, "-q", "-o", &link.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(error(&output).contains("the output is a dangling link"), "{}", error(&output));
}

#[test]
fn a_full_device_is_an_error_for_every_command_and_for_help() {
    for arguments in [&["--help"][..], &["info", CNN], &["tree", CNN], &["man"], &["--version"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let Ok(full) = full else { return };
        let output = tracetree(arguments).stdout(full).output().expect("the program runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", error(&output));
        assert!(error(&output).contains("standard output"), "{arguments:?}: {}", error(&output));
    }
}

#[test]
fn a_full_disk_is_reported_with_the_file_and_a_remedy_and_nothing_is_left() {
    let home = tempfile::tempdir().expect("a folder");
    let target = home.path().join("report");
    // To the program, a file size limit of a few KB looks like a full disk.
    let limited = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", limited, "sh", env!("CARGO_BIN_EXE_tracetree"), "diff", CNN, CNN, "-q", "-o"])
        .current_dir(root())
        .arg(&target)
        .output()
        .expect("the program runs");
    let shown = error(&output);
    assert_eq!(output.status.code(), Some(2), "{shown}");
    assert!(shown.contains(&*target.to_string_lossy()) && !shown.contains(".partial"), "{shown}");
    assert!(shown.contains("free some space"), "{shown}");
    assert!(names(home.path()).is_empty(), "{:?}", names(home.path()));
}

#[test]
fn a_closed_pipe_is_not_an_error_for_any_command_or_for_help() {
    for arguments in
        [&["--help"][..], &["info", CNN], &["tree", CNN], &["man"], &["diff", "--help"]]
    {
        let mut child = tracetree(arguments).spawn().expect("the program starts");
        drop(child.stdout.take());
        let status = child.wait().expect("a status");
        assert_eq!(status.code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn info_reads_a_pipe() {
    let shell = format!("cat {CNN} | {} info /dev/stdin", env!("CARGO_BIN_EXE_tracetree"));
    let output =
        Command::new("sh").args(["-c", &shell]).current_dir(root()).output().expect("a shell");
    assert!(output.status.success(), "{}", error(&output));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("/dev/stdin"));
}

#[test]
fn info_leaves_a_whole_line_when_it_fails() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("cut.json");
    fs::write(&path, "{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"X\", \"ts\"")
        .expect("written");
    let output = run(&["info", "--strict", &path.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.ends_with(b"\n"), "{}", String::from_utf8_lossy(&output.stdout));
}
