//! The ranges of FSDP's hooks → calls of modules.
//!
//! ```text
//! ├ pre_forward (blocks.3) ┤   ops of the block   ├ post_forward (blocks.3) ┤
//! ├ nn.Module: blocks_3 ────────────────────────────────────────────────────┤
//! ```
//! A forward pass whose beginning or end is outside of the recording is left out.

use super::nvtx::{Edge, module_name};
use crate::trace::ids::ThreadId;
use crate::trace::time::Nanos;

/// A range of a hook.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hook {
    pub(super) thread: ThreadId,
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    pub(super) is_end: bool,
    pub(super) path: String,
}

impl Hook {
    pub(super) fn new(
        thread: ThreadId,
        (start, end): (Nanos, Nanos),
        edge: Edge,
        path: String,
    ) -> Self {
        Hook { thread, start, end, is_end: edge == Edge::End, path }
    }
}

/// A call of a module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ModuleCall {
    pub(super) thread: ThreadId,
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    pub(super) name: String,
}

/// The calls of modules, by thread and start.
pub(super) fn calls(mut hooks: Vec<Hook>) -> Vec<ModuleCall> {
    hooks.sort();
    let mut calls = Vec::new();
    for hooks in hooks.chunk_by(|a, b| a.thread == b.thread) {
        let mut open: Vec<&Hook> = Vec::new();
        for hook in hooks {
            if !hook.is_end {
                open.push(hook);
                continue;
            }
            let Some(at) = open.iter().rposition(|begin| begin.path == hook.path) else { continue };
            let (begin, above) = (open[at], at.checked_sub(1).map(|at| open[at].path.as_str()));
            let name = module_name(&hook.path, above);
            calls.push(ModuleCall { thread: hook.thread, start: begin.start, end: hook.end, name });
            open.truncate(at);
        }
    }
    calls.sort();
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_lasts_from_one_hook_to_the_other() {
        let hook = |start, edge, path: &str| {
            Hook::new(ThreadId(0), (Nanos(start), Nanos(start + 2)), edge, path.to_owned())
        };
        let hooks = vec![
            hook(0, Edge::End, "blocks.2"),
            hook(10, Edge::Begin, "blocks.3"),
            hook(20, Edge::Begin, "blocks.3.mlp"),
            hook(30, Edge::End, "blocks.3.mlp"),
            hook(40, Edge::End, "blocks.3"),
            hook(50, Edge::Begin, "blocks.4"),
        ];
        let calls = calls(hooks);
        let told: Vec<_> = calls.iter().map(|c| (c.name.as_str(), c.start.0, c.end.0)).collect();
        assert_eq!(told, [("nn.Module: blocks_3", 10, 42), ("nn.Module: mlp", 20, 32)]);
    }
}
