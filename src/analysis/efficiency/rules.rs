//! Parses efficiency [`Models`] from a TOML file. A model contains a formula, and the positions of the op's arguments
//! that the formula uses.

use super::demand::Demand;
use super::dtype::Dtype;
use super::formulas::{Formula, Op};
use super::inputs::Inputs;
use crate::error::{Error, ErrorKind, Result};
use crate::program::Lengths;
use crate::trace::{Arguments, Trace};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::path::Path;
use std::sync::LazyLock;

const BUILTIN: &str = include_str!("models.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    model: Vec<Model>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    /// Names of the ops that the model applies to. A name may contain one `*`, which matches any string.
    ops: Vec<String>,
    formula: Formula,
    /// The document or code from which the argument order and the formula were taken.
    source: String,
}

/// Efficiency models, which compute the minimum work of ops. Models are found by the name of the op.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct Models {
    models: Vec<Model>,
    by_name: FxHashMap<String, usize>,
    /// For each name with a `*`, the string before the `*`, the string after the `*`, and the position of the model in
    /// `models`. If several of them match an op, the first one is used.
    patterns: Vec<(String, String, usize)>,
}

impl Default for Models {
    fn default() -> Self {
        Models::builtin()
    }
}

impl Models {
    /// Only the built-in models.
    pub fn builtin() -> Models {
        static PARSED: LazyLock<Models> =
            LazyLock::new(|| Models::parse(BUILTIN).expect("the built-in models are valid"));
        PARSED.clone()
    }

    /// The built-in models and the models in a TOML file. The models in the file take precedence.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not valid TOML, or contains an invalid model.
    pub fn extended(path: impl AsRef<Path>) -> Result<Models> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::io(path, "read the efficiency models", error))?;
        let user = Models::parse(&text).map_err(|message| {
            Error::new(ErrorKind::Malformed, path, message).remedy(
                "write [[model]] tables with ops, formula and source, see docs/reference/efficiency.md",
            )
        })?;
        Ok(user.before(Models::builtin()))
    }

    /// Parses the models in a TOML string. The error message describes the mistake in the string.
    fn parse(text: &str) -> std::result::Result<Models, String> {
        let file: File = toml::from_str(text).map_err(|error| one_line(&error))?;
        let mut models =
            Models { models: Vec::new(), by_name: FxHashMap::default(), patterns: Vec::new() };
        for model in file.model {
            models.add(model)?;
        }
        Ok(models)
    }

    fn add(&mut self, model: Model) -> std::result::Result<(), String> {
        let at = self.models.len();
        if model.source.is_empty() {
            return Err(format!("the model for {:?} has no source", model.ops));
        }
        for op in &model.ops {
            match op.split_once('*') {
                Some((start, end)) if !end.contains('*') && op.len() > 1 => {
                    self.patterns.push((start.to_owned(), end.to_owned(), at));
                }
                Some(_) => {
                    return Err(format!(
                        "`{op}` must contain only one `*`, and at least one other character"
                    ));
                }
                None if op.is_empty() => return Err("an op has no name".to_owned()),
                None => {
                    if self.by_name.insert(op.clone(), at).is_some() {
                        return Err(format!("the op `{op}` appears twice in the file"));
                    }
                }
            }
        }
        self.models.push(model);
        Ok(())
    }

    /// Adds the models in `others`. If an op already has a model, this model takes precedence.
    fn before(mut self, others: Models) -> Models {
        let offset = self.models.len();
        let known: Vec<String> =
            others.by_name.keys().filter(|name| self.find(name).is_none()).cloned().collect();
        self.by_name.extend(known.into_iter().map(|name| {
            let at = others.by_name[&name] + offset;
            (name, at)
        }));
        let patterns =
            others.patterns.into_iter().map(|(start, end, at)| (start, end, at + offset));
        self.patterns.extend(patterns);
        self.models.extend(others.models);
        self
    }

    pub(super) fn formula(&self, name: &str) -> Option<&Formula> {
        self.find(name).map(|at| &self.models[at].formula)
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied().or_else(|| {
            let fits = |start: &str, end: &str| {
                name.len() >= start.len() + end.len()
                    && name.starts_with(start)
                    && name.ends_with(end)
            };
            self.patterns.iter().find(|(start, end, _)| fits(start, end)).map(|&(.., at)| at)
        })
    }
}

impl Models {
    /// The minimum work of an op, given its name and its arguments in a trace. Returns `None` if the op has no model,
    /// or if its arguments do not determine the work. `lengths` are the lengths of the requests; only paged attention
    /// uses them.
    pub fn demand(
        &self,
        name: &str,
        trace: &Trace,
        arguments: &Arguments,
        lengths: Option<Lengths>,
    ) -> Option<Demand> {
        demand_of(self.formula(name)?, name, trace, arguments, None, lengths)
    }
}

/// The minimum work of an op, given its formula.
pub(super) fn demand_of(
    formula: &Formula,
    name: &str,
    trace: &Trace,
    arguments: &Arguments,
    list_dtype: Option<Dtype>,
    lengths: Option<Lengths>,
) -> Option<Demand> {
    let Arguments { dims, types, strides, concrete } = *arguments;
    let [dims, types, strides, concrete] =
        [dims, types, strides, concrete].map(|id| trace.text(id));
    let inputs = Inputs::parse(dims, types, strides, concrete)?;
    formula.demand(&Op { name, inputs: &inputs, list_dtype, lengths })
}

/// The TOML parser's error message on a single line, without the excerpt of the file.
fn one_line(error: &toml::de::Error) -> String {
    error.message().lines().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINE: &str = r#"
        [[model]]
        ops = ["aten::mm", "mine::gemm_*"]
        formula.matmul = { a = 0, b = 1, b_transposed = true }
        source = "mine"
    "#;

    #[test]
    fn a_model_of_the_user_replaces_only_the_built_in_model_of_the_same_op() {
        let models = Models::parse(MINE).expect("a table").before(Models::builtin());
        assert_eq!(models.formula("aten::mm"), models.formula("mine::gemm_7"));
        assert_ne!(models.formula("aten::mm"), Models::builtin().formula("aten::mm"));
        assert_eq!(models.formula("aten::addmm"), Models::builtin().formula("aten::addmm"));
        assert_eq!(models.formula("aten::unheard_of"), None);
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_the_key() {
        let error = |text: &str| Models::parse(text).expect_err("an error");
        assert!(error(&MINE.replace("a = 0", "a = 0, c = 2")).contains('c'));
        assert!(error(&MINE.replace("matmul", "guess")).contains("guess"));
        assert!(error(&MINE.replace("source = \"mine\"", "source = \"\"")).contains("no source"));
        assert!(error(&MINE.replace("gemm_*", "*_*")).contains("one `*`"));
        assert!(error(&MINE.replace("mine::gemm_*", "*")).contains("one `*`"));
        assert!(error(&MINE.replace("mine::gemm_*", "")).contains("has no name"));
        assert!(error(&format!("{MINE}{MINE}")).contains("twice"));
    }
}
