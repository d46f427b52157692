//! Computes the total measured time of each trace, and checks that the attribution rows add up to these totals.

mod ledger;
mod naming;
mod rows;
mod summaries;
mod tally;
mod totals;

pub use ledger::Ledger;
pub(super) use ledger::ledger;
pub(crate) use naming::RowNameIds;
pub(super) use rows::span;
pub use rows::{Row, RowKind};
pub use summaries::{Lowering, LoweringSide, RowGroup, by_name, by_unique_args, lowerings};
pub use tally::Tally;
pub use totals::{Account, Totals};
