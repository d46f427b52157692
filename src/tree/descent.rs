//! A walk over calls in preorder → a value for each call on the path from the root.

use super::{CallId, CallTree};

/// The calls from a root down to the one visited last, with a value for each.
///
/// Visiting calls in preorder enters and leaves each call above them once, however deep they nest. In any
/// other order the values are the same, but calls are entered again.
#[derive(Debug)]
pub(crate) struct Descent<T> {
    path: Vec<(CallId, T)>,
    /// The calls to enter during a visit, kept for its memory.
    new: Vec<CallId>,
}

impl<T> Default for Descent<T> {
    fn default() -> Self {
        Descent { path: Vec::new(), new: Vec::new() }
    }
}

impl<T> Descent<T> {
    /// Goes to a call: leaves the calls that are not above it, innermost first, then enters the others down
    /// to the call itself. Both functions receive the value of the call above, if there is one.
    pub(crate) fn visit(
        &mut self,
        tree: &CallTree,
        call: CallId,
        mut enter: impl FnMut(Option<&T>, CallId) -> T,
        leave: impl FnMut(CallId, T, Option<&mut T>),
    ) -> &T {
        self.leave_until(|last| tree.is_below(call, last), leave);
        let inside = self.path.last().map(|(inside, _)| *inside);
        let above = std::iter::once(call).chain(tree.ancestors(call));
        self.new.extend(above.take_while(|&above| Some(above) != inside));
        while let Some(call) = self.new.pop() {
            let value = enter(self.path.last().map(|(_, value)| value), call);
            self.path.push((call, value));
        }
        &self.path.last().expect("the path ends with the call").1
    }

    /// Leaves all calls.
    pub(crate) fn finish(mut self, leave: impl FnMut(CallId, T, Option<&mut T>)) {
        self.leave_until(|_| false, leave);
    }

    fn leave_until(
        &mut self,
        stays: impl Fn(CallId) -> bool,
        mut leave: impl FnMut(CallId, T, Option<&mut T>),
    ) {
        while let Some((call, value)) = self.path.pop_if(|(last, _)| !stays(*last)) {
            leave(call, value, self.path.last_mut().map(|(_, value)| value));
        }
    }
}
