//! Reports libraries that differ between the sides. A Python frame names the line at which its function is defined, so
//! if most functions of a package moved, the package was upgraded or edited.
//!
//! Code that the library runs differently is a consequence: it is folded into this change. What user code calls
//! differently remains a change of its own.

use crate::analysis::changes::draft::{Draft, Drafts, fold_where, names};
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::place::either;
use crate::analysis::changes::subject::Subject;
use crate::diff::MergedId;
use crate::order::Order as _;
use crate::side::{PerSide, Side};
use crate::trace::{ByName, Category, Trace};
use crate::tree::{CallId, CallKind, CallTree};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Fewer shared functions are not enough evidence.
const FEWEST: usize = 3;

/// Folders that contain installed packages.
const INSTALLED: [&str; 2] = ["site-packages/", "dist-packages/"];

/// Packages that are recognized by the first folder of a path. The profiler removes the folder of installed packages
/// from paths, so an unknown package may be the user's own.
const PACKAGES: [&str; 33] = [
    "accelerate",
    "bitsandbytes",
    "datasets",
    "deepspeed",
    "diffusers",
    "einops",
    "fairscale",
    "flash_attn",
    "flax",
    "jax",
    "lightning",
    "megatron",
    "monai",
    "numpy",
    "optax",
    "peft",
    "pytorch_lightning",
    "sentence_transformers",
    "sglang",
    "timm",
    "tokenizers",
    "torch",
    "torch_geometric",
    "torchaudio",
    "torchtune",
    "torchvision",
    "transformer_engine",
    "transformers",
    "triton",
    "trl",
    "ultralytics",
    "vllm",
    "xformers",
];

/// For each function of a package, named by file and function, the lines at which it is defined.
type Lines<'a> = BTreeMap<(&'a str, &'a str), BTreeSet<&'a str>>;

/// How many functions of a package run on both sides, and how many of them moved to another line.
struct Library<'a> {
    package: &'a str,
    shared: usize,
    moved: usize,
}

impl Library<'_> {
    fn is_other(&self) -> bool {
        self.shared >= FEWEST && 2 * self.moved > self.shared
    }

    fn is_unchanged(&self) -> bool {
        self.shared >= FEWEST && self.moved == 0
    }
}

/// Reports the libraries that differ, and folds what they run differently into this change.
pub(super) fn claim(drafts: &mut Drafts<'_>) {
    let diff = drafts.diff;
    let lines = PerSide::from_fn(|side| lines(diff.tree(side).trace()));
    let mut libraries = compare(&lines);
    libraries.order_by_key(|library| (Reverse(library.moved), library.package));
    let others: Vec<&Library<'_>> = libraries.iter().filter(|library| library.is_other()).collect();
    if others.is_empty() {
        return;
    }
    let unchanged = libraries.iter().filter(|library| library.is_unchanged());
    let sentence = sentence(&others, &unchanged.map(|library| library.package).collect::<Vec<_>>());
    // Another device or version is part of the same change.
    let known = drafts.find(ChangeKind::Environment).first().copied();
    let at = known.unwrap_or_else(|| drafts.draft(ChangeKind::Environment, Subject::Libraries));
    drafts.at(at).pair(&sentence, "");
    let packages: BTreeSet<&str> = others.iter().map(|library| library.package).collect();
    let inside: BTreeSet<MergedId> = {
        let of_kinds = FOLDED.iter().flat_map(|&kind| drafts.find(kind));
        let nodes = of_kinds.flat_map(|at| drafts.all()[at].nodes.iter().copied());
        nodes.filter(|&node| is_inside(drafts, node, &packages)).collect()
    };
    let is_of_library = |draft: &Draft| {
        let has_ops = || names(draft).any(|name| name.contains("::"));
        !draft.nodes.is_empty()
            && draft.nodes.iter().all(|node| inside.contains(node))
            && (draft.kind != ChangeKind::Optimizer || !has_ops())
    };
    fold_where(drafts, at, &FOLDED, is_of_library);
    // An unchanged library does not choose which built-in functions run for the objects of an upgraded library.
    let is_by_library = |node: &MergedId| {
        let (side, call) = either(diff, *node);
        let caller = caller(diff.tree(side), call).and_then(parts);
        caller.is_some_and(|(path, ..)| package(path).is_some())
    };
    fold_where(drafts, at, &[ChangeKind::Python], |draft| {
        names(draft).all(|name| name.starts_with("<built-in"))
            && !draft.nodes.is_empty()
            && draft.nodes.iter().all(is_by_library)
    });
}

/// The kinds of changes that may happen inside a library.
const FOLDED: [ChangeKind; 4] =
    [ChangeKind::Ops, ChangeKind::Python, ChangeKind::Optimizer, ChangeKind::Arguments];

fn sentence(others: &[&Library<'_>], unchanged: &[&str]) -> String {
    let list = |words: Vec<String>| words.join(" and ");
    let packages = list(others.iter().map(|library| library.package.to_owned()).collect());
    let counts = others.iter().map(|library| format!("{} of {}", library.moved, library.shared));
    let were = if others.len() == 1 { "was" } else { "were" };
    let unchanged = match unchanged {
        [] => String::new(),
        packages => format!("; {} unchanged", packages.join(", ")),
    };
    let counts = list(counts.collect());
    format!("{packages} {were} upgraded or edited ({counts} shared functions moved{unchanged})")
}

/// The lines of the functions in each package, from the names of all frames.
fn lines(trace: &Trace) -> BTreeMap<&str, Lines<'_>> {
    let mut lines: BTreeMap<&str, Lines<'_>> = BTreeMap::new();
    let mut seen = ByName::new(trace);
    for event in trace.events() {
        if trace.category(event) != Category::PythonFunction {
            continue;
        }
        let name = trace.name_id(event);
        seen.get(name, || add_line(&mut lines, trace.text(name)));
    }
    lines
}

fn add_line<'a>(lines: &mut BTreeMap<&'a str, Lines<'a>>, name: &'a str) {
    let Some((path, line, function)) = parts(name) else { return };
    if let Some((package, file)) = package(path) {
        let functions = lines.entry(package).or_default();
        functions.entry((file, function)).or_default().insert(line);
    }
}

/// A function moved if no line at which it is defined is the same. Several functions of a file may have the same name.
fn compare<'a>(lines: &PerSide<BTreeMap<&'a str, Lines<'a>>>) -> Vec<Library<'a>> {
    let shared = lines.baseline.iter().filter_map(|(package, one)| {
        let two = lines.candidate.get(package)?;
        let both = one.iter().filter_map(|(function, lines)| Some((lines, two.get(function)?)));
        let moved: Vec<bool> = both.map(|(one, two)| one.is_disjoint(two)).collect();
        let shared = moved.len();
        let moved = moved.into_iter().filter(|moved| *moved).count();
        Some(Library { package, shared, moved })
    });
    shared.collect()
}

/// `torch/nn/functional.py(12): relu` → `torch/nn/functional.py`, `12`, `relu`.
fn parts(name: &str) -> Option<(&str, &str, &str)> {
    let (path, rest) = name.split_once(".py(")?;
    let (line, function) = rest.split_once("): ")?;
    Some((path, line, function)).filter(|_| line.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The installed package to which a file belongs, and the path of the file below the folder of packages.
fn package(path: &str) -> Option<(&str, &str)> {
    let installed = INSTALLED.iter().find_map(|folder| Some(path.rsplit_once(folder)?.1));
    let file = installed.unwrap_or(path);
    let (package, _) = file.split_once('/')?;
    (installed.is_some() || PACKAGES.contains(&package)).then_some((package, file))
}

/// Whether one of the packages decides that a node runs. A function of the user or of another library runs because its
/// own caller says so, and a module is a part of the model.
fn is_inside(drafts: &Drafts<'_>, node: MergedId, packages: &BTreeSet<&str>) -> bool {
    let of = |name: &str| {
        let (path, ..) = parts(name)?;
        Some(package(path).is_some_and(|(package, _)| packages.contains(package)))
    };
    let (side, call) = either(drafts.diff, node);
    let tree = drafts.diff.tree(side);
    let is_others = of(tree.name(call)) == Some(false);
    if is_others || tree.subtree(call).any(|below| tree.is_module(below)) {
        return false;
    }
    let by = |side: Side, call| caller(drafts.diff.tree(side), call);
    let forward = || drafts.forward_of(node).map(|node| either(drafts.diff, node));
    let caller = by(side, call).or_else(|| forward().and_then(|(side, call)| by(side, call)));
    caller.and_then(of) == Some(true)
}

/// The name of the frame that makes a call. Built-in functions and frames of the standard library are skipped, because
/// they only pass calls on.
fn caller(tree: &CallTree, call: CallId) -> Option<&str> {
    const STANDARD: [&str; 7] =
        ["contextlib", "copy", "dataclasses", "functools", "linecache", "traceback", "typing"];
    let frames = tree.ancestors(call).filter(|&above| tree.kind(above) == CallKind::Frame);
    let mut names = frames.map(|frame| tree.name(frame));
    names.find(|name| parts(name).is_some_and(|(path, ..)| !STANDARD.contains(&path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of<'a>(names: &[&'a str]) -> BTreeMap<&'a str, Lines<'a>> {
        let mut lines = BTreeMap::new();
        names.iter().for_each(|&name| add_line(&mut lines, name));
        lines
    }

    #[test]
    fn a_package_is_known_by_its_folder_and_own_files_are_not_a_package() {
        let of = |path| package(path).map(|(package, _)| package);
        assert_eq!(of("torch/nn/functional"), Some("torch"));
        assert_eq!(of("/opt/lib/python3.12/site-packages/mine/a"), Some("mine"));
        assert_eq!(of("train"), None);
        assert_eq!(of("model/layers"), None);
    }

    #[test]
    fn a_library_is_another_if_most_shared_functions_moved() {
        let one = ["torch/a.py(1): a", "torch/a.py(5): b", "torch/b.py(2): c", "torch/b.py(9): d"];
        let two = ["torch/a.py(2): a", "torch/a.py(6): b", "torch/b.py(3): c", "torch/b.py(9): d"];
        let found = |one: &[&'static str], two: &[&'static str]| {
            let libraries = compare(&PerSide::new(lines_of(one), lines_of(two)));
            let library = libraries.first().expect("a shared package");
            (library.moved, library.shared, library.is_other())
        };
        assert_eq!(found(&one, &two), (3, 4, true));
        assert_eq!(found(&one, &one), (0, 4, false));
        assert_eq!(found(&one[..2], &two[..2]), (2, 2, false));
        // Another function of the same name does not move the first one.
        assert_eq!(found(&["torch/a.py(1): f"], &["torch/a.py(1): f", "torch/a.py(9): f"]).0, 0);
    }
}
