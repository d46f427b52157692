//! Parses a rule file into [`Rules`], which determine a category from the words in a name.

use crate::program::Words;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::ops::Range;

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
    fused_only: Vec<String>,
    #[serde(default)]
    templates: Vec<String>,
    #[serde(default)]
    replaces: Vec<String>,
}

/// How strongly an op determines the category of the work below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Strength {
    /// The op launches nothing on the GPU, so the category applies only to the op's own host time.
    Host,
    /// The op occurs within ops of any kind: copies, pointwise work.
    Weak,
    /// The op may run on its own, but is often part of a larger op: reductions, indexing, activations.
    Generic,
    /// The category applies to all work below the op, unless a nearer op is also specific.
    Specific,
}

/// The kind of name to which a pattern applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// The name that the runtime or a communication library gave to a GPU event.
    Event,
    /// An op or an autograd node.
    Op,
    /// The class of an `nn.Module`.
    Module,
    /// The stem of a kernel name.
    Kernel,
    /// The list of ops in the name of a compiler-generated pointwise or reduction kernel.
    Fused,
    /// Like [`NameKind::Fused`], but every word in the list of ops must occur in one of the category's patterns.
    FusedOnly,
    /// A kernel that a compiler generated from a template: matrix products, convolutions, attention.
    Template,
}

/// Number of [`NameKind`]s.
const KINDS: usize = 7;

/// Prefix of a pattern that must match the whole name: `=_fwd_kernel`.
const WHOLE: char = '=';

/// A pattern, which consists of the words that must occur in a name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    words: Words,
    /// Whether a matching name may contain additional words.
    extent: Extent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Extent {
    Part,
    Whole,
}

impl Pattern {
    fn of(text: &str) -> Pattern {
        match text.strip_prefix(WHOLE) {
            Some(name) => Pattern { words: Words::of(name), extent: Extent::Whole },
            None => Pattern { words: Words::of(text), extent: Extent::Part },
        }
    }

    /// The matches of the pattern in a name, as ranges of words. In some kinds of names, the pattern's words need not be
    /// adjacent; a match then covers the whole name.
    fn places(&self, kind: NameKind, name: &Words) -> Vec<Range<usize>> {
        let whole = || std::iter::once(0..name.len()).collect();
        match (kind, self.extent) {
            (_, Extent::Whole) if *name == self.words => whole(),
            (_, Extent::Whole) => Vec::new(),
            (NameKind::Fused | NameKind::Template, Extent::Part) => {
                if name.contain_all(&self.words) { whole() } else { Vec::new() }
            }
            (
                NameKind::Event
                | NameKind::Op
                | NameKind::Module
                | NameKind::Kernel
                | NameKind::FusedOnly,
                Extent::Part,
            ) => name.places_of(&self.words).collect(),
        }
    }
}

/// The patterns of one category in a rule file.
#[derive(Debug, Clone)]
struct Rule {
    category: usize,
    patterns: [Vec<Pattern>; KINDS],
}

/// Maps a word to the patterns that begin with this word. A pattern is identified by two numbers: the position of its
/// rule, and the position of the pattern in the rule.
type ByWord = FxHashMap<Box<str>, Vec<(u32, u32)>>;

/// The rules of one file.
#[derive(Debug, Clone)]
struct Layer {
    rules: Vec<Rule>,
    /// For each kind of name, the patterns by their first word. A pattern can match only names that contain its first
    /// word, so most patterns need not be tried.
    by_word: [ByWord; KINDS],
}

/// A rule set. If the user passes a rule file, its patterns take precedence over the built-in patterns.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    pub(super) categories: Vec<CategoryRule>,
    /// The rules from each file, in order of precedence.
    layers: Vec<Layer>,
    launchers: Vec<String>,
}

/// The name and properties of a category, without its patterns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CategoryRule {
    pub(super) name: String,
    pub(super) strength: Strength,
    /// Names of other categories. A fused op in this category may replace several ops of these
    /// categories.
    pub(super) replaces: Vec<String>,
}

impl Rules {
    /// Parses a rule file; the error message describes the mistake in the file.
    pub(super) fn parse(text: &str) -> Result<Rules, String> {
        let file: File = toml::from_str(text).map_err(|error| one_line(&error))?;
        let mut rules =
            Rules { categories: Vec::new(), layers: Vec::new(), launchers: file.launchers };
        let mut list = Vec::new();
        for entry in file.category {
            list.push(rules.add(entry)?);
        }
        rules.layers.push(Layer::of(list));
        Ok(rules)
    }

    fn add(&mut self, entry: CategoryEntry) -> Result<Rule, String> {
        if entry.name.is_empty() {
            return Err("a category has no name".to_owned());
        }
        if self.categories.iter().any(|category| category.name == entry.name) {
            return Err(format!("the category `{}` appears twice in the file", entry.name));
        }
        let lists = [
            entry.events,
            entry.ops,
            entry.modules,
            entry.kernels,
            entry.fused,
            entry.fused_only,
            entry.templates,
        ];
        let patterns =
            lists.map(|list| list.iter().map(|text| Pattern::of(text)).collect::<Vec<_>>());
        if patterns.iter().flatten().any(|pattern| pattern.words.is_empty()) {
            return Err(format!("a pattern of `{}` contains no letter or digit", entry.name));
        }
        let category = self.categories.len();
        self.categories.push(CategoryRule {
            name: entry.name,
            strength: entry.strength.unwrap_or(Strength::Specific),
            replaces: entry.replaces,
        });
        Ok(Rule { category, patterns })
    }

    /// Adds the rules in `user`, which take precedence over the rules in `self`. Categories with the same name are
    /// merged.
    pub(super) fn extended(mut self, user: Rules) -> Rules {
        let ids: Vec<usize> =
            user.categories.into_iter().map(|category| self.merge(category)).collect();
        let layers = user.layers.into_iter().map(|mut layer| {
            layer.rules.iter_mut().for_each(|rule| rule.category = ids[rule.category]);
            layer
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

    pub(super) fn named(&self, name: &str) -> Option<usize> {
        self.categories.iter().position(|category| category.name == name)
    }

    /// How strongly an op of this category determines the category of the work below it.
    pub(super) fn strength(&self, category: usize) -> Strength {
        self.categories[category].strength
    }

    /// Whether kernels with this stem are launchers, whose work is defined by a functor in their template arguments.
    pub(super) fn is_launcher(&self, stem: &str) -> bool {
        self.launchers
            .iter()
            .any(|launcher| stem == launcher || stem.ends_with(&format!("::{launcher}")))
    }

    /// The category of a name. The first rule file with a matching pattern determines the category. The strongest
    /// category wins, because an op that does specific work often has words for auxiliary work in its name
    /// (`reshape_and_cache`, `gather_topk`). Among equally strong categories, a pattern that starts with `=` wins, then
    /// the longest pattern, then the category that comes first in the file. A match inside a longer match is ignored:
    /// in `clamp_min`, the pattern `min` is ignored if the pattern `clamp_min` matches.
    pub(super) fn find(&self, kind: NameKind, name: &Words) -> Option<usize> {
        self.layers.iter().find_map(|layer| self.best(layer, kind, name))
    }

    fn best(&self, layer: &Layer, kind: NameKind, name: &Words) -> Option<usize> {
        let matches = layer.matches(kind, name);
        let tells = |one: &&Match| !matches.iter().any(|other| other.hides(one));
        let weight = |one: &Match| (self.strength(one.category), one.extent, one.words);
        let shown = matches.iter().filter(tells);
        shown
            .reduce(|best, next| if weight(next) > weight(best) { next } else { best })
            .map(|best| best.category)
    }

    /// The first category for which every word in a fused kernel's list of ops occurs in one of its `fused_only`
    /// patterns.
    pub(super) fn find_only(&self, list: &Words) -> Option<usize> {
        let kind = NameKind::FusedOnly as usize;
        let rules = self.layers.iter().flat_map(|layer| &layer.rules);
        let list = list.without_numbers();
        let holds_nothing_else = |rule: &&Rule| {
            let known = |word: &str| rule.patterns[kind].iter().any(|p| p.words.has(word));
            list.all(known)
        };
        rules.filter(holds_nothing_else).map(|rule| rule.category).next()
    }
}

#[derive(Debug)]
struct Match {
    category: usize,
    extent: Extent,
    /// Number of words in the matched pattern.
    words: usize,
    place: Range<usize>,
}

impl Match {
    /// Whether this match contains `other` and is longer.
    fn hides(&self, other: &Match) -> bool {
        self.place.start <= other.place.start
            && other.place.end <= self.place.end
            && other.place.len() < self.place.len()
    }
}

impl Layer {
    fn of(rules: Vec<Rule>) -> Layer {
        let mut by_word: [ByWord; KINDS] = Default::default();
        for (at, rule) in (0..).zip(&rules) {
            for (by_word, patterns) in by_word.iter_mut().zip(&rule.patterns) {
                for (place, pattern) in (0..).zip(patterns) {
                    let word = pattern.words.at(0).unwrap_or_default();
                    by_word.entry(word.into()).or_default().push((at, place));
                }
            }
        }
        Layer { rules, by_word }
    }

    /// The matches of all patterns in a name, in file order.
    fn matches(&self, kind: NameKind, name: &Words) -> Vec<Match> {
        let by_word = &self.by_word[kind as usize];
        let mut possible: Vec<(u32, u32)> =
            name.iter().filter_map(|word| by_word.get(word)).flatten().copied().collect();
        possible.sort_unstable();
        possible.dedup();
        let matches = possible.into_iter().flat_map(|(at, place)| {
            let rule = &self.rules[at as usize];
            let pattern = &rule.patterns[kind as usize][place as usize];
            let (category, extent, words) = (rule.category, pattern.extent, pattern.words.len());
            let places = pattern.places(kind, name).into_iter();
            places.map(move |place| Match { category, extent, words, place })
        });
        matches.collect()
    }
}

/// The message of the TOML parser on a single line, without the excerpt of the file.
fn one_line(error: &toml::de::Error) -> String {
    error.message().lines().collect::<Vec<_>>().join(" ")
}
