//! Determines, for two source files, which names from one file are used in the other.

use std::collections::{BTreeMap, BTreeSet};

/// For each pair of files (user, used), the names that the user takes from the used file.
pub(crate) type Ties = BTreeMap<(String, String), BTreeSet<String>>;

/// The files in a crate, each identified by its module, such as `src/tree/nest`.
#[derive(Default)]
pub(crate) struct Modules {
    code: BTreeMap<String, String>,
    /// For each imported name, the path that the name refers to.
    imported: BTreeMap<(String, String), String>,
}

/// A path in a module's code, such as `super::nest::Planter`.
struct Mention {
    path: String,
    /// The name that a `use` introduces; `None` outside of a `use`.
    name: Option<String>,
    is_reexport: bool,
}

impl Modules {
    /// Determines the module of each file from the file's path and text.
    pub(crate) fn of(files: impl IntoIterator<Item = (String, String)>) -> Modules {
        let mut modules = Modules::default();
        for (path, text) in files {
            let name = path.trim_end_matches(".rs");
            let name =
                ["/mod", "/lib"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            // Unit tests, which are at the end of a file, are ignored, because they may use any module.
            let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            modules.code.insert(name.to_owned(), code.collect::<Vec<_>>().join("\n"));
        }
        for module in modules.code.keys() {
            for mention in modules.mentions(module) {
                if let Some(name) = mention.name {
                    modules.imported.insert((module.clone(), name), mention.path);
                }
            }
        }
        modules
    }

    /// For each file, the other files that it uses, with the used names. The use of a re-exported name counts as a use
    /// of the file that defines the name.
    pub(crate) fn ties(&self) -> Ties {
        let mut ties = Ties::new();
        for (module, code) in &self.code {
            let is_used =
                |name: &str| code.split(|c| !is_word(c)).filter(|&word| word == name).count() > 1;
            for Mention { path, name, is_reexport } in self.mentions(module) {
                let is_only_passed_on = is_reexport && !name.is_some_and(|name| is_used(&name));
                let (file, name) = self.resolve(module, &path);
                if self.code.contains_key(&file) && file != *module && !is_only_passed_on {
                    ties.entry((module.clone(), file)).or_default().insert(name);
                }
            }
        }
        ties
    }

    /// The paths in a module that begin with `crate`, `super`, `self` or the name of a child
    /// module.
    fn mentions(&self, module: &str) -> Vec<Mention> {
        let code = &self.code[module];
        let below =
            self.code.keys().filter_map(|name| name.strip_prefix(module)?.strip_prefix('/'));
        let children = below.filter(|name| !name.contains('/'));
        let starts = children.chain(["crate", "super", "self"]).map(|start| format!("{start}::"));
        starts.flat_map(|start| mentions_from(code, &start)).collect()
    }

    /// Resolves a path in `module`: returns the module that defines the item, and the item's name in that module.
    fn resolve(&self, module: &str, path: &str) -> (String, String) {
        let (first, rest) = path.split_once("::").unwrap_or((path, ""));
        let (above, own) = module.rsplit_once('/').unwrap_or(("", module));
        let child = format!("{module}/{first}");
        match first {
            "" => (module.to_owned(), own.to_owned()),
            "self" => self.resolve(module, rest),
            "super" => self.resolve(above, rest),
            "crate" => self.resolve(&module[..module.find("src").unwrap_or(0) + "src".len()], rest),
            _ if self.code.contains_key(&child) => self.resolve(&child, rest),
            _ => match self.imported.get(&(module.to_owned(), first.to_owned())) {
                Some(path) => self.resolve(module, &format!("{path}::{rest}")),
                None => (module.to_owned(), first.to_owned()),
            },
        }
    }
}

fn mentions_from(code: &str, start: &str) -> Vec<Mention> {
    let begins = code.match_indices(start).map(|(at, _)| at);
    // A visibility such as `pub(in crate::diff)` is not a use.
    let begins = begins.filter(|&at| {
        !code[..at].ends_with(|c| is_word(c) || c == ':') && !code[..at].ends_with("(in ")
    });
    begins
        .flat_map(|at| {
            let line = code[..at].rsplit('\n').next().unwrap_or_default().trim_start();
            let is_use = line.ends_with("use ");
            let is_end = |c: char| if is_use { c == ';' } else { !is_word(c) && c != ':' };
            let tree = &code[at..];
            spread(&tree[..tree.find(is_end).unwrap_or(tree.len())]).into_iter().map(move |path| {
                let (path, name) = path.split_once(" as ").unwrap_or((&path, last(&path)));
                let name = is_use.then(|| name.to_owned());
                Mention { path: path.to_owned(), name, is_reexport: line.starts_with("pub") }
            })
        })
        .collect()
}

/// `a::{b, c::{self, d as e}}` → `a::b`, `a::c`, `a::c::d as e`.
fn spread(tree: &str) -> Vec<String> {
    let Some((stem, list)) = tree.split_once('{') else {
        return vec![tree.trim_end_matches("::self").to_owned()];
    };
    let list = list.trim_end().strip_suffix('}').expect("balanced braces");
    let mut depth = 0;
    let items = list.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    let items = items.map(str::trim).filter(|item| !item.is_empty());
    items.flat_map(|item| spread(&format!("{stem}{item}"))).collect()
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
