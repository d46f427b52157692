//! The tables of a report ↔ `docs/report.md`: every file has its chapter, every column is described.
#![cfg(feature = "cli")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const ENDS: [&str; 2] = ["_trace1", "_trace2"];

/// The report of two folders with the sample traces: all tables, and that of the ranks.
fn report() -> TempDir {
    let place = tempfile::tempdir().expect("a temporary folder");
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/traces");
    for (folder, sample) in [("a", "resnet.rocm.json.gz"), ("b", "resnet.cuda.json.gz")] {
        fs::create_dir(place.path().join(folder)).expect("a folder");
        let copy = place.path().join(folder).join("rank_0.json.gz");
        fs::copy(samples.join(sample), copy).expect("a sample trace");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_tracetree"));
    command.current_dir(place.path()).args(["diff", "a", "b", "-o", "report", "--emit", "none"]);
    assert!(command.output().expect("the program runs").status.success());
    place
}

/// Name and header of every CSV file of a report, the folders of its ranks included.
fn headers(folder: &Path) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(headers(&path));
        } else if path.extension().is_some_and(|end| end == "csv") {
            let mut reader = csv::Reader::from_path(&path).expect("a table");
            let header = reader.headers().expect("a header").iter().map(str::to_owned).collect();
            found.push((path.file_name().expect("a name").to_string_lossy().into_owned(), header));
        }
    }
    found
}

/// The chapter whose heading names `file`.
fn chapter<'d>(docs: &'d str, file: &str) -> &'d str {
    let title = format!("`{file}`");
    let mut chapters = docs.split("\n## ");
    chapters
        .find(|text| text.lines().next().is_some_and(|heading| heading.contains(&title)))
        .unwrap_or_else(|| panic!("docs/report.md has no chapter on {file}"))
}

/// The columns that a chapter describes: in the first cells of its tables, or in its sentences.
fn described(chapter: &str) -> BTreeSet<String> {
    chapter.lines().skip(1).flat_map(columns).collect()
}

/// The columns that a line names: `a_*` and `a_trace1/2` are two, and `_delta` is that of each
/// column before it.
fn columns(line: &str) -> Vec<String> {
    let cell = line.strip_prefix("| ").map_or(line, |row| row.split(" | ").next().unwrap_or(row));
    let mut stems: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for code in cell.split('`').skip(1).step_by(2) {
        if code.starts_with('_') {
            found.extend(stems.iter().map(|stem| format!("{stem}{code}")));
        } else if let Some(stem) = code.strip_suffix("_*") {
            found.extend(ENDS.map(|end| format!("{stem}{end}")));
            stems.push(stem.to_owned());
        } else if let Some((stem, end)) = code.split_once("1/2") {
            found.extend(["1", "2"].map(|side| format!("{stem}{side}{end}")));
        } else {
            found.push(code.to_owned());
        }
    }
    found
}

#[test]
fn every_column_of_every_table_is_described() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/report.md");
    let docs = fs::read_to_string(docs).expect("docs/report.md");
    let place = report();
    let headers = headers(&place.path().join("report"));
    assert!(headers.iter().any(|(file, _)| file == "ranks.csv"), "{headers:?}");
    let mut missing = Vec::new();
    for (file, header) in &headers {
        let known = described(chapter(&docs, file));
        missing.extend(header.iter().filter(|name| !known.contains(*name)).map(|n| (file, n)));
    }
    assert!(missing.is_empty(), "docs/report.md does not describe {missing:?}");
}

#[test]
fn a_line_of_the_documentation_names_columns() {
    let names = |line| columns(line).join(" ");
    assert_eq!(
        names("| `a_*`, `b_*`, each with `_delta` | `c` |"),
        "a_trace1 a_trace2 b_trace1 b_trace2 a_delta b_delta"
    );
    assert_eq!(names("| `k_trace1/2_sum` | µs | |"), "k_trace1_sum k_trace2_sum");
    assert_eq!(names("Grouped: `name`, `rows`."), "name rows");
}
