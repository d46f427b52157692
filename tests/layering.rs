//! Checks that each module uses only modules that precede it in the data flow, and only dependencies that it may use.

#[path = "support/imports.rs"]
mod imports;

use imports::{Modules, Ties};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders with the library's modules: the crate that reads a single trace, and the crate that compares two traces.
const ROOTS: [&str; 2] = ["crates/tracetree-trace/src", "src"];
/// The library's modules in the order in which data flows through them.
const LAYERS: [&str; 17] = [
    "escape",
    "order",
    "signed",
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
    "snapshot",
];
/// The crates that use the library, without the prefix `tracetree-`. The order of these crates needs no test, because
/// the compiler enforces it.
const CRATES: [&str; 5] = ["gate", "fleet", "model", "repro", "cli"];

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

/// The modules of the library that a file uses, apart from modules that are mentioned only in comments.
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
            // `use crate::{a, b}` names several modules.
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

/// The source files of one library module, or of one crate that uses the library.
fn module_files(module: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if CRATES.contains(&module) {
        return sources(&root.join(format!("crates/tracetree-{module}/src")));
    }
    let places = ROOTS.iter().flat_map(|source| {
        [root.join(source).join(module), root.join(source).join(format!("{module}.rs"))]
    });
    places.filter(|place| place.exists()).flat_map(|place| sources(&place)).collect()
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
fn a_module_uses_only_modules_before_it() {
    for (at, module) in LAYERS.iter().enumerate() {
        assert!(!module_files(module).is_empty(), "{module} is missing");
        assert_uses_only(module, &LAYERS[..at]);
    }
}

/// The names that a file imports from dependencies. For example, `use a::{b, c::D as E};` imports `b` and `E`.
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

/// The source text of public function signatures, public fields and public types.
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
            // A tuple field without `pub` is private, so the text ends before the tuple fields. Fields marked `pub` are
            // collected separately.
            false if rest.starts_with("pub struct") => &['{', ';', '('],
            false => &['{', ';'],
        };
        rest[..rest.find(ends).unwrap_or(rest.len())].to_owned()
    };
    starts.map(|(at, _)| text(at)).filter(|text| !text.starts_with("pub use")).collect()
}

/// Code that uses the library must not depend on the versions of the library's dependencies.
#[test]
fn no_type_of_a_dependency_is_in_a_public_signature() {
    for file in LAYERS.iter().chain(&CRATES).flat_map(|module| module_files(module)) {
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

/// For each dependency, the modules that may use it (called *doors* here). If several modules may use a dependency, a
/// comment explains why.
const DOORS: [(&str, &[&str]); 44] = [
    ("anstream", &["cli"]),
    ("anstyle", &["cli"]),
    ("arrow_array", &["report"]),
    ("arrow_schema", &["report"]),
    ("askama", &["report"]),
    // The Parquet reader takes buffers of type `Bytes`, and storage requests return `Bytes`.
    ("bytes", &["storage", "report"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("crc32fast", &["trace"]),
    // Tables are written by `report`; a measured profile is read by `model`.
    ("csv", &["report", "model"]),
    // Compressed input is read by `trace`; compressed output is written by `report`.
    ("flate2", &["trace", "report", "gate"]),
    ("futures_util", &["storage"]),
    ("hashbrown", &["trace"]),
    // Call stacks in a flame graph are stored as a tree.
    ("indextree", &["report"]),
    ("indicatif", &["cli"]),
    ("inferno", &["report"]),
    ("itoa", &["trace"]),
    ("memchr", &["analysis"]),
    ("object_store", &["storage"]),
    ("open", &["cli"]),
    ("petgraph", &["tree"]),
    ("quick_junit", &["gate"]),
    ("parquet", &["report"]),
    // Work that runs in parallel with rayon: loading two traces, aligning trees while computing facts about each tree,
    // classifying work while building table rows, writing report files, and comparing ranks.
    (
        "rayon",
        &["side", "diff", "analysis", "storage", "comparison", "report", "gate", "fleet", "cli"],
    ),
    // Only object_store uses reqwest, to connect to servers.
    ("reqwest", &[]),
    ("regex", &["trace"]),
    ("rust_xlsxwriter", &["report"]),
    // All maps whose iteration order does not matter use this hasher.
    (
        "rustc_hash",
        &["trace", "tree", "program", "diff", "analysis", "report", "gate", "fleet", "snapshot"],
    ),
    ("rustls", &["storage"]),
    // Values that are read from files or written to files derive serde's traits.
    (
        "serde",
        &[
            "side", "trace", "tree", "program", "diff", "analysis", "tables", "report", "gate",
            "fleet", "model",
        ],
    ),
    // JSON occurs inside traces (in shapes and lists) and in reports.
    (
        "serde_json",
        &["escape", "trace", "analysis", "tables", "report", "gate", "fleet", "model", "repro"],
    ),
    ("serde_saphyr", &["model"]),
    ("signal_hook", &["cli"]),
    ("simd_json", &["trace"]),
    ("similar", &["diff"]),
    ("special", &["analysis"]),
    ("strsim", &["program"]),
    // Unpacked files that are read at any position.
    ("tempfile", &["storage"]),
    ("terminal_size", &["cli"]),
    ("tokio", &["storage"]),
    // Users write files with aliases, categories, rules and scenarios; these files are in TOML format.
    ("toml", &["diff", "analysis", "gate", "model"]),
    ("twox_hash", &["trace", "report", "gate", "fleet"]),
    ("zstd", &["trace"]),
];

/// All dependencies of the library and of the crates that use the library, with their names as spelled in Rust code.
fn dependencies() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = CRATES.iter().chain(&["trace"]);
    let crates = crates.map(|name| root.join(format!("crates/tracetree-{name}")));
    let manifests = std::iter::once(root.to_owned())
        .chain(crates)
        .map(|folder| fs::read_to_string(folder.join("Cargo.toml")).expect("a readable manifest"));
    let all = manifests.flat_map(|manifest| dependencies_of(&manifest));
    all.filter(|name| !name.starts_with("tracetree")).collect()
}

/// Whether the code contains a path that begins with the given crate.
fn uses(code: &str, name: &str) -> bool {
    code.match_indices(&format!("{name}::")).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':')
    })
}

/// Only the modules in [`DOORS`] may use a dependency.
#[test]
fn each_dependency_is_used_only_by_its_modules() {
    for name in dependencies() {
        let (_, doors) = DOORS
            .iter()
            .find(|(known, _)| *known == name)
            .unwrap_or_else(|| panic!("{name} has no door in tests/layering.rs"));
        for module in LAYERS.iter().chain(&CRATES).filter(|m| !doors.contains(m)) {
            for file in module_files(module) {
                let text = fs::read_to_string(&file).expect("a readable source file");
                // Unit tests, which are at the end of a file, may use more.
                let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
                let code: Vec<&str> =
                    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
                let used = uses(&code.join("\n"), &name);
                assert!(!used, "{} uses {name}, which only {doors:?} may use", file.display());
            }
        }
    }
}

#[test]
fn a_crate_is_found_only_at_the_beginning_of_a_path() {
    assert!(uses("use csv::Writer;", "csv") && uses("let a = csv::Reader::from(b);", "csv"));
    assert!(!uses("use super::csv::write;", "csv") && !uses("my_csv::a", "csv"));
}

/// The Python package only exposes the library, so the crate of the Python package may use only these dependencies.
const PYTHON: [&str; 8] = [
    "arrow_array",
    "pyo3",
    "rayon",
    "tracetree",
    "tracetree_cli",
    "tracetree_fleet",
    "tracetree_gate",
    "tracetree_repro",
];

fn dependencies_of(manifest: &str) -> Vec<String> {
    let (_, rest) = manifest.split_once("\n[dependencies]\n").expect("a list of dependencies");
    let list = rest.split("\n[").next().unwrap_or_default();
    let names = list.lines().filter(|line| !line.starts_with('#'));
    names.filter_map(|line| Some(line.split_once(" = ")?.0.replace('-', "_"))).collect()
}

#[test]
fn the_python_package_depends_only_on_the_library() {
    assert_eq!(dependencies_of(include_str!("../python/Cargo.toml")), PYTHON);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/src");
    for file in sources(&folder) {
        let text = fs::read_to_string(&file).expect("a readable source file");
        // The interpreter must be accessed only through the safe API of pyo3.
        assert!(!text.contains("unsafe"), "{} has unsafe code", file.display());
        // Only one file passes Arrow tables to Python, and no file in the package reads them.
        let arrow = text.contains("arrow_array");
        assert!(!arrow || file.ends_with("table.rs"), "{} uses arrow_array", file.display());
        let threads = text.contains("rayon");
        assert!(!threads || file.ends_with("work.rs"), "{} uses rayon", file.display());
    }
}

/// The largest number of files that may use each other in a circle.
const LARGEST_CIRCLE: usize = 4;

/// The circles that remain, each with the module whose file takes part in it, and a reason.
const CIRCLES: [(&str, &str); 13] = [
    (
        "crates/tracetree-cli/src",
        "the pages of the manual are generated from the parser of the arguments",
    ),
    ("crates/tracetree-cli/src/summary", "the screen shows the summary that its module collects"),
    ("crates/tracetree-gate/src/recording", "a recording adds its own places"),
    ("crates/tracetree-trace/src/program", "the evidence of a program is one of its facts"),
    (
        "crates/tracetree-trace/src/program/layers",
        "layers are found by two methods, which return them",
    ),
    ("crates/tracetree-trace/src/program/model", "the model is built from signs of two kinds"),
    (
        "crates/tracetree-trace/src/storage",
        "a location is a local path or an address, and both list locations",
    ),
    ("crates/tracetree-trace/src/trace/reader/repair", "the rewriter asks which bytes to repair"),
    ("crates/tracetree-trace/src/tree", "nesting fills the columns of the tree"),
    ("src/comparison", "the median run of a side is found with the options of the comparison"),
    ("src/report", "a report writes its folder"),
    ("src/report/markdown", "the three parts of the document share its writer"),
    ("src/report/text/narrative", "the three parts of the screen share its figures"),
];

/// The groups of files that use each other in a circle.
fn circles(ties: &Ties) -> Vec<Vec<&str>> {
    let graph: DiGraphMap<&str, ()> = ties.keys().map(|(from, to)| (&**from, &**to)).collect();
    tarjan_scc(&graph).into_iter().filter(|files| files.len() > 1).collect()
}

/// For each pair of files in a circle, a line with the names that the first file uses from the second file.
fn describe(ties: &Ties, files: &[&str]) -> String {
    let has = |file: &String| files.contains(&file.as_str());
    let inside = ties.iter().filter(|((from, to), _)| has(from) && has(to));
    let lines = inside.map(|((from, to), names)| {
        let names = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        format!("  {from} uses {names} of {to}\n")
    });
    lines.collect()
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files =
        ["src", "crates", "python/src"].iter().flat_map(|folder| sources(&root.join(folder)));
    let files = files.filter(|file| file.extension().is_some_and(|end| end == "rs")).map(|file| {
        let path = file.strip_prefix(root).expect("a file of the repository");
        let text = fs::read_to_string(&file).expect("a readable source file");
        (path.to_string_lossy().replace('\\', "/"), text)
    });
    let ties = Modules::of(files).ties();
    assert!(ties.len() > 1000, "only {} ties were found", ties.len());
    let mut found: Vec<&str> = Vec::new();
    for files in circles(&ties) {
        let known = CIRCLES.iter().find(|(module, _)| files.contains(module));
        let is_small = files.len() <= LARGEST_CIRCLE;
        let text = describe(&ties, &files);
        assert!(is_small, "move one of the names to a file that both can use:\n{text}");
        let (module, _) = known.unwrap_or_else(|| panic!("not in the list of circles:\n{text}"));
        found.push(module);
    }
    let gone = CIRCLES.iter().filter(|(module, _)| !found.contains(module));
    assert_eq!(gone.collect::<Vec<_>>(), [&("", ""); 0], "remove what is no longer a circle");
}

#[test]
fn a_circle_is_found_through_a_reexport_and_between_a_folder_and_its_files() {
    let circles_of = |files: &[(&str, &str)]| {
        let files = files.iter().map(|&(path, code)| (path.to_owned(), code.to_owned()));
        let ties = Modules::of(files).ties();
        circles(&ties).iter().map(|files| describe(&ties, files)).collect::<Vec<_>>()
    };
    let folder =
        ("src/a/mod.rs", "pub use one::{One, self as first};\nuse two::Two;\nstruct All(Two);");
    let one = ("src/a/one.rs", "use super::two::{self, Two};\npub struct One;");
    let two =
        ("src/a/two.rs", "pub struct Two;\n#[cfg(test)]\nmod tests {\n    use super::One;\n}");
    assert_eq!(circles_of(&[folder, one, two]), [""; 0]);
    let through = ("src/a/two.rs", "fn two() -> crate::a::One {}");
    let found = circles_of(&[folder, one, through]);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("src/a/two uses One of src/a/one"), "{found:?}");
    let upward = ("src/a/two.rs", "use super::All;\npub struct Two;");
    let found = circles_of(&[folder, one, upward]);
    assert!(found[0].contains("src/a/two uses All of src/a"), "{found:?}");
}
