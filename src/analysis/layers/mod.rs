//! Matches the layers of the two sides, and computes the time of each layer, and the time of each op in an average
//! layer.

mod ops;
mod pairs;
mod rows;

pub use ops::{LayerOpRow, Spread, layer_op_rows};
pub use pairs::{LayerPairs, PlacePair};
pub use rows::{LayerRow, layer_rows};
