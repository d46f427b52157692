//! Derives calls for the programs and scopes that enclose ops, from the order in which each thread
//! ran the ops.
//!
//! ```text
//! jit_step/jvp/layer_0/dot  ├─┤                    jit_step
//! jit_step/jvp/layer_0/add     ├─┤             =▶  └── jvp
//! jit_step/jvp/layer_1/dot        ├─┤                  ├── layer_0  ├────┤
//!                                                      └── layer_1        ├─┤
//! ```
//! A scope lasts from the first to the last op in an uninterrupted sequence of ops with that scope.
//! Ops inside another op are ignored.

use crate::trace::ids::ThreadId;
use crate::trace::texts::TextId;
use crate::trace::time::Nanos;
use std::rc::Rc;

/// Maximum number of scopes that enclose an op; scopes nested more deeply are omitted.
const DEEPEST: usize = 48;

/// An op that ran, and the scopes that enclose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ran {
    pub(super) thread: ThreadId,
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    /// The number of this execution of the program, if the profile records one.
    pub(super) run: i64,
    /// Name of the op, including its number.
    pub(super) op: TextId,
    /// The calls that enclose the op, outermost first: the program and the scopes. If the op has no
    /// event of its own, the path also contains the op.
    pub(super) path: Rc<[Step]>,
}

/// A call on the path to an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// Identifies the call: two steps with equal keys represent the same call.
    pub(super) key: TextId,
    pub(super) name: TextId,
    /// For an op, the number of its program; `None` for a program or a scope.
    pub(super) op_of: Option<i64>,
}

/// A call that encloses ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) thread: ThreadId,
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    pub(super) step: Step,
}

/// The calls that enclose the ops, in preorder.
pub(super) fn scopes(mut ops: Vec<Ran>) -> Vec<Scope> {
    ops.sort_by_key(|op| (op.thread, op.start, std::cmp::Reverse(op.end)));
    let mut scopes: Vec<Scope> = Vec::new();
    for ops in ops.chunk_by(|a, b| a.thread == b.thread) {
        // The calls that the next op may extend, as positions in `scopes`.
        let mut open: Vec<usize> = Vec::new();
        let mut first: Option<&Ran> = None;
        let mut last: Option<&Ran> = None;
        let mut until = Nanos(i64::MIN);
        for op in ops {
            if op.start < until {
                continue;
            }
            // If the first op of a program runs again, or the run number changes, the program has
            // been started again.
            let again = first.is_some_and(|first| first.run != op.run || first.op == op.op);
            if again && last.is_some_and(|last| last.op != op.op || last.run != op.run) {
                open.clear();
            }
            let is_same = |(at, step): &(&usize, &Step)| scopes[**at].step.key == step.key;
            let same = open.iter().zip(&*op.path).take_while(is_same).count();
            open.truncate(same);
            if same == 0 {
                first = Some(op);
            }
            for step in &op.path[same..] {
                open.push(scopes.len());
                scopes.push(Scope { thread: op.thread, start: op.start, end: op.end, step: *step });
            }
            for &at in &open {
                scopes[at].end = scopes[at].end.max(op.end);
            }
            last = Some(op);
            until = op.end;
        }
    }
    scopes
}

/// The components of a name stack: `jit(f)/jvp(a/b)/dot` has three components.
pub(super) fn parts(stack: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, byte) in stack.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b'/' if depth == 0 => {
                parts.push(&stack[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&stack[from..]);
    parts.retain(|part| !part.is_empty());
    parts.truncate(DEEPEST);
    parts
}

/// The scopes in a name stack, except the scope of the program itself: `jit(main)`, or `jit(f)` in
/// the program `jit_f`.
pub(super) fn of<'s>(stack: &'s str, module: &str) -> Vec<&'s str> {
    let mut parts = parts(stack);
    let is_program = |part: &&str| {
        let inner = part.strip_prefix("jit(").and_then(|part| part.strip_suffix(')'));
        inner.is_some_and(|inner| inner == "main" || module.strip_prefix("jit_") == Some(inner))
    };
    let count = parts.iter().take(2).take_while(|part| is_program(part)).count();
    parts.drain(..count);
    parts
}

/// The name of an op without its number: `fusion.3` → `fusion`.
pub(super) fn without_number(name: &str) -> &str {
    let mut name = name;
    while let Some((rest, number)) = name.rsplit_once('.')
        && !rest.is_empty()
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        name = rest;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_split_outside_of_brackets() {
        assert_eq!(parts("jit(f)/jvp(a/b)/dot"), ["jit(f)", "jvp(a/b)", "dot"]);
        assert_eq!(parts(""), Vec::<&str>::new());
        assert_eq!(without_number("cudnn-conv.1.0"), "cudnn-conv");
        assert_eq!(without_number("f.x"), "f.x");
    }

    #[test]
    fn ops_in_a_row_share_their_scopes_and_runs_do_not() {
        let step = |key| Step { key: TextId(key), name: TextId(key), op_of: None };
        let op = |start, op, path: &[u32]| Ran {
            thread: ThreadId(0),
            start: Nanos(start),
            end: Nanos(start + 5),
            run: 0,
            op: TextId(op),
            path: path.iter().map(|&key| step(key)).collect(),
        };
        let ops =
            vec![op(0, 1, &[9, 8]), op(10, 2, &[9, 8]), op(20, 3, &[9, 7]), op(30, 1, &[9, 8])];
        let shown: Vec<_> =
            scopes(ops).iter().map(|s| (s.step.key.0, s.start.0, s.end.0)).collect();
        assert_eq!(shown, [(9, 0, 25), (8, 0, 15), (7, 20, 25), (9, 30, 35), (8, 30, 35)]);
    }
}
