//! Tests for `tracetree diff` as a user runs it: which files it writes, what it prints, and what it opens.

use crate::folder::FILES;
use crate::support::reports::{hostile_pair, model_pair};
use crate::support::tracetree;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;
use tracetree::PerSide;

/// A folder that contains both traces of a pair.
fn folder_of(pair: &PerSide<String>) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("a.json"), &pair.baseline).expect("a trace");
    fs::write(folder.path().join("b.json"), &pair.candidate).expect("a trace");
    folder
}

fn diff(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = tracetree();
    command.current_dir(folder.path()).args(["diff", "a.json", "b.json", "-o", "report"]);
    command.args(arguments);
    command
}

fn run(folder: &TempDir, arguments: &[&str]) -> Output {
    let output = diff(folder, arguments).output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The optional files in the report, such as `report.html`. Fails unless the report contains all required tables.
fn written(folder: &TempDir) -> BTreeSet<String> {
    let names: BTreeSet<String> = fs::read_dir(folder.path().join("report"))
        .expect("a report")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert!(FILES.iter().all(|table| names.contains(*table)), "{names:?}");
    let formats = ["report.", "flamegraph.svg", "folded.txt", "perfetto.json.gz"];
    names.into_iter().filter(|name| formats.iter().any(|start| name.starts_with(start))).collect()
}

#[test]
fn the_user_chooses_the_formats() {
    for (arguments, expected) in [
        (vec![], vec!["report.html", "report.md"]),
        (vec!["--no-html"], vec!["report.md"]),
        (vec!["--emit", "none"], vec![]),
        (vec!["--emit", "md,svg"], vec!["flamegraph.svg", "folded.txt", "report.md"]),
        (vec!["--emit", "xlsx", "--emit", "perfetto"], vec!["perfetto.json.gz", "report.xlsx"]),
        (
            vec!["--emit", "all"],
            vec![
                "flamegraph.svg",
                "folded.txt",
                "perfetto.json.gz",
                "report.html",
                "report.md",
                "report.xlsx",
            ],
        ),
    ] {
        let folder = folder_of(&model_pair());
        run(&folder, &arguments);
        let expected: BTreeSet<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(written(&folder), expected, "{arguments:?}");
    }
}

#[test]
fn tables_are_written_as_csv_or_parquet_or_both_and_those_of_the_previous_run_are_removed() {
    let folder = folder_of(&model_pair());
    let has = |name: &str| folder.path().join("report").join(name).is_file();
    let is_there = || (has("diff_stats.csv"), has("diff_stats.parquet"));
    run(&folder, &["--tables", "both"]);
    assert_eq!(is_there(), (true, true));
    run(&folder, &["--tables", "parquet"]);
    assert_eq!(is_there(), (false, true));
    run(&folder, &[]);
    assert_eq!(is_there(), (true, false));
}

#[test]
fn an_unknown_format_is_bad_usage() {
    let folder = folder_of(&model_pair());
    let output = diff(&folder, &["--emit", "pdf"]).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("perfetto"), "it lists what it knows");
    assert!(!folder.path().join("report").exists());
}

#[test]
fn all_formats_have_the_same_bytes_twice() {
    let bytes = || {
        let folder = folder_of(&model_pair());
        run(&folder, &["--emit", "all"]);
        let names = written(&folder);
        names
            .into_iter()
            .map(|name| {
                let bytes = fs::read(folder.path().join("report").join(&name)).expect("a file");
                (name, bytes)
            })
            .collect::<Vec<_>>()
    };
    for (first, second) in bytes().into_iter().zip(bytes()) {
        assert!(first == second, "{} differs", first.0);
    }
}

#[test]
fn the_markdown_on_stdout_is_the_file() {
    let folder = folder_of(&model_pair());
    let output = run(&folder, &["--format", "md", "--top", "20"]);
    let file = fs::read(folder.path().join("report/report.md")).expect("a file");
    assert!(output.stdout == file);
}

#[test]
fn the_summary_fits_its_width_and_has_no_colour_in_a_pipe() {
    for pair in [model_pair(), hostile_pair()] {
        let folder = folder_of(&pair);
        let text = String::from_utf8(run(&folder, &["-v"]).stdout).expect("UTF-8");
        // Output to a pipe is not shortened. The only line that may be too long is the one with the long name.
        let fits = |line: &str| line.chars().count() <= 100 || line.starts_with("void kernel<long");
        assert!(text.lines().all(fits), "{text}");
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
        assert!(text.contains("largest differences") && text.contains("exact"), "{text}");
        assert!(text.lines().all(|line| !line.ends_with(' ')), "{text}");
    }
}

#[test]
fn more_time_is_red_and_less_is_blue_and_both_have_a_sign() {
    let folder = folder_of(&model_pair());
    let text = String::from_utf8(run(&folder, &["-v", "--color", "always"]).stdout).expect("UTF-8");
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).expect("a line");
    let (slower, faster) = (line("aten::_convolution"), line("aten::addmm"));
    assert!(slower.contains("\u{1b}[31m") && slower.contains(" +"), "{slower}");
    assert!(faster.contains("\u{1b}[34m") && faster.contains(" −"), "{faster}");
}

#[cfg(unix)]
fn fake_browser(folder: &Path) -> String {
    use std::os::unix::fs::PermissionsExt;
    let script = folder.join("xdg-open");
    fs::write(&script, "#!/bin/sh\necho \"$1\" > \"$OPENED\"\n").expect("a script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("an executable");
    format!("{}:/usr/bin:/bin", folder.display())
}

#[cfg(target_os = "linux")]
#[test]
fn open_shows_the_page_in_a_browser() {
    let folder = folder_of(&model_pair());
    let opened = folder.path().join("opened");
    let path = fake_browser(folder.path());
    let mut command = diff(&folder, &["--emit", "md", "--open"]);
    assert!(command.env("PATH", path).env("OPENED", &opened).status().expect("a run").success());
    // The command does not wait for the browser.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    let page = loop {
        match fs::read_to_string(&opened) {
            Ok(page) if !page.is_empty() => break page,
            _ => assert!(std::time::Instant::now() < deadline, "nothing was opened"),
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    assert!(page.trim_end().ends_with("report/report.html"), "{page}");
    assert!(folder.path().join("report/report.html").exists());
}

#[test]
fn without_a_browser_the_command_says_what_to_open() {
    let folder = folder_of(&model_pair());
    let output = diff(&folder, &["--open"]).env("PATH", folder.path()).output().expect("a run");
    assert!(output.status.success());
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(messages.contains("open report/report.html in a browser"), "{messages}");
}
