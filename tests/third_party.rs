//! `THIRD-PARTY.md` names what the command is made of: each crate with its version, and no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Names and versions, as `serde 1.0.228`.
type Crates = BTreeSet<String>;

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect(file)
}

/// The crates that the notices name: `- serde 1.0.228 <https://…>`.
fn named(notices: &str) -> Crates {
    let items = notices.lines().filter_map(|line| line.strip_prefix("- "));
    let words = items.map(|item| item.split(' ').take(2).collect::<Vec<_>>().join(" "));
    words.filter(|words| words.ends_with(|end: char| end.is_ascii_digit())).collect()
}

/// The crates that the command is made of on this machine. Cargo looks at the lock file and at what it
/// has compiled, and asks nobody.
fn linked() -> Crates {
    let arguments = [
        "tree",
        "--offline",
        "--locked",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ];
    let output = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments)
        .output()
        .expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("UTF-8");
    let packages = tree.lines().filter_map(|line| line.split_once(" v"));
    packages
        .map(|(name, rest)| format!("{name} {}", rest.split(' ').next().unwrap_or_default()))
        .filter(|package| !package.starts_with(env!("CARGO_PKG_NAME")))
        .collect()
}

/// All crates of the lock file, also those of tests and of other systems.
fn locked() -> Crates {
    let lock = read("Cargo.lock");
    let value = |line: &str, key: &str| {
        Some(line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"')?.to_owned())
    };
    let lines: Vec<&str> = lock.lines().collect();
    let pairs = lines.windows(2).filter_map(|pair| {
        let (name, version) = (value(pair[0], "name")?, value(pair[1], "version")?);
        Some(format!("{name} {version}"))
    });
    pairs.collect()
}

const REMEDY: &str = "make THIRD-PARTY.md again: CONTRIBUTING.md has the command";

#[test]
fn every_crate_of_the_command_is_named_with_its_version() {
    let (named, linked) = (named(&read("THIRD-PARTY.md")), linked());
    assert!(linked.len() > 100, "{linked:?}");
    let missing: Vec<&String> = linked.difference(&named).collect();
    assert!(missing.is_empty(), "{missing:?} are not named; {REMEDY}");
}

#[test]
fn no_crate_is_named_that_is_gone() {
    let (named, locked) = (named(&read("THIRD-PARTY.md")), locked());
    let gone: Vec<&String> = named.difference(&locked).collect();
    assert!(gone.is_empty(), "{gone:?} are not in Cargo.lock; {REMEDY}");
}

#[test]
fn the_licence_of_what_every_flame_graph_contains_is_told() {
    let notices = read("THIRD-PARTY.md");
    assert!(notices.contains("## Common Development and Distribution License 1.0\n\n- inferno "));
    assert!(read("README.md").contains("CDDL-1.0"));
}
