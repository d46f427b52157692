//! [`Analysis`] → words: what happened end to end, figures, node names, the verdict, the merged tree.

mod answer;
mod changes;
mod figures;
mod labels;
mod markup;
pub(super) mod merged_tree;
mod verdict;

pub(crate) use crate::escape::one_line;
#[cfg(feature = "html")]
pub(super) use answer::Figures;
#[cfg(feature = "html")]
pub(crate) use answer::cause_sums;
pub use answer::{CauseLine, answer, answer_remarks, cause_lines};
pub use changes::{ChangeLine, ChangeLines, change_lines};
#[cfg(feature = "html")]
pub(crate) use figures::percent;
pub(crate) use figures::{Unit, shorten, times};
pub use labels::node_name;
#[cfg(feature = "html")]
pub(super) use labels::{NamedBy, named_by};
pub(crate) use markup::{code, plain};
pub use verdict::{evidence, sentence};
