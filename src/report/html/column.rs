//! Serializes an iterator as a column of the page's data; the items are generated while the column is written.

use serde::{Serialize, Serializer};

/// Serializes the items of an iterator as a JSON array.
pub(super) struct Column<F>(pub(super) F);

impl<I: Iterator<Item: Serialize>, F: Fn() -> I> Serialize for Column<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}
