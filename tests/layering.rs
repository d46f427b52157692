//! A module uses only what stands before it: the folders are the way of the data.

use std::fs;
use std::path::{Path, PathBuf};

/// The library's modules in the order in which data passes them.
const LAYERS: [&str; 7] = ["error", "side", "trace", "tree", "diff", "analysis", "report"];
/// Beside the line: what it may use.
const MODEL: [&str; 2] = ["error", "trace"];

fn sources(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_path_buf()];
    }
    let mut files: Vec<PathBuf> = fs::read_dir(path)
        .expect("a source folder")
        .flat_map(|entry| sources(&entry.expect("a folder entry").path()))
        .collect();
    files.sort();
    files
}

/// The modules of the crate that a file names after `crate::`, doc comments left out.
fn used_modules(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).expect("a readable source file");
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n");
    code.match_indices("crate::")
        .flat_map(|(at, found)| {
            let rest = &code[at + found.len()..];
            // `use crate::{a, b}` names several.
            let names = match rest.strip_prefix('{') {
                Some(list) => list.split('}').next().unwrap_or_default(),
                None => rest
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .next()
                    .unwrap_or_default(),
            };
            names
                .split(',')
                .map(|name| name.trim().split(':').next().unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        })
        .filter(|name| !name.is_empty())
        .collect()
}

fn module_files(module: &str) -> Vec<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folder = source.join(module);
    let file = source.join(format!("{module}.rs"));
    let place = if folder.is_dir() { folder } else { file };
    if place.exists() { sources(&place) } else { Vec::new() }
}

fn assert_uses_only(module: &str, allowed: &[&str]) {
    for file in module_files(module) {
        for used in used_modules(&file) {
            assert!(
                used == module || allowed.contains(&used.as_str()),
                "{} uses crate::{used}; {module} may use only {allowed:?}",
                file.display()
            );
        }
    }
}

#[test]
fn a_module_uses_only_what_stands_before_it() {
    for (at, module) in LAYERS.iter().enumerate() {
        assert!(!module_files(module).is_empty(), "src/{module} is missing");
        assert_uses_only(module, &LAYERS[..at]);
    }
    assert_uses_only("model", &MODEL);
}

#[test]
fn the_binary_uses_only_the_public_api() {
    for file in module_files("cli") {
        for used in used_modules(&file) {
            assert!(used == "cli", "{} uses crate::{used}", file.display());
        }
    }
}

/// A crate's types stay behind one door.
#[test]
fn each_crate_has_one_door() {
    // Compressed input comes in through `trace`; the one packed output goes out through `report`.
    let doors: [(&str, &[&str]); 13] = [
        ("simd_json", &["trace"]),
        ("flate2", &["trace", "report"]),
        ("zstd", &["trace"]),
        ("crc32fast", &["trace"]),
        ("petgraph", &["tree"]),
        ("similar", &["diff"]),
        ("csv::", &["report"]),
        ("askama", &["report"]),
        ("inferno", &["report"]),
        ("rust_xlsxwriter", &["report"]),
        ("clap", &["cli"]),
        ("indicatif", &["cli"]),
        ("open::", &["cli"]),
    ];
    for (name, doors) in doors {
        for module in LAYERS.iter().chain(&["cli"]).filter(|module| !doors.contains(module)) {
            for file in module_files(module) {
                let text = fs::read_to_string(&file).expect("a readable source file");
                let used = text.lines().map(str::trim_start).any(|line| {
                    !line.starts_with("//")
                        && line.starts_with("use ")
                        && line.contains(&format!("use {name}"))
                });
                assert!(!used, "{} uses {name}, whose door is {doors:?}", file.display());
            }
        }
    }
}
