//! Computes a property of a name once per distinct name: a trace has few names and many events of
//! each.

use super::{TextId, Trace};

/// A value for each name of one trace, computed on first use.
#[derive(Debug, Clone)]
pub(crate) struct ByName<T> {
    /// Indexed by text; `None` until the value is requested.
    answers: Vec<Option<T>>,
}

impl<T: Copy> ByName<T> {
    /// A cache without any values yet.
    pub(crate) fn new(trace: &Trace) -> ByName<T> {
        ByName { answers: vec![None; trace.texts().len()] }
    }

    /// The value for a name of this trace. Calls `find` the first time only.
    pub(crate) fn get(&mut self, name: TextId, find: impl FnOnce() -> T) -> T {
        *self.answers[name.index()].get_or_insert_with(find)
    }
}
