//! The Python class that explains why a call is matched to its counterpart.

use crate::node::Node;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use tracetree::diff::{self, Confidence, PairEvidence, Pass};
use tracetree::escape::one_line;
use tracetree::{Analysis, Comparison};
use tracetree_cli::explanation_text;

/// Why a call is matched to its counterpart, and which other candidates were considered. `print` shows the
/// same text as `tracetree explain`.
#[pyclass(frozen, module = "tracetree")]
pub(crate) struct Explanation {
    comparison: Comparison,
    explanation: diff::Explanation,
}

impl Explanation {
    pub(crate) fn new(comparison: &Comparison, explanation: diff::Explanation) -> Explanation {
        Explanation { comparison: comparison.clone(), explanation }
    }

    fn analysis(&self) -> &Arc<Analysis> {
        self.comparison.analysis()
    }

    fn other(&self, evidence: &PairEvidence) -> Node {
        Node::of_comparison(self.analysis(), self.explanation.side.other(), evidence.call)
    }
}

#[pymethods]
impl Explanation {
    /// The call whose match is explained.
    #[getter]
    fn node(&self) -> Node {
        Node::of_comparison(self.analysis(), self.explanation.side, self.explanation.call)
    }

    /// The call's counterpart in the other trace; `None` if the call has no counterpart.
    #[getter]
    fn counterpart(&self) -> Option<Node> {
        self.explanation.counterpart.as_ref().map(|evidence| self.other(evidence))
    }

    /// `same`, `renamed`, `moved`, `trace1_only` or `trace2_only`.
    #[getter]
    fn relation(&self) -> &'static str {
        self.explanation.relation.label()
    }

    /// `firm`, `likely` or `interchangeable`; `None` if there is no counterpart.
    #[getter]
    fn confidence(&self) -> Option<&'static str> {
        let (side, call) = (self.explanation.side, self.explanation.call);
        self.analysis().diff().confidence(side, call).map(Confidence::label)
    }

    /// The alignment pass that made the match, such as `siblings`; `None` if there is no counterpart.
    /// The printed explanation describes the evidence that this pass uses.
    #[getter]
    fn matched_by(&self) -> Option<&'static str> {
        self.explanation.pass.map(Pass::name)
    }

    /// The evidence for the match, as a dictionary; `None` if there is no counterpart.
    #[getter]
    fn evidence<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.explanation.counterpart.as_ref().map(|found| evidence(py, found)).transpose()
    }

    /// Other calls at this call site that could have been the counterpart, best candidate first. Each item is a tuple
    /// `(node, reason)`; the reason says why the node was not chosen.
    #[getter]
    fn others(&self) -> Vec<(Node, String)> {
        let others = self.explanation.others.iter();
        others.map(|found| (self.other(found), self.explanation.why_not(found))).collect()
    }

    fn __str__(&self) -> String {
        explanation_text(&self.comparison, &self.explanation).trim_end().to_owned()
    }

    fn __repr__(&self) -> String {
        let text = self.__str__();
        let first: Vec<&str> = text.lines().next().unwrap_or_default().split_whitespace().collect();
        format!("<tracetree.Explanation {}: {}>", one_line(&first.join(" ")), self.relation())
    }
}

fn evidence<'py>(py: Python<'py>, found: &PairEvidence) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("same_key", found.same_key)?;
    all.set_item("same_name", found.same_name)?;
    all.set_item("same_arguments", found.same_arguments)?;
    all.set_item("same_subtree", found.same_subtree)?;
    all.set_item("same_shape", found.same_shape)?;
    all.set_item("shared", found.shared)?;
    all.set_item("of", found.of)?;
    all.set_item("distance", found.distance)?;
    let words: Vec<(&str, f64)> =
        found.words.iter().map(|shared| (shared.word.as_str(), shared.weight)).collect();
    all.set_item("words", words)?;
    Ok(all)
}
