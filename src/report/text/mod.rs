//! [`Analysis`] → words: the narrative, the causes, figures, node names, the verdict, the merged tree.

mod adapter;
mod causes;
mod figures;
mod labels;
mod markup;
pub(super) mod merged_tree;
mod narrative;
mod remarks;
mod step_figures;
mod verdict;
mod wrap;

pub(crate) use crate::escape::one_line;
pub use adapter::{ChangeLine, ChangeLines, answer, answer_remarks, change_lines};
#[cfg(feature = "html")]
pub(crate) use causes::cause_sums;
pub use causes::{CauseLine, cause_lines};
#[cfg(feature = "html")]
pub(crate) use figures::percent;
pub(crate) use figures::{Unit, shorten, times};
pub use labels::node_name;
#[cfg(feature = "html")]
pub(super) use labels::{NamedBy, named_by};
pub(crate) use markup::{code, plain};
pub use narrative::{Action, Layer, Line, Narrative};
pub use verdict::{evidence, sentence};
pub(crate) use wrap::Width;
