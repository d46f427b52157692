//! A source file and its mutants → the file with all mutants, each behind a switch.
//!
//! Text is only inserted, never removed, and no lines are added. A mutant is a copy of its expression
//! with one change, inserted before the original expression. The copy contains no switches of nested
//! mutants; the original does. So the file grows with the nesting depth, not exponentially.

use crate::{Places, SOURCES};
use crate::mutant::{Genre, Mutant, Position};
use proc_macro2::Span;
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Writes all files with mutants into the tree, and returns the mutants they contain.
pub fn write(
    places: &Places,
    mutants: &[Mutant],
    left_out: &BTreeSet<usize>,
) -> io::Result<Vec<usize>> {
    let mut files: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, mutant) in mutants.iter().enumerate() {
        // A file is rewritten even if none of its mutants is left.
        let numbers = files.entry(&mutant.file).or_default();
        numbers.extend((!left_out.contains(&at)).then_some(at));
    }
    let mut written = Vec::new();
    for (file, numbers) in files {
        let source = fs::read_to_string(places.repository.join(file))?;
        let (text, used) = switched(&source, mutants, &numbers);
        fs::write(places.tree.join(file), text)?;
        written.extend(used);
    }
    for sources in SOURCES {
        let library = Path::new(sources).join("lib.rs");
        let source = fs::read_to_string(places.repository.join(&library))?;
        let text = source.replacen("\nmod ", "\npub mod mutation;\nmod ", 1);
        let allowed = "#![allow(warnings, arithmetic_overflow, unconditional_panic, clippy::all)]";
        let text = text.replace("#![deny(", "#![allow(").replace("#![forbid(", "#![allow(");
        let at = text.find("\n#![").or_else(|| text.find("\n\n")).unwrap_or(0);
        fs::write(places.tree.join(library), format!("{}\n{allowed}{}", &text[..at], &text[at..]))?;
    }
    written.sort_unstable();
    Ok(written)
}

fn switched(source: &str, mutants: &[Mutant], numbers: &[usize]) -> (String, Vec<usize>) {
    let file = syn::parse_file(source).expect("sources that compile");
    let mut by_place: BTreeMap<Position, Vec<usize>> = BTreeMap::new();
    for &number in numbers {
        by_place.entry(mutants[number].span.start).or_default().push(number);
    }
    let mut switches =
        Switches { source, mutants, by_place, insertions: Vec::new(), used: Vec::new() };
    switches.visit_file(&file);
    let Switches { mut insertions, used, .. } = switches;
    // At one position, ends come before starts, inner ends before outer ones, and outer starts before
    // inner ones.
    insertions.sort_by_key(|insertion| (insertion.at, insertion.rank));
    let mut text = String::new();
    let mut from = 0;
    for insertion in insertions {
        text += &source[from..insertion.at];
        text += &insertion.text;
        from = insertion.at;
    }
    (text + &source[from..], used)
}

struct Insertion {
    at: usize,
    rank: (bool, usize),
    text: String,
}

struct Switches<'a> {
    source: &'a str,
    mutants: &'a [Mutant],
    by_place: BTreeMap<Position, Vec<usize>>,
    insertions: Vec<Insertion>,
    used: Vec<usize>,
}

impl Switches<'_> {
    /// The mutants of a genre that start at the start of `span`.
    fn at(&mut self, span: Span, genre: Genre) -> Vec<usize> {
        let start = span.start();
        let place = Position { line: start.line, column: start.column + 1 };
        let all = self.by_place.get(&place).map_or(&[][..], Vec::as_slice);
        let found: Vec<usize> =
            all.iter().copied().filter(|&at| self.mutants[at].genre == genre).collect();
        self.used.extend(&found);
        found
    }

    fn insert(&mut self, start: usize, end: usize, before: String, after: &str) {
        let length = end - start;
        self.insertions.push(Insertion {
            at: start,
            rank: (true, usize::MAX - length),
            text: before,
        });
        self.insertions.push(Insertion { at: end, rank: (false, length), text: after.to_owned() });
    }

    /// Puts an expression behind switches: number and text of each mutant.
    fn switch(&mut self, expression: &impl Spanned, alternatives: &[(usize, String)]) {
        if alternatives.is_empty() {
            return;
        }
        let range = expression.span().byte_range();
        let mut before = "(".to_owned();
        for (number, text) in alternatives {
            before += &format!(
                "if crate::mutation::is({number}) {{ /*<{number}*/ {text} /*{number}>*/ }} else "
            );
        }
        self.insert(range.start, range.end, before + "{ ", " })");
    }
}

/// The tokens as text, without line breaks and comments.
fn plain(tokens: &impl ToTokens) -> String {
    tokens.to_token_stream().to_string()
}

/// Whether a condition contains `let`, so that it cannot be wrapped.
fn holds_let(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(binary) => holds_let(&binary.left) || holds_let(&binary.right),
        _ => false,
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| plain(attribute).contains("cfg (test)"))
}

impl<'ast> Visit<'ast> for Switches<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    // Constants are evaluated by the compiler, when no switch can be read.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if item.sig.constness.is_none() {
            self.body(&item.block);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if item.sig.constness.is_none() {
            self.body(&item.block);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.body(block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let (left, right) = (plain(&binary.left), plain(&binary.right));
        if !holds_let(&binary.left) && !holds_let(&binary.right) {
            let found = self.at(binary.op.span(), Genre::BinaryOperator);
            let text =
                |&at: &usize| (at, format!("{left} {} {right}", self.mutants[at].replacement));
            let alternatives: Vec<_> = found.iter().map(text).collect();
            self.switch(binary, &alternatives);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let found = self.at(unary.op.span(), Genre::UnaryOperator);
        let inner = plain(&unary.expr);
        let alternatives: Vec<_> = found.into_iter().map(|at| (at, inner.clone())).collect();
        self.switch(unary, &alternatives);
        visit::visit_expr_unary(self, unary);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let Some((_, guard)) = &arm.guard {
            let found = self.at(guard.span(), Genre::MatchArmGuard);
            let value = |at: usize| (at, self.mutants[at].replacement.clone());
            let alternatives: Vec<_> = found.into_iter().map(value).collect();
            if !holds_let(guard) {
                self.switch(guard.as_ref(), &alternatives);
            }
        }
        for number in self.at(arm.span(), Genre::MatchArm) {
            let at = arm.pat.span().byte_range().end;
            let off = format!("!crate::mutation::is({number})");
            match &arm.guard {
                Some((_, guard)) => {
                    let range = guard.span().byte_range();
                    // Around the switches of the guard itself.
                    self.insert(range.start, range.end, format!("{off} && ("), ")");
                }
                None => self.insert(at, at, format!(" if {off} "), ""),
            }
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, made: &'ast syn::ExprStruct) {
        let mut alternatives = Vec::new();
        for (place, field) in made.fields.iter().enumerate() {
            for number in self.at(field.span(), Genre::StructField) {
                let mut without = made.clone();
                without.fields = made
                    .fields
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| *at != place)
                    .map(|(_, field)| field.clone())
                    .collect();
                alternatives.push((number, plain(&without)));
            }
        }
        self.switch(made, &alternatives);
        visit::visit_expr_struct(self, made);
    }
}

impl Switches<'_> {
    /// Lets a body return another value immediately.
    fn body(&mut self, block: &syn::Block) {
        let Some(first) = block.stmts.first() else { return };
        let at = first.span().byte_range().start;
        for number in self.at(first.span(), Genre::FnValue) {
            let value = &self.mutants[number].replacement;
            let text = format!(
                "if crate::mutation::is({number}) {{ /*<{number}*/ return {value}; /*{number}>*/ }} "
            );
            self.insertions.push(Insertion { at, rank: (true, 0), text });
        }
        debug_assert!(self.source.is_char_boundary(at));
    }
}
