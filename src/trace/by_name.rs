//! What names tell, found out once for each name: names are few, and events of a name are many.

use super::{TextId, Trace};

/// An answer about each name of one trace, found when it is first asked for.
#[derive(Debug, Clone)]
pub(crate) struct ByName<T> {
    /// By text; `None` where nobody has asked.
    answers: Vec<Option<T>>,
}

impl<T: Copy> ByName<T> {
    /// Without any answer yet.
    pub(crate) fn new(trace: &Trace) -> ByName<T> {
        ByName { answers: vec![None; trace.texts().len()] }
    }

    /// What `find` says of a name of this trace; it is called once for each name.
    pub(crate) fn get(&mut self, name: TextId, find: impl FnOnce() -> T) -> T {
        *self.answers[name.index()].get_or_insert_with(find)
    }
}
