//! A tested call site.

use super::family::Question;
use super::judgement::{Judgement, Work};
use crate::side::PerSide;
use crate::trace::Nanos;

/// A call site with its verdict: the rows that share a name, a set of arguments and a module.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// Name of the rows.
    pub name: String,
    /// The innermost enclosing `nn.Module` instance or, without repeats, its class; empty if there is none.
    pub module: PerSide<String>,
    /// Positions of the rows; at least one.
    pub rows: Vec<usize>,
    /// Total time of the rows, excluding steps without a counterpart. If all steps are compared, the times
    /// of all call sites add up to the totals.
    pub time: PerSide<Nanos>,
    /// Whether both sides did the same work.
    pub work: Work,
    /// The samples that were tested.
    pub question: Question,
    /// The verdict and its evidence.
    pub judgement: Judgement,
}

impl Site {
    /// Position of the first row.
    pub fn first_row(&self) -> usize {
        self.rows[0]
    }
}
