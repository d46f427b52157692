//! Checks that `THIRD-PARTY.md` lists exactly the crates that are linked into the command, with their versions. Also
//! checks some rules in `deny.toml` without running cargo-deny.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Names and versions of crates, such as `serde 1.0.228`.
type Crates = BTreeSet<String>;

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect(file)
}

/// The names and versions of the crates in the notices, which list crates in the form `- serde 1.0.228 <https://…>`.
fn named(notices: &str) -> Crates {
    let items = notices.lines().filter_map(|line| line.strip_prefix("- "));
    let words = items.map(|item| item.split(' ').take(2).collect::<Vec<_>>().join(" "));
    words.filter(|words| words.ends_with(|end: char| end.is_ascii_digit())).collect()
}

/// The crates that are linked into the command on this machine. To list these crates, Cargo reads only the lock file
/// and local packages, and does not access the network.
fn linked() -> Crates {
    let arguments = [
        "tree",
        "--features",
        "full",
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
        .filter(|package| !package.starts_with("tracetree-"))
        .collect()
}

/// All crates in the lock file, including crates for tests and for other operating systems.
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

/// The rules in `deny.toml`.
fn rules() -> toml::Table {
    read("deny.toml").parse().expect("TOML")
}

/// The items in a TOML list of strings.
fn texts(list: &toml::Value) -> Vec<&str> {
    let list = list.as_array().expect("a list");
    list.iter().map(|text| text.as_str().expect("a text")).collect()
}

/// Older versions of crates, such as `syn@2`, that are allowed although a newer version is also used.
fn allowed_duplicates(rules: &toml::Table) -> Vec<&str> {
    let skipped = rules["bans"]["skip"].as_array().expect("a list");
    skipped.iter().map(|entry| entry["crate"].as_str().expect("a text")).collect()
}

/// Whether a package such as `syn 2.0.119` matches `syn@2`.
fn is_version_of(package: &str, allowed: &str) -> bool {
    let allowed = allowed.replace('@', " ");
    package.strip_prefix(&allowed).is_some_and(|rest| rest.starts_with('.'))
}

#[test]
fn every_crate_comes_from_a_registry_that_the_rules_allow() {
    let rules = rules();
    let allowed = texts(&rules["sources"]["allow-registry"]);
    let lock = read("Cargo.lock");
    let sources: Vec<&str> =
        lock.lines().filter_map(|line| line.strip_prefix("source = ")).collect();
    assert!(sources.len() > 100, "{sources:?}");
    for source in sources {
        let registry = source.trim_matches('"').strip_prefix("registry+").unwrap_or(source);
        assert!(allowed.contains(&registry), "deny.toml does not allow the source {source}");
    }
}

#[test]
fn only_crates_that_the_rules_name_are_in_the_command_twice() {
    let (rules, linked) = (rules(), linked());
    let allowed = allowed_duplicates(&rules);
    let mut versions: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for package in &linked {
        let name = package.split(' ').next().unwrap_or_default();
        let is_allowed = allowed.iter().any(|allowed| is_version_of(package, allowed));
        versions.entry(name).or_default().extend((!is_allowed).then_some(package));
    }
    let twice: Vec<&Vec<&String>> = versions.values().filter(|list| list.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:?}: use one version, or name the older one in deny.toml");
    let locked = locked();
    let is_needed = |allowed: &str| locked.iter().any(|package| is_version_of(package, allowed));
    let gone: Vec<&str> = allowed.iter().filter(|allowed| !is_needed(allowed)).copied().collect();
    assert!(gone.is_empty(), "{gone:?} are in deny.toml and not in Cargo.lock");
}

#[test]
fn the_rules_and_the_notices_allow_the_same_licences() {
    let (rules, about): (toml::Table, toml::Table) =
        (rules(), read("about.toml").parse().expect("TOML"));
    assert_eq!(texts(&rules["licenses"]["allow"]), texts(&about["accepted"]));
    assert_eq!(texts(&rules["graph"]["targets"]), texts(&about["targets"]));
}

const REMEDY: &str = "regenerate THIRD-PARTY.md: just notices";

#[test]
fn every_crate_of_the_command_is_named_with_its_version() {
    let (named, linked) = (named(&read("THIRD-PARTY.md")), linked());
    assert!(linked.len() > 100, "{linked:?}");
    let missing: Vec<&String> = linked.difference(&named).collect();
    assert!(missing.is_empty(), "{missing:?} are not named; {REMEDY}");
}

#[test]
fn the_notices_name_no_removed_crate() {
    let (named, locked) = (named(&read("THIRD-PARTY.md")), locked());
    let gone: Vec<&String> = named.difference(&locked).collect();
    assert!(gone.is_empty(), "{gone:?} are not in Cargo.lock; {REMEDY}");
}

#[test]
fn the_licence_of_the_code_in_every_flame_graph_is_named() {
    let notices = read("THIRD-PARTY.md");
    assert!(notices.contains("## Common Development and Distribution License 1.0\n\n- inferno "));
    assert!(read("README.md").contains("CDDL-1.0"));
}

/// The actions that a workflow uses, such as `actions/checkout@… # v6.0.2`.
fn actions(workflow: &str) -> Vec<&str> {
    let lines = workflow.lines().map(|line| line.trim_start().trim_start_matches("- "));
    lines.filter_map(|line| line.strip_prefix("uses: ")).collect()
}

/// Whether an action is named by the hash of a commit, with the version in a comment.
fn is_pinned(action: &str) -> bool {
    let Some((name, version)) = action.split_once(" # v") else { return false };
    let hash = name.split_once('@').map_or("", |(_, hash)| hash);
    hash.len() == 40
        && hash.bytes().all(|digit| digit.is_ascii_hexdigit())
        && version.starts_with(|digit: char| digit.is_ascii_digit())
}

#[test]
fn every_action_is_pinned_to_a_commit() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/workflows");
    let files = fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
    let texts =
        files.map(|file| fs::read_to_string(file).expect("text")).chain([read("action.yml")]);
    let texts: Vec<String> = texts.collect();
    let actions: Vec<&str> = texts.iter().flat_map(|text| actions(text)).collect();
    assert!(actions.len() > 20, "{actions:?}");
    let unpinned: Vec<&&str> = actions.iter().filter(|action| !is_pinned(action)).collect();
    assert!(unpinned.is_empty(), "{unpinned:?}: just pin");
    assert!(!is_pinned("actions/checkout@v6"));
}
