//! A mutant as listed by `cargo mutants --list --json`.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub struct Mutant {
    pub file: String,
    pub name: String,
    pub genre: Genre,
    pub replacement: String,
    pub span: Span,
    pub function: Option<Function>,
}

/// What is replaced.
#[derive(Debug, Deserialize, Clone, Copy, PartialEq, Eq)]
pub enum Genre {
    /// The body of a function, by a value.
    FnValue,
    BinaryOperator,
    UnaryOperator,
    /// An arm of a `match`, which is removed.
    MatchArm,
    /// The guard of an arm, by `true` or `false`.
    MatchArmGuard,
    /// A field of a struct expression with a base (`..base`), which is removed.
    StructField,
}

#[derive(Debug, Deserialize)]
pub struct Function {
    pub span: Span,
}

#[derive(Debug, Deserialize, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub start: Position,
    pub end: Position,
}

/// Lines and columns, both from 1.
#[derive(Debug, Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Mutant {
    /// The folder of `src` that contains it.
    pub fn folder(&self) -> &str {
        self.file.split('/').nth(1).unwrap_or_default()
    }
}
