//! A module uses only what stands before it: the folders are the way of the data.

use std::fs;
use std::path::{Path, PathBuf};

/// The library's modules in the order in which data passes them.
const LAYERS: [&str; 16] = [
    "escape",
    "error",
    "cancel",
    "storage",
    "side",
    "condition",
    "trace",
    "tree",
    "program",
    "diff",
    "analysis",
    "tables",
    "report",
    "comparison",
    "gate",
    "fleet",
];
/// Beside the line: what it may use.
const MODEL: [&str; 4] = ["escape", "error", "condition", "trace"];

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
fn the_command_line_names_the_library_as_other_programs_do() {
    for file in module_files("cli") {
        for used in used_modules(&file) {
            assert!(used == "cli", "{} uses crate::{used}", file.display());
        }
    }
}

/// The names that a file imports from dependencies: `use a::{b, c::D as E};` gives `b` and `E`.
fn imported_names(code: &str) -> Vec<String> {
    let statements = code.split(';').map(str::trim_start);
    let uses = statements.filter_map(|statement| {
        let at = statement.rfind("use ")?;
        let path = &statement[at + "use ".len()..];
        DOORS.iter().any(|(name, _)| path.starts_with(&format!("{name}::"))).then_some(path)
    });
    uses.flat_map(|path| path.split([',', '{', '}']))
        .filter_map(|path| path.trim().rsplit([':', ' ']).next().filter(|name| !name.is_empty()))
        .map(str::to_owned)
        .collect()
}

/// Signatures of public functions, and public fields and types, each as one text.
fn public_signatures(code: &str) -> Vec<String> {
    let starts = code.match_indices("pub ").filter(|&(at, _)| {
        code[..at].chars().next_back().is_none_or(|before| before.is_whitespace() || before == '(')
    });
    let text = |at: usize| {
        let rest = &code[at..];
        let is_field = !["pub fn", "pub const fn", "pub struct", "pub enum", "pub type"]
            .iter()
            .any(|start| rest.starts_with(start));
        let ends: &[char] = match is_field {
            true => &['\n'],
            // Fields of a tuple are private unless they say otherwise, and then stand by themselves.
            false if rest.starts_with("pub struct") => &['{', ';', '('],
            false => &['{', ';'],
        };
        rest[..rest.find(ends).unwrap_or(rest.len())].to_owned()
    };
    starts.map(|(at, _)| text(at)).filter(|text| !text.starts_with("pub use")).collect()
}

/// A user of the library must not depend on the versions of its dependencies.
#[test]
fn no_type_of_a_dependency_stands_in_a_public_signature() {
    for file in LAYERS.iter().chain(&["model", "cli"]).flat_map(|module| module_files(module)) {
        let text = fs::read_to_string(&file).expect("a readable source file");
        let code: Vec<&str> =
            text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.join("\n");
        let imported = imported_names(&code);
        for signature in public_signatures(&code) {
            let words = signature.split(|c: char| !c.is_alphanumeric() && c != '_');
            let foreign = words.into_iter().find(|word| {
                imported.iter().any(|name| name == word)
                    || DOORS
                        .iter()
                        .any(|(name, _)| word == name && signature.contains(&format!("{name}::")))
            });
            assert_eq!(foreign, None, "{}: {signature}", file.display());
        }
    }
}

#[test]
fn a_foreign_type_in_a_signature_is_found() {
    let code = "use serde::{Deserialize, Serialize};\nuse toml::Spanned as At;\n\
                pub(super) fn a(b: Spanned) {}\npub fn f(\n    value: &impl Serialize,\n) {}\n";
    assert_eq!(imported_names(code), ["Deserialize", "Serialize", "At"]);
    let signatures = public_signatures(code);
    assert_eq!(signatures.len(), 1);
    assert!(signatures[0].contains("Serialize"));
}

/// The doors of each dependency: the modules that may use it, and why where there are several.
const DOORS: [(&str, &[&str]); 42] = [
    ("anstream", &["cli"]),
    ("anstyle", &["cli"]),
    ("arrow_array", &["report"]),
    ("arrow_schema", &["report"]),
    ("askama", &["report"]),
    // What the Parquet reader takes, and what requests give.
    ("bytes", &["storage", "report"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("crc32fast", &["trace"]),
    // Tables go out through `report`; a measured profile comes in through `model`.
    ("csv", &["report", "model"]),
    // Compressed input comes in through `trace`; packed output goes out through `report` and `gate`.
    ("flate2", &["trace", "report", "gate"]),
    ("futures_util", &["storage"]),
    ("hashbrown", &["trace"]),
    // Trees of equal calls: stacks of a flame graph, digests of runs.
    ("indextree", &["report", "gate"]),
    ("indicatif", &["cli"]),
    ("inferno", &["report"]),
    ("itoa", &["trace"]),
    ("object_store", &["storage"]),
    ("open", &["cli"]),
    ("petgraph", &["tree"]),
    ("quick_junit", &["gate"]),
    ("parquet", &["report"]),
    // Two traces load, one tree is looked at while both are aligned, kinds of work are told while rows are made, files of a
    // report are written, ranks are
    // compared at the same time.
    (
        "rayon",
        &["side", "diff", "analysis", "storage", "comparison", "report", "gate", "fleet", "cli"],
    ),
    // object_store connects through it; no code of ours names it.
    ("reqwest", &[]),
    ("regex", &["trace"]),
    ("rust_xlsxwriter", &["report"]),
    // A hasher: wherever there is a map that nothing is ordered by.
    ("rustc_hash", &["trace", "tree", "program", "diff", "analysis", "report", "gate", "fleet"]),
    ("rustls", &["storage"]),
    // Derives, wherever a value is read from a file or written to one.
    (
        "serde",
        &["trace", "program", "diff", "analysis", "tables", "report", "gate", "fleet", "model"],
    ),
    // JSON texts inside of traces (shapes, lists) and of reports.
    ("serde_json", &["trace", "analysis", "tables", "report", "gate", "fleet", "model"]),
    ("serde_saphyr", &["model"]),
    ("signal_hook", &["cli"]),
    ("simd_json", &["trace"]),
    ("similar", &["diff"]),
    ("special", &["analysis"]),
    ("strsim", &["program"]),
    ("terminal_size", &["cli"]),
    // Files that users write: aliases, categories, rules, scenarios.
    ("tokio", &["storage"]),
    ("toml", &["diff", "analysis", "gate", "model"]),
    ("twox_hash", &["trace", "report", "fleet"]),
    ("zstd", &["trace"]),
];

/// The dependencies that `Cargo.toml` names, as code writes them.
fn dependencies() -> Vec<String> {
    dependencies_of(include_str!("../Cargo.toml"))
}

/// Whether code names a crate at the beginning of a path.
fn uses(code: &str, name: &str) -> bool {
    code.match_indices(&format!("{name}::")).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':')
    })
}

/// A crate's types stay behind its door, in every folder.
#[test]
fn each_dependency_has_its_door() {
    for name in dependencies() {
        let (_, doors) = DOORS
            .iter()
            .find(|(known, _)| *known == name)
            .unwrap_or_else(|| panic!("{name} has no door in tests/layering.rs"));
        for module in LAYERS.iter().chain(&["model", "cli"]).filter(|m| !doors.contains(m)) {
            for file in module_files(module) {
                let text = fs::read_to_string(&file).expect("a readable source file");
                let code: Vec<&str> =
                    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
                let used = uses(&code.join("\n"), &name);
                assert!(!used, "{} uses {name}, whose door is {doors:?}", file.display());
            }
        }
    }
}

#[test]
fn a_crate_is_found_where_a_path_begins_with_it() {
    assert!(uses("use csv::Writer;", "csv") && uses("let a = csv::Reader::from(b);", "csv"));
    assert!(!uses("use super::csv::write;", "csv") && !uses("my_csv::a", "csv"));
}

/// The Python package hands over what the library has: its crate may use only these.
const PYTHON: [&str; 4] = ["arrow_array", "pyo3", "rayon", "tracetree"];

fn dependencies_of(manifest: &str) -> Vec<String> {
    let (_, rest) = manifest.split_once("\n[dependencies]\n").expect("a list of dependencies");
    let list = rest.split("\n[").next().unwrap_or_default();
    let names = list.lines().filter(|line| !line.starts_with('#'));
    names.filter_map(|line| Some(line.split_once(" = ")?.0.replace('-', "_"))).collect()
}

#[test]
fn the_python_package_stands_on_the_library_alone() {
    assert_eq!(dependencies_of(include_str!("../python/Cargo.toml")), PYTHON);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/src");
    for file in sources(&folder) {
        let text = fs::read_to_string(&file).expect("a readable source file");
        // The interpreter is reached through pyo3's safe side alone.
        assert!(!text.contains("unsafe"), "{} has unsafe code", file.display());
        // Arrow is handed over, and read by nobody here.
        let arrow = text.contains("arrow_array");
        assert!(!arrow || file.ends_with("table.rs"), "{} uses arrow_array", file.display());
        let threads = text.contains("rayon");
        assert!(!threads || file.ends_with("work.rs"), "{} uses rayon", file.display());
    }
}
