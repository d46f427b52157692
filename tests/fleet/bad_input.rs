//! Tests for `tracetree fleet` on folders with missing, unreadable, duplicate or incomplete files: either each pair
//! gets a status, or the run ends with one error.

use crate::support::ranks::Ranks;
use crate::support::trace_builder::TraceBuilder;
use crate::support::tracetree;
use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const RANKS: Ranks = Ranks(16);

/// A folder with the traces of sixteen ranks before and after a change. No rank is missing, and no faults are planted.
fn folders() -> TempDir {
    let place = tempfile::tempdir().expect("a folder");
    for folder in ["before", "after"] {
        fs::create_dir(place.path().join(folder)).expect("a folder");
        for rank in 0..16 {
            write(&place, &format!("{folder}/rank_{rank}.json"), &RANKS.trace(rank, false));
        }
    }
    place
}

fn write(place: &TempDir, name: &str, text: &str) {
    fs::write(place.path().join(name), text).expect("a file");
}

fn fleet(place: &TempDir, arguments: &[&str]) -> Output {
    let mut command = tracetree();
    let command = command.current_dir(place.path()).arg("fleet").args(arguments);
    command.output().expect("the program runs")
}

fn run(place: &TempDir, arguments: &[&str]) -> (Output, Value) {
    let output = fleet(place, &[&["run", "before", "after", "-o", "out"], arguments].concat());
    let text = fs::read_to_string(place.path().join("out/fleet.json")).unwrap_or_default();
    (output, serde_json::from_str(&text).unwrap_or_default())
}

fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn shards(place: &TempDir) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.path().join("out/shards")).into_iter().flatten();
    let mut shards: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    shards.sort();
    shards
}

fn counts(document: &Value) -> [u64; 4] {
    ["planned", "ok", "failed", "unmatched"].map(|key| document[key].as_u64().expect("a count"))
}

fn findings(document: &Value) -> Vec<(&str, &str, u64)> {
    let list = document["findings"].as_array().expect("findings");
    list.iter()
        .map(|one| {
            let text = |key: &str| one[key].as_str().expect("a text");
            (text("code"), text("ranks"), one["count"].as_u64().expect("a count"))
        })
        .collect()
}

#[test]
fn half_of_the_ranks_missing_is_one_finding_and_the_counts_add_up() {
    let place = folders();
    for rank in (0..16).step_by(2) {
        fs::remove_file(place.path().join(format!("after/rank_{rank}.json"))).expect("a file");
    }
    let (output, document) = run(&place, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert_eq!(counts(&document), [16, 8, 0, 8]);
    let expected =
        [("NO_PARTNER", "0 2 4 6 8 10 12 14", 8), ("SAME_PROGRAM", "1 3 5 7 9 11 13 15", 8)];
    assert_eq!(findings(&document), expected);
    let (output, _) = run(&place, &["--min-coverage", "0.6"]);
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn a_rank_that_two_files_claim_is_reported_and_not_guessed() {
    let place = folders();
    let twice = RANKS.trace(5, false);
    write(&place, "after/copy_of_rank_5.json", &twice);
    fs::rename(
        place.path().join("before/rank_5.json"),
        place.path().join("before/five_rank_5.json"),
    )
    .expect("renamed");
    let (output, document) = run(&place, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert_eq!(counts(&document), [18, 15, 0, 3]);
    let codes: Vec<&str> = findings(&document).iter().map(|one| one.0).collect();
    assert_eq!(codes.iter().filter(|code| **code == "DUPLICATE_RANK").count(), 2, "{codes:?}");
    assert!(shown(&output).contains("is one of several files for rank 5"), "{}", shown(&output));
}

#[test]
fn different_world_sizes_are_reported() {
    let place = folders();
    for rank in 0..16 {
        write(&place, &format!("after/rank_{rank}.json"), &Ranks(20).trace(rank, false));
    }
    let (output, document) = run(&place, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let notes = document["notes"].to_string();
    assert!(
        notes.contains("the world size differs: 16 in the baseline, 20 in the candidate"),
        "{notes}"
    );
    assert!(notes.contains("4 of 20 ranks have no trace in either folder: 16-19"), "{notes}");
    assert!(
        shown(&output).contains("the world size differs: 16 in the baseline, 20 in the candidate"),
        "{}",
        shown(&output)
    );
}

#[test]
fn a_shard_of_another_version_is_left_out_and_reported() {
    let place = folders();
    run(&place, &[]);
    assert_eq!(fleet(&place, &["plan", "before", "after"]).status.code(), Some(0));
    let shard = &shards(&place)[0];
    let mut bytes = fs::read(shard).expect("a shard");
    let version = env!("CARGO_PKG_VERSION").as_bytes();
    let key = b"tracetree_version";
    let at = bytes.windows(key.len()).position(|window| window == key).expect("the version's key");
    let at =
        at + bytes[at..].windows(version.len()).position(|w| w == version).expect("the version");
    bytes[at + version.len() - 1] = b'x';
    fs::write(shard, &bytes).expect("a shard");
    let output = fleet(&place, &["reduce", "plan.json", "-o", "out"]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert!(shown(&output).contains("OTHER_VERSION"), "{}", shown(&output));
    assert!(
        shown(&output).contains("16 planned = 15 ok + 1 failed + 0 unmatched"),
        "{}",
        shown(&output)
    );
}

#[test]
fn a_full_disk_is_one_error_and_leaves_no_partial_shard() {
    let place = folders();
    assert_eq!(fleet(&place, &["plan", "before", "after"]).status.code(), Some(0));
    // Files are limited to 4 KB. To the program, this limit looks like a full disk. A shard takes 12 KB, so it cannot
    // be written.
    let limited = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", limited, "sh", env!("CARGO_BIN_EXE_tracetree"), "fleet", "map", "plan.json"])
        .args(["-o", "out"])
        .current_dir(place.path())
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains("shards/") && shown(&output).contains("free some space"));
    assert_eq!(shown(&output).lines().count(), 1, "{}", shown(&output));
    assert!(shards(&place).is_empty(), "{:?}", shards(&place));
    // With enough disk space, the next run completes the work.
    assert_eq!(fleet(&place, &["map", "plan.json", "-o", "out"]).status.code(), Some(0));
    assert_eq!(shards(&place).len(), 16);
}

/// Runs the program as a user who is subject to file permissions. If the tests run as root, this user is `nobody`.
#[cfg(unix)]
fn as_nobody(place: &TempDir, arguments: &[&str]) -> Option<Output> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    use std::os::unix::process::CommandExt as _;
    const NOBODY: u32 = 65_534;
    let mut command = tracetree();
    command.current_dir(place.path()).arg("fleet").args(arguments);
    if fs::metadata(place.path()).expect("a folder").uid() == 0 {
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).expect("permissions");
        chown(place.path(), Some(NOBODY), None).ok()?;
        command.uid(NOBODY);
    }
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "fleet_bad_input: permissions not tested: {error}");
            None
        }
    }
}

#[cfg(unix)]
fn forbid(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o000)).expect("permissions");
}

#[test]
#[cfg(unix)]
fn a_folder_without_read_permission_is_one_error() {
    let place = folders();
    forbid(&place.path().join("after"));
    let Some(output) = as_nobody(&place, &["run", "before", "after", "-o", "out"]) else { return };
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    let text = shown(&output);
    assert!(text.contains("after: cannot list the folder") && text.lines().count() == 1, "{text}");
}

#[test]
#[cfg(unix)]
fn a_file_without_read_permission_gets_a_status_and_no_shard() {
    let place = folders();
    assert_eq!(fleet(&place, &["plan", "before", "after"]).status.code(), Some(0));
    forbid(&place.path().join("after/rank_3.json"));
    let Some(output) = as_nobody(&place, &["map", "plan.json", "-o", "out"]) else { return };
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert!(shown(&output).contains("NO_PERMISSION"), "{}", shown(&output));
    assert_eq!(shards(&place).len(), 15);
    let Some(output) = as_nobody(&place, &["plan", "before", "after", "-o", "again.json"]) else {
        return;
    };
    // Because the file name contains the rank, the file still has a counterpart and gets a status of its own.
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("16 planned = 16 pairs + 0 unmatched"), "{text}");
}

#[test]
#[cfg(unix)]
fn an_output_folder_without_permissions_is_one_error() {
    let place = folders();
    assert_eq!(fleet(&place, &["plan", "before", "after"]).status.code(), Some(0));
    fs::create_dir(place.path().join("out")).expect("a folder");
    forbid(&place.path().join("out"));
    let Some(output) = as_nobody(&place, &["map", "plan.json", "-o", "out"]) else { return };
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert_eq!(shown(&output).lines().count(), 1, "{}", shown(&output));
}

#[test]
fn a_hundred_thousand_files_are_planned_with_few_lines_of_warnings() {
    let place = tempfile::tempdir().expect("a folder");
    for folder in ["before", "after"] {
        fs::create_dir(place.path().join(folder)).expect("a folder");
        write(
            &place,
            &format!("{folder}/rank_0.json"),
            &TraceBuilder::cuda().thread("main", |t| t.leaf("aten::mm")).json(),
        );
    }
    // The folder also contains empty files from ranks that wrote nothing, and log files, which are not traces.
    for rank in 1..50_000 {
        write(&place, &format!("after/rank_{rank}.json"), "");
        write(&place, &format!("after/rank_{rank}.log"), "");
    }
    let output = fleet(&place, &["plan", "before", "after"]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("50000 planned = 1 pair + 49999 unmatched"), "{text}");
    assert!(shown(&output).lines().count() < 30, "{}", shown(&output).lines().count());
    assert!(shown(&output).contains("… and 49979 more; see the plan"));
}
