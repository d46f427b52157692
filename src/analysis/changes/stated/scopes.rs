//! Compares the scopes of a compiled program, and the functions that each scope computes.

use super::sentence::{Stated, list};
use crate::analysis::changes::kind::ChangeKind;
use crate::order::Order as _;
use crate::trace::CompiledProgram;
use std::collections::{BTreeMap, BTreeSet};

/// Functions that only arrange, convert, compare or scale values. The compiler adds and removes them, so they say little
/// about the program.
const ARRANGING: [&str; 40] = [
    "add",
    "add_any",
    "and",
    "bitcast_convert_type",
    "broadcast_in_dim",
    "concatenate",
    "convert_element_type",
    "copy",
    "copy_p",
    "device_put",
    "div",
    "dynamic_slice",
    "dynamic_update_slice",
    "eq",
    "expand_dims",
    "ge",
    "gt",
    "iota",
    "le",
    "lt",
    "mul",
    "ne",
    "neg",
    "not",
    "optimization_barrier",
    "or",
    "pad",
    "reduce_precision",
    "reduce_sum",
    "reshape",
    "select_n",
    "sharding_constraint",
    "sign",
    "slice",
    "split",
    "square",
    "squeeze",
    "stop_gradient",
    "sub",
    "transpose",
];

/// Parts of name stacks that say how a function is called, and not what it is part of.
const CALLING: [&str; 11] = [
    "body",
    "checkpoint",
    "closed_call",
    "cond",
    "core_call",
    "custom_jvp_call",
    "custom_vjp_call",
    "remat",
    "remat2",
    RECOMPUTED,
    "while",
];

/// The part of the name stacks of a forward pass that runs again during the backward pass.
const RECOMPUTED: &str = "rematted_computation";

/// Activation functions, by the functions that they alone compute. Those that JAX compiles as functions of their own have
/// their names in the name stacks.
const ACTIVATIONS: [(&[&str], &str); 5] = [
    (&["erf"], "gelu"),
    (&["erfc"], "gelu"),
    (&["integer_pow", "tanh"], "gelu"),
    (&["logistic"], "silu or sigmoid"),
    (&["max"], "relu"),
];

type Names<'p> = BTreeSet<&'p str>;

/// What a program computes, by scope. In the names of scopes, `#` stands for the number of a layer.
#[derive(Debug, Default)]
pub(super) struct Scopes<'p> {
    /// The paths of the scopes with numbers, by the path without numbers.
    numbered: BTreeMap<String, BTreeSet<String>>,
    functions: BTreeMap<String, Names<'p>>,
    /// The names of the functions with a compilation of their own, such as `relu`.
    compiled: BTreeMap<String, Names<'p>>,
    /// Whether the program computes gradients.
    has_backward: bool,
    /// The layers or outermost scopes that the backward pass computes again.
    recomputed: BTreeSet<String>,
}

/// A name stack, split into scopes and the function at its end.
#[derive(Debug, Default)]
struct Stack<'p> {
    scopes: Vec<&'p str>,
    compiled: Vec<&'p str>,
    function: Option<&'p str>,
    is_recomputed: bool,
}

impl<'p> Scopes<'p> {
    pub(super) fn of(program: &'p CompiledProgram) -> Scopes<'p> {
        let stacks: Vec<Stack<'p>> = program.stacks.iter().map(|stack| Stack::of(stack)).collect();
        // The name stack of a constant ends with a scope.
        let known: BTreeSet<&str> =
            stacks.iter().flat_map(|stack| stack.scopes.iter().copied()).collect();
        let has_backward = program.stacks.iter().any(|stack| stack.contains("transpose("));
        let mut scopes = Scopes { has_backward, ..Scopes::default() };
        for stack in &stacks {
            scopes.add(stack, &known);
        }
        scopes
    }

    fn add(&mut self, stack: &Stack<'p>, known: &BTreeSet<&str>) {
        let (mut path, mut class) = (String::new(), String::new());
        for scope in &stack.scopes {
            let short = without_number(scope);
            push(&mut path, scope);
            push(&mut class, &short);
            if short != *scope {
                self.numbered.entry(class.clone()).or_default().insert(path.clone());
            }
            self.functions.entry(class.clone()).or_default();
        }
        if stack.is_recomputed {
            let has_number = |scope: &&&str| without_number(scope) != **scope;
            let layer = stack.scopes.iter().find(has_number).or(stack.scopes.first());
            let layer =
                layer.map_or("parts of the forward pass".to_owned(), |layer| without_number(layer));
            self.recomputed.insert(layer);
        }
        let functions = stack.function.filter(|function| !known.contains(function));
        self.compiled.entry(class.clone()).or_default().extend(&stack.compiled);
        self.functions.entry(class).or_default().extend(functions);
    }

    /// The functions of a scope, and of the scopes inside, that say what it computes.
    fn telling(&self, scope: &str) -> Names<'p> {
        let all = self.functions.iter().filter(|(other, _)| is_inside(other, scope));
        all.flat_map(|(_, names)| names).copied().filter(|name| !ARRANGING.contains(name)).collect()
    }
}

impl<'p> Stack<'p> {
    fn of(stack: &'p str) -> Stack<'p> {
        let mut found = Stack::default();
        found.push(stack);
        // Only a part without brackets is a function.
        if !stack.ends_with(')') {
            found.function = found.scopes.pop();
        }
        found
    }

    fn push(&mut self, stack: &'p str) {
        for part in parts(stack) {
            match part.split_once('(') {
                Some(("jit" | "pjit", inside)) => {
                    self.compiled.push(inside.strip_suffix(')').unwrap_or(inside));
                }
                Some((_, inside)) => {
                    let inside = inside.strip_suffix(')').unwrap_or(inside);
                    // The backward pass of a checkpointed scope repeats the scopes around it.
                    if !self.scopes.is_empty() && innermost(inside) == self.scopes[0] {
                        self.scopes.clear();
                    }
                    self.push(inside);
                }
                None if part == RECOMPUTED => self.is_recomputed = true,
                None if CALLING.contains(&part) => {}
                // Flax renames a module that is checkpointed.
                None => self.scopes.push(part.strip_prefix("Checkpoint").unwrap_or(part)),
            }
        }
    }
}

/// The first scope in nested brackets: `jvp(layer_0)/b` → `layer_0`.
fn innermost(stack: &str) -> &str {
    let inside = stack.rsplit('(').next().unwrap_or(stack);
    inside.split([')', '/']).next().unwrap_or(inside)
}

/// The components of a name stack that are not empty, split outside of brackets.
fn parts(stack: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let split = stack.split(move |letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == '/' && depth == 0
    });
    split.filter(|part| !part.is_empty())
}

fn push(path: &mut String, scope: &str) {
    if !path.is_empty() {
        path.push('/');
    }
    path.push_str(scope);
}

fn without_number(scope: &str) -> String {
    let name = scope.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if name.len() < scope.len() { format!("{name}#") } else { scope.to_owned() }
}

fn is_inside(scope: &str, outer: &str) -> bool {
    outer.is_empty()
        || scope.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// One side has more scopes that differ only in their numbers.
pub(super) fn layers([one, two]: &[Scopes<'_>; 2], program: &str) -> Option<Stated> {
    let mut shown: Vec<String> = Vec::new();
    let mut others: Vec<&str> = Vec::new();
    for (class, paths) in &one.numbered {
        let Some(other) = two.numbered.get(class) else { continue };
        let is_part = others.iter().any(|outer| is_inside(class, outer));
        if paths.len() == other.len() || is_part {
            continue;
        }
        let is_more = other.len() > paths.len();
        let only = if is_more { other.difference(paths) } else { paths.difference(other) };
        let only: Vec<&str> = only.map(|path| path.rsplit('/').next().unwrap_or(path)).collect();
        let was = if only.len() == 1 { "was" } else { "were" };
        let verb = if is_more { "added" } else { "removed" };
        others.push(class);
        shown.push(format!(
            "{} instead of {} {class} in {program} ({} {was} {verb})",
            other.len(),
            paths.len(),
            list(&only)
        ));
    }
    let sentence = shown.into_iter().reduce(|all, next| format!("{all}; {next}"))?;
    Some(Stated { kind: ChangeKind::Layers, sentence, usual: "" })
}

/// One side computes a part of the forward pass again during the backward pass.
pub(super) fn checkpointing([one, two]: &[Scopes<'_>; 2], program: &str) -> Option<Stated> {
    let (side, verb) = match (one.recomputed.is_empty(), two.recomputed.is_empty()) {
        (true, false) => (two, "computes"),
        (false, true) => (one, "no longer computes"),
        (true, true) | (false, false) => return None,
    };
    let scopes: Vec<&String> = side.recomputed.iter().collect();
    let sentence = format!("The backward pass of {program} {verb} {} again", list(&scopes));
    Some(Stated { kind: ChangeKind::Checkpointing, sentence, usual: "jax.checkpoint (jax.remat)" })
}

/// A scope computes functions that it does not compute on the other side. What the program computes outside of all scopes
/// is a part of its optimizer, if `has_other_optimizer`.
pub(super) fn functions(
    [one, two]: &[Scopes<'_>; 2],
    program: &str,
    has_other_optimizer: bool,
) -> Vec<Stated> {
    if one.has_backward != two.has_backward {
        let verb = if two.has_backward { "computes" } else { "no longer computes" };
        let sentence = format!("{program} {verb} gradients");
        return vec![Stated { kind: ChangeKind::Ops, sentence, usual: "" }];
    }
    let mut found: BTreeMap<[String; 2], Vec<&str>> = BTreeMap::new();
    let both = one.functions.keys().filter(|scope| two.functions.contains_key(*scope));
    for scope in both.filter(|scope| !(scope.is_empty() && has_other_optimizer)) {
        let shown = [words(one, two, scope), words(two, one, scope)];
        if shown.iter().any(|words| !words.is_empty()) {
            found.entry(shown).or_default().push(scope);
        }
    }
    // The order of the changes is the same if the sides are exchanged.
    let mut found: Vec<([String; 2], Vec<&str>)> = found.into_iter().collect();
    found.order_by(|one, two| one.1.cmp(&two.1));
    let stated = found.into_iter().map(|([gone, new], scopes)| {
        let (what, at) = match scopes.as_slice() {
            ["", ..] => (program.to_owned(), String::new()),
            scopes => (list(scopes), format!(" in {program}")),
        };
        let s = if scopes.len() == 1 || at.is_empty() { "s" } else { "" };
        let sentence = match (gone.is_empty(), new.is_empty()) {
            (true, _) => format!("{what} also compute{s} {new}{at}"),
            (_, true) => format!("{what} no longer compute{s} {gone}{at}"),
            (false, false) => format!("{what} compute{s} {new} instead of {gone}{at}"),
        };
        Stated { kind: ChangeKind::Ops, sentence, usual: "" }
    });
    stated.collect()
}

/// The telling functions of a scope that the scope does not compute on the other side, in words.
fn words(side: &Scopes<'_>, other: &Scopes<'_>, scope: &str) -> String {
    // A function that the other side computes in a scope of its own inside the scope is not another function.
    let inside = other.functions.iter().filter(|(inside, _)| {
        is_inside(inside, scope)
            && (*inside == scope || !side.functions.contains_key(inside.as_str()))
    });
    let known: Names<'_> = inside.flat_map(|(_, names)| names).copied().collect();
    let own = side.functions[scope].iter().copied().filter(|name| !ARRANGING.contains(name));
    let only: Vec<&str> = own.filter(|name| !known.contains(name)).collect();
    if only.is_empty() {
        return String::new();
    }
    let [here, there] =
        [side, other].map(|side| side.compiled.get(scope).cloned().unwrap_or_default());
    let mut names = here.difference(&there).filter(|name| !name.starts_with('_'));
    let known = || ACTIVATIONS.iter().find(|(functions, _)| *functions == only);
    let activation = names.next().copied().or_else(|| known().map(|(_, name)| *name));
    list(&only) + &activation.map_or_else(String::new, |name| format!(" ({name})"))
}

/// Only one side has a scope, and its functions are not those of a scope with another name.
pub(super) fn one_sided([one, two]: &[Scopes<'_>; 2], program: &str) -> Option<Stated> {
    let [gone, new] = [only(one, two), only(two, one)];
    let is_renamed = |side: &Scopes<'_>, scope: &str, other: &Scopes<'_>, scopes: &[&str]| {
        scopes.iter().any(|known| other.telling(known) == side.telling(scope))
    };
    let gone_here: Vec<&str> =
        gone.iter().copied().filter(|scope| !is_renamed(one, scope, two, &new)).collect();
    let new_here: Vec<&str> =
        new.iter().copied().filter(|scope| !is_renamed(two, scope, one, &gone)).collect();
    let was = |scopes: &[&str]| if scopes.len() == 1 { "was" } else { "were" };
    let (gone, new) = (list(&gone_here), list(&new_here));
    let sentence = match (gone.is_empty(), new.is_empty()) {
        (true, true) => return None,
        (true, false) => format!("{new} {} added to {program}", was(&new_here)),
        (false, true) => format!("{gone} {} removed from {program}", was(&gone_here)),
        (false, false) => format!("{new} instead of {gone} in {program}"),
    };
    Some(Stated { kind: ChangeKind::Ops, sentence, usual: "" })
}

/// The outermost scopes that only `side` has, if they compute something and do not only name what the scope around them
/// computes on the other side.
fn only<'s>(side: &'s Scopes<'_>, other: &Scopes<'_>) -> Vec<&'s str> {
    let around = |scope: &str| scope.rsplit_once('/').map_or("", |(around, _)| around).to_owned();
    let is_new = |scope: &&str| {
        let telling = side.telling(scope);
        let around = around(scope);
        let has = |of: &Scopes<'_>, name: &str| {
            of.functions.get(&around).is_some_and(|names| names.contains(name))
        };
        !other.functions.contains_key(*scope)
            && (around.is_empty() || other.functions.contains_key(&around))
            && !telling.is_empty()
            && !telling.iter().all(|name| has(other, name) && !has(side, name))
    };
    let scopes = side.functions.keys().map(String::as_str).filter(|scope| !scope.is_empty());
    scopes.filter(is_new).collect()
}
