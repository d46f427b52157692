//! The text of a rule file → [`Rules`]: which words in which kind of name make which category.

use super::words::Words;
use serde::Deserialize;

/// The parsed file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    launchers: Vec<String>,
    #[serde(default)]
    category: Vec<CategoryEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CategoryEntry {
    name: String,
    #[serde(default)]
    strength: Option<Strength>,
    #[serde(default)]
    events: Vec<String>,
    #[serde(default)]
    ops: Vec<String>,
    #[serde(default)]
    modules: Vec<String>,
    #[serde(default)]
    kernels: Vec<String>,
    #[serde(default)]
    fused: Vec<String>,
    #[serde(default)]
    replaces: Vec<String>,
}

/// How much an op of the category says about what runs below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Strength {
    /// Runs nothing on the GPU: counts for the op's own time on the host only.
    Host,
    /// Anything may be built of it: copies, pointwise work.
    Weak,
    /// Work of its own that often serves another op: reductions, indexing, activations.
    Generic,
    /// All work below it is part of it.
    Specific,
}

/// What sort of name is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// The name of a GPU event that the runtime or a communication library gives.
    Event,
    /// An op, or the class of ops that an autograd node stands for.
    Op,
    /// The class of an `nn.Module`.
    Module,
    /// A kernel's stem.
    Kernel,
    /// A kernel that a compiler fused, named after the ops in it.
    Fused,
}

/// One category of a rule file.
#[derive(Debug, Clone)]
struct Rule {
    category: usize,
    patterns: [Vec<Words>; 5],
}

/// A rule set: categories in the order of precedence, the user's patterns before the built-in ones.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    pub(super) categories: Vec<CategoryRule>,
    /// Rule files, the one that wins first.
    layers: Vec<Vec<Rule>>,
    launchers: Vec<String>,
}

/// What is known of a category besides its patterns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CategoryRule {
    pub(super) name: String,
    pub(super) strength: Strength,
    /// Names of the categories whose work one fused op of this category does.
    pub(super) replaces: Vec<String>,
}

impl Rules {
    /// Parses a rule file; the message of an error says what is wrong in it.
    pub(super) fn parse(text: &str) -> Result<Rules, String> {
        let file: File = toml::from_str(text).map_err(|error| one_line(&error))?;
        let mut rules =
            Rules { categories: Vec::new(), layers: vec![Vec::new()], launchers: file.launchers };
        for entry in file.category {
            rules.add(entry)?;
        }
        Ok(rules)
    }

    fn add(&mut self, entry: CategoryEntry) -> Result<(), String> {
        if entry.name.is_empty() {
            return Err("a category has no name".to_owned());
        }
        if self.categories.iter().any(|category| category.name == entry.name) {
            return Err(format!("the category `{}` stands in the file twice", entry.name));
        }
        let lists = [entry.events, entry.ops, entry.modules, entry.kernels, entry.fused];
        let patterns =
            lists.map(|list| list.iter().map(|text| Words::of(text)).collect::<Vec<_>>());
        if patterns.iter().flatten().any(Words::is_empty) {
            return Err(format!("a pattern of `{}` has no letter or digit", entry.name));
        }
        self.layers[0].push(Rule { category: self.categories.len(), patterns });
        self.categories.push(CategoryRule {
            name: entry.name,
            strength: entry.strength.unwrap_or(Strength::Specific),
            replaces: entry.replaces,
        });
        Ok(())
    }

    /// These rules with those of `user` before them. A category that both have stays one.
    pub(super) fn extended(mut self, user: Rules) -> Rules {
        let ids: Vec<usize> =
            user.categories.into_iter().map(|category| self.merge(category)).collect();
        let layers = user.layers.into_iter().map(|layer| {
            layer.into_iter().map(|rule| Rule { category: ids[rule.category], ..rule }).collect()
        });
        self.layers = layers.chain(self.layers).collect();
        self.launchers.extend(user.launchers);
        self
    }

    fn merge(&mut self, category: CategoryRule) -> usize {
        match self.categories.iter().position(|known| known.name == category.name) {
            Some(at) => {
                self.categories[at].replaces.extend(category.replaces);
                at
            }
            None => {
                self.categories.push(category);
                self.categories.len() - 1
            }
        }
    }

    /// Whether a kernel of this stem runs whatever its template arguments name.
    pub(super) fn is_launcher(&self, stem: &str) -> bool {
        self.launchers
            .iter()
            .any(|launcher| stem == launcher || stem.ends_with(&format!("::{launcher}")))
    }

    /// The category of a name: of the first rule file that knows it, the longest pattern; of two
    /// equally long ones, that of the category that stands first.
    pub(super) fn find(&self, kind: NameKind, name: &Words) -> Option<usize> {
        self.layers.iter().find_map(|layer| best(layer, kind, name))
    }
}

fn best(layer: &[Rule], kind: NameKind, name: &Words) -> Option<usize> {
    let mut best: Option<(usize, usize)> = None;
    for rule in layer {
        let matching = rule.patterns[kind as usize].iter().filter(|pattern| match kind {
            NameKind::Fused => name.contain_all(pattern),
            NameKind::Event | NameKind::Op | NameKind::Module | NameKind::Kernel => {
                name.contain(pattern)
            }
        });
        let longest = matching.map(Words::len).max();
        if longest > best.map(|(length, _)| length) {
            best = longest.map(|length| (length, rule.category));
        }
    }
    best.map(|(_, category)| category)
}

/// The parser's message without the excerpt that it draws over several lines.
fn one_line(error: &toml::de::Error) -> String {
    error.message().lines().collect::<Vec<_>>().join(" ")
}
