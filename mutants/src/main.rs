//! Mutation testing: how many small faults in the code do the tests detect?
//!
//! `cargo mutants` lists the faults and tries each in a separate build, which takes minutes. Here all
//! of them are compiled into one copy of the sources, each behind a switch, so that a fault costs only
//! the tests that reach it:
//!
//! ```text
//! cargo mutants --list --json          every mutant
//!   → switches    a + b  becomes  (if is(7) { a - b } else { a + b })
//!   → compile     mutants that do not compile are removed, round by round
//!   → reached     which test reaches which mutant
//!   → outcome     a sample of them, each against the tests that reach it
//! ```
//!
//! Run `cargo run --release -- [SAMPLE] [SEED]` in this folder, with cargo-mutants installed. Results
//! are cached in `target/kept` for each state of the sources, and are not computed again.

mod compile;
mod mutant;
mod outcome;
mod reached;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/support/splitmix.rs"]
mod splitmix;
mod switches;

use mutant::Mutant;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// The folders that are mutated: those that determine the content of a report.
const FOLDERS: [&str; 4] =
    ["crates/tracetree-trace/src/program", "src/diff", "src/analysis", "src/tables"];

/// The sources of the crates with mutants.
const SOURCES: [&str; 2] = ["crates/tracetree-trace/src", "src"];

/// The folders in use.
struct Places {
    repository: PathBuf,
    /// The copy of the repository that contains the mutants.
    tree: PathBuf,
    /// The build folder of the copy.
    target: PathBuf,
    /// Cached results for the current sources.
    sources: PathBuf,
    /// Cached results for the current sources and tests.
    tests: PathBuf,
}

impl Places {
    fn new(repository: &Path) -> io::Result<Places> {
        let target = repository.join("mutants/target");
        let kept = |folders: &[&str]| -> io::Result<PathBuf> {
            let folder = target.join("kept").join(format!("{:016x}", hash(repository, folders)?));
            fs::create_dir_all(&folder)?;
            Ok(folder)
        };
        Ok(Places {
            tree: target.join("tree"),
            sources: kept(&SOURCES)?,
            tests: kept(&[&SOURCES[..], &["tests"]].concat())?,
            target: target.join("build"),
            repository: repository.to_owned(),
        })
    }
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number = |at: usize, otherwise| match arguments.get(at) {
        Some(text) => text.parse().expect("SAMPLE and SEED must be numbers"),
        None => otherwise,
    };
    let (sample, seed) = (number(0, 300), number(1, 1));
    let places = Places::new(Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder"))?;
    let mutants = list(&places)?;
    let compiled = prepare(&places, &mutants)?;
    println!("{} of {} mutants compile", compiled.len(), mutants.len());
    let programs = compile::test_programs(&places)?;
    let reached = reached::read_or_record(&places, &programs)?;
    let chosen = outcome::sample(&compiled, sample, seed);
    let outcomes = outcome::run(&places, &programs, &reached, &mutants, &chosen)?;
    outcome::print(&mutants, &outcomes);
    Ok(())
}

fn list(places: &Places) -> io::Result<Vec<Mutant>> {
    let mut command = Command::new("cargo");
    command.current_dir(&places.repository).args(["mutants", "--list", "--json"]);
    for folder in FOLDERS {
        command.args(["-f", &format!("{folder}/**/*.rs")]);
    }
    Ok(serde_json::from_slice(&command.output()?.stdout)?)
}

/// Creates the copy with all mutants that compile, and returns their numbers.
fn prepare(places: &Places, mutants: &[Mutant]) -> io::Result<Vec<usize>> {
    let kept = places.sources.join("left_out.json");
    let mut left_out: BTreeSet<usize> = match fs::read(&kept) {
        Ok(text) => serde_json::from_slice(&text)?,
        Err(_) => BTreeSet::new(),
    };
    copy(places)?;
    let compiled = loop {
        let written = switches::write(places, mutants, &left_out)?;
        let broken = compile::broken(places, mutants, &left_out)?;
        if broken.is_empty() {
            break written;
        }
        println!("{} mutants do not compile", broken.len());
        left_out.extend(broken);
        fs::write(&kept, serde_json::to_vec(&left_out)?)?;
    };
    Ok(compiled)
}

/// Files tracked by git in these folders, or in the whole repository if none is given.
fn files(repository: &Path, folders: &[&str]) -> io::Result<Vec<String>> {
    let output =
        Command::new("git").current_dir(repository).arg("ls-files").args(folders).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

fn hash(repository: &Path, folders: &[&str]) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    for file in files(repository, folders)? {
        (&file, fs::read(repository.join(&file)).ok()).hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// Copies the files tracked by git, with uncommitted changes.
fn copy(places: &Places) -> io::Result<()> {
    for file in files(&places.repository, &[])? {
        let (from, to) = (places.repository.join(&file), places.tree.join(&file));
        if !from.is_file() || fs::read(&from).ok() == fs::read(&to).ok() {
            continue;
        }
        fs::create_dir_all(to.parent().expect("a folder"))?;
        fs::copy(from, to)?;
    }
    for sources in SOURCES {
        let switches = places.tree.join(sources).join("mutation.rs");
        fs::write(switches, include_str!("../runtime/mutation.rs"))?;
    }
    Ok(())
}
