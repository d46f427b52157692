//! Walks over calls in preorder and keeps a value for each call on the path from the root.

use super::{CallId, CallTree};

/// The calls on the path from a root to the last visited call, with a value for each call.
///
/// If calls are visited in preorder, each ancestor is entered and left only once, however deeply
/// the calls are nested. If calls are visited in a different order, the values are the same, but
/// some calls are entered repeatedly.
#[derive(Debug)]
pub struct Descent<T> {
    path: Vec<(CallId, T)>,
    /// The calls that the current visit still has to enter. This is a field so that each visit
    /// reuses the allocated memory.
    new: Vec<CallId>,
}

impl<T> Default for Descent<T> {
    fn default() -> Self {
        Descent { path: Vec::new(), new: Vec::new() }
    }
}

impl<T> Descent<T> {
    /// Moves to a call: leaves the calls that are not its ancestors, innermost first, then enters
    /// the remaining ancestors and the call itself. `enter` and `leave` also receive the value of
    /// the parent, if there is a parent.
    pub fn visit(
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
        &self.path.last().expect("the path ends with the visited call").1
    }

    /// Leaves all calls of the path.
    pub fn finish(mut self, leave: impl FnMut(CallId, T, Option<&mut T>)) {
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
