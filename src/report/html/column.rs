//! Serializes an iterator as a column of the page's data; the items are generated while the column is written.

use serde::{Serialize, Serializer};

/// Serializes the items of an iterator as a JSON array.
pub(super) struct Column<F>(pub(super) F);

impl<I: Iterator<Item: Serialize>, F: Fn() -> I> Serialize for Column<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// The difference of a position or an id from the previous one, which takes fewer digits; `last` becomes the position.
pub(super) fn step(last: &mut i64, position: impl Into<i64>) -> i64 {
    let position = position.into();
    position - std::mem::replace(last, position)
}

/// A column of positions or ids, each as the difference from the previous one.
pub(super) fn steps(positions: impl Iterator<Item: Into<i64>>) -> impl Iterator<Item = i64> {
    positions.scan(0, |last, position| Some(step(last, position)))
}
