//! Converts the ranges of FSDP's hooks to module calls.
//!
//! ```text
//! ├ pre_forward (blocks.3) ┤   ops of the block   ├ post_forward (blocks.3) ┤
//! ├ nn.Module: blocks_3 ────────────────────────────────────────────────────┤
//! ```
//! If only a part of a forward pass was recorded, the module call extends to the beginning or the
//! end of the recording, and its name is marked as cut: `nn.Module: blocks_3 (cut)`.

use super::nvtx::module_name;
use crate::trace::CUT_MODULE;
use crate::trace::ids::ThreadId;
use crate::trace::time::Nanos;
use rustc_hash::FxHashMap;

/// The range of one FSDP hook.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hook {
    pub(super) thread: ThreadId,
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    /// Whether the range marks the end of the module's forward pass instead of the beginning.
    pub(super) is_end: bool,
    pub(super) path: String,
}

/// A module call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ModuleCall {
    pub(super) thread: ThreadId,
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    pub(super) name: String,
}

/// For each thread, the start of the first call and the end of the last call.
pub(super) type Extents = FxHashMap<ThreadId, (Nanos, Nanos)>;

/// The module calls, sorted by thread and start.
pub(super) fn calls(mut hooks: Vec<Hook>, extents: &Extents) -> Vec<ModuleCall> {
    hooks.sort();
    let mut calls = Vec::new();
    for hooks in hooks.chunk_by(|a, b| a.thread == b.thread) {
        let thread = hooks[0].thread;
        let extent = extents.get(&thread).copied();
        let cut = |path: &str, above| format!("{}{CUT_MODULE}", module_name(path, above));
        // On each thread, the end hooks that precede the first begin hook belong to forward passes
        // that began before the recording.
        for hook in hooks.iter().take_while(|hook| hook.is_end) {
            if let Some((start, _)) = extent {
                let name = cut(&hook.path, None);
                calls.push(ModuleCall { thread, start, end: hook.end, name });
            }
        }
        let mut open: Vec<&Hook> = Vec::new();
        for hook in hooks {
            if !hook.is_end {
                open.push(hook);
                continue;
            }
            let Some(at) = open.iter().rposition(|begin| begin.path == hook.path) else { continue };
            let (begin, above) = (open[at], at.checked_sub(1).map(|at| open[at].path.as_str()));
            let name = module_name(&hook.path, above);
            calls.push(ModuleCall { thread, start: begin.start, end: hook.end, name });
            open.truncate(at);
        }
        for (at, hook) in open.iter().enumerate() {
            if let Some((_, end)) = extent {
                let above = at.checked_sub(1).map(|at| open[at].path.as_str());
                let name = cut(&hook.path, above);
                calls.push(ModuleCall { thread, start: hook.start, end, name });
            }
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
        let hook = |start, is_end, path: &str| {
            let (thread, path) = (ThreadId(0), path.to_owned());
            Hook { thread, start: Nanos(start), end: Nanos(start + 2), is_end, path }
        };
        let hooks = vec![
            hook(0, true, "blocks.2"),
            hook(10, false, "blocks.3"),
            hook(20, false, "blocks.3.mlp"),
            hook(30, true, "blocks.3.mlp"),
            hook(40, true, "blocks.3"),
            hook(50, false, "blocks.4"),
        ];
        let calls = calls(hooks, &Extents::from_iter([(ThreadId(0), (Nanos(-7), Nanos(60)))]));
        let shown: Vec<_> = calls.iter().map(|c| (c.name.as_str(), c.start.0, c.end.0)).collect();
        let expected = [
            ("nn.Module: blocks_2 (cut)", -7, 2),
            ("nn.Module: blocks_3", 10, 42),
            ("nn.Module: mlp", 20, 32),
            ("nn.Module: blocks_4 (cut)", 50, 60),
        ];
        assert_eq!(shown, expected);
    }
}
