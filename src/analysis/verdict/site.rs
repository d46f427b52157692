//! A tested call site.

use super::family::Question;
use super::judgement::{Judgement, Work};
use crate::side::PerSide;
use crate::trace::Nanos;

/// A call site with its verdict. A call site consists of the rows that share a name, arguments and a module.
#[derive(Debug, Clone, PartialEq)]
#[doc(hidden)]
pub struct Site {
    /// Name of the call site's rows.
    pub name: String,
    /// The innermost enclosing `nn.Module` instance or, without repeats, the class of the innermost module; empty
    /// outside of modules.
    pub module: PerSide<String>,
    /// Positions of the call site's rows; never empty.
    pub rows: Vec<usize>,
    /// Total time of the rows, excluding steps without a counterpart. If all steps are compared, the times
    /// of all call sites add up to the totals.
    pub time: PerSide<Nanos>,
    /// Whether both sides did the same work.
    pub work: Work,
    /// The samples that were tested.
    pub question: Question,
    /// The verdict on the call site's time, with its evidence.
    pub judgement: Judgement,
}

impl Site {
    /// Position of the call site's first row.
    pub(crate) fn first_row(&self) -> usize {
        self.rows[0]
    }
}
