//! The layers of both sides → which layer is which, what each takes, and the ops of an average one.

mod ops;
mod pairs;
mod rows;

pub use ops::{LayerOpRow, Spread};
pub use pairs::{LayerPairs, PlacePair};
pub use rows::LayerRow;
