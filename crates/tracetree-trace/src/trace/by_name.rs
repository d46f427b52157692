//! Computes a property of each distinct name only once, because a trace has few distinct names but
//! many events.

use super::{TextId, Trace};

/// A value for each name of one trace, computed on first use.
#[derive(Debug, Clone)]
pub struct ByName<T> {
    /// The values, indexed by string id; `None` for values that were not requested yet.
    answers: Vec<Option<T>>,
}

impl<T: Copy> ByName<T> {
    /// Creates an empty cache.
    pub fn new(trace: &Trace) -> ByName<T> {
        ByName { answers: vec![None; trace.texts().len()] }
    }

    /// The value for a name in this trace. Calls `find` only the first time that a name is looked
    /// up.
    #[inline]
    pub fn get(&mut self, name: TextId, find: impl FnOnce() -> T) -> T {
        *self.answers[name.index()].get_or_insert_with(find)
    }
}
