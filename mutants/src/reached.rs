//! Test programs → the mutants that each test reaches, and how long it takes.

use crate::Places;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{fs, io};

/// A test that passes without mutants.
#[derive(Debug, Serialize, Deserialize)]
pub struct Test {
    /// Name of its program.
    pub program: String,
    pub name: String,
    pub seconds: f64,
    pub reaches: BTreeSet<usize>,
}

/// The command that runs a test program.
pub fn command(places: &Places, program: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(&places.tree)
        .env("CARGO_MANIFEST_DIR", &places.tree)
        .env("INSTA_UPDATE", "no")
        .env("INSTA_FORCE_PASS", "0")
        .env("RUST_BACKTRACE", "0")
        .env_remove("TRACETREE_BROWSER")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(traces) = std::env::var_os("TRACETREE_TRACES") {
        let traces = fs::canonicalize(places.repository.join(traces)).expect("a folder of traces");
        command.env("TRACETREE_TRACES", traces);
    }
    command
}

/// All tests, from the cache if it exists.
pub fn read_or_record(
    places: &Places,
    programs: &BTreeMap<String, PathBuf>,
) -> io::Result<Vec<Test>> {
    let kept = places.tests.join("reached.json");
    if let Ok(text) = fs::read(&kept) {
        return Ok(serde_json::from_slice(&text)?);
    }
    let mut tests = Vec::new();
    for (program, path) in programs {
        for name in names(places, path)? {
            match record(places, program, path, &name)? {
                Some(test) => tests.push(test),
                None => println!("skipped because it fails on its own: {name}"),
            }
        }
    }
    fs::write(kept, serde_json::to_vec(&tests)?)?;
    Ok(tests)
}

fn names(places: &Places, program: &Path) -> io::Result<Vec<String>> {
    let output = command(places, program)
        .args(["--list", "--format", "terse"])
        .stdout(Stdio::piped())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

fn record(places: &Places, program: &str, path: &Path, name: &str) -> io::Result<Option<Test>> {
    let file = places.tests.join("reached.txt");
    let _ = fs::remove_file(&file);
    let start = Instant::now();
    let status = command(places, path).args(["--exact", name]).env("TT_REACHED", &file).status()?;
    let seconds = start.elapsed().as_secs_f64();
    let text = fs::read_to_string(&file).unwrap_or_default();
    let reaches = text.lines().filter_map(|line| line.parse().ok()).collect();
    let (program, name) = (program.to_owned(), name.to_owned());
    Ok(status.success().then_some(Test { program, name, seconds, reaches }))
}
