//! A call site with its verdict.

use super::family::Question;
use super::judgement::{Judgement, Work};
use crate::side::PerSide;
use crate::trace::Nanos;

/// A call site with its verdict: rows with one name, one set of arguments and one module.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// Name of its rows.
    pub name: String,
    /// The innermost enclosing `nn.Module` instance, or its class without repeats; empty if there
    /// is none.
    pub module: PerSide<String>,
    /// Positions of its rows; at least one.
    pub rows: Vec<usize>,
    /// Sum of their times, excluding steps without a counterpart. If all steps are compared, the sums of
    /// all call sites add up to the totals.
    pub time: PerSide<Nanos>,
    /// Whether both sides did the same work.
    pub work: Work,
    /// The samples that were tested.
    pub question: Question,
    /// The verdict and its evidence.
    pub judgement: Judgement,
}

impl Site {
    /// Position of its first row.
    pub fn first_row(&self) -> usize {
        self.rows[0]
    }
}
