//! What is told in words: figures, names of nodes, the verdict, the merged tree.

mod figures;
mod labels;
pub(super) mod merged_tree;
mod verdict;

pub use figures::{Unit, one_line, percent, shorten, times};
pub use labels::node_name;
pub use verdict::{evidence, sentence};
