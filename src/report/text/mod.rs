//! Describes an [`Analysis`] as text: the narrative, figures, node names, the verdict, the merged tree.

mod figures;
mod folds;
mod labels;
mod markup;
pub(super) mod merged_tree;
mod narrative;
mod port;
mod remarks;
mod verdict;
mod wrap;

pub use crate::escape::one_line;
pub(crate) use figures::tensors;
pub use figures::{Unit, both, shorten, times};
pub use labels::node_name;
#[cfg(feature = "html")]
pub(super) use labels::{NamedBy, named_by};
pub(crate) use markup::capitalised;
pub use markup::{code, plain};
pub use narrative::{Action, Layer, Line, Narrative};
pub use port::{Port, PortItem};
pub use verdict::{evidence, measure_words, sentence};
pub use wrap::Width;
