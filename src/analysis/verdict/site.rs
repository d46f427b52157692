//! One place of the program, and the verdict on it.

use super::family::Question;
use super::judgement::{Judgement, Work};
use crate::side::PerSide;
use crate::trace::Nanos;

/// One place of the program, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// Name of its rows.
    pub name: String,
    /// The innermost `nn.Module` around it, or its class where there are no repeats; empty where
    /// there is none.
    pub module: PerSide<String>,
    /// Positions of its rows; at least one.
    pub rows: Vec<usize>,
    /// Sum of their times, without steps that are not compared as they have no partner; adds up to the account
    /// over all sites where all steps are.
    pub time: PerSide<Nanos>,
    /// Whether both sides did the same.
    pub work: Work,
    /// What was judged.
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
