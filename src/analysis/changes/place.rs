//! Finds the position of a merged node in the user's program: the module class and the frame of user code.

use crate::diff::{MergedId, TraceDiff};
use crate::side::Side;
use crate::tree::{CallId, CallKind, CallTree, ModuleName};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Position {
    /// Class of the innermost enclosing module; empty if there is none.
    pub(super) module: String,
    /// The innermost enclosing frame of user code: `train.py: step`; empty if no Python stacks were recorded.
    pub(super) frame: String,
}

impl Position {
    /// The position of the call directly above a node.
    pub(super) fn above(diff: &TraceDiff, node: MergedId) -> Position {
        let (side, call) = either(diff, node);
        let tree = diff.tree(side);
        let Some(above) = tree.parent(call) else { return Position::default() };
        Position::of(tree, above)
    }

    /// The position of a node: the innermost module and the innermost frame of user code at or above the node.
    pub(super) fn at(diff: &TraceDiff, node: MergedId) -> Position {
        let (side, call) = either(diff, node);
        Position::of(diff.tree(side), call)
    }

    fn of(tree: &CallTree, call: CallId) -> Position {
        let Code { module, function } = Code::around(tree, call);
        let frame = function.map(|(path, _, function)| {
            format!("{}: {function}", path.rsplit('/').next().unwrap_or(path))
        });
        Position { module: module.to_owned(), frame: frame.unwrap_or_default() }
    }

    /// Formats the position as `in Mlp (train.py: forward)`; empty if unknown.
    pub(super) fn words(&self) -> String {
        match (self.module.as_str(), self.frame.as_str()) {
            ("", "") => String::new(),
            ("", frame) => format!("in {frame}"),
            (module, "") => format!("in {module}"),
            (module, frame) => format!("in {module} ({frame})"),
        }
    }
}

/// The baseline call of a node or, if the node has none, the candidate call.
pub(super) fn either(diff: &TraceDiff, node: MergedId) -> (Side, CallId) {
    diff.merged().node(node).calls().next().expect("every node has a call")
}

/// The user's code around a node, of the candidate if it has the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Code<'t> {
    /// Class of the innermost module; empty if there is none.
    pub(crate) module: &'t str,
    /// Path, first line and name of the innermost function; `None` if no Python stacks were recorded.
    pub(crate) function: Option<(&'t str, u32, &'t str)>,
}

impl<'t> Code<'t> {
    /// The code around a node.
    pub(crate) fn of(diff: &'t TraceDiff, node: MergedId) -> Code<'t> {
        let Some((side, call)) = diff.merged().node(node).calls().last() else {
            return Code::default();
        };
        Code::around(diff.tree(side), call)
    }

    fn around(tree: &'t CallTree, call: CallId) -> Code<'t> {
        let module = tree.module(call).map(|module| ModuleName::class_or_name(tree.name(module)));
        let mut above = std::iter::once(call).chain(tree.ancestors(call));
        let function = above.find_map(|above| {
            (tree.kind(above) == CallKind::Frame).then(|| user_code(tree.name(above))).flatten()
        });
        Code { module: module.unwrap_or_default(), function }
    }
}

/// `/home/me/train.py(12): step` → path, line and function. Returns `None` for library code and built-in functions.
#[doc(hidden)]
pub fn user_code(name: &str) -> Option<(&str, u32, &str)> {
    const LIBRARIES: [&str; 6] =
        ["site-packages/", "dist-packages/", "torch/", "lib/python", "<", "nn.Module: "];
    let (path, rest) = name.split_once('(')?;
    let (line, function) = rest.split_once("): ")?;
    let is_user = path.ends_with(".py")
        && !LIBRARIES.iter().any(|library| path.contains(library))
        && !is_standard(path);
    line.parse().ok().filter(|_| is_user).map(|line| (path, line, function))
}

/// `torch/nn/utils/clip_grad.py(12): clip_grad_norm_` → `clip_grad_norm_`. Returns `None` for wrappers of other
/// functions, private functions, built-in functions and modules.
pub(super) fn function(name: &str) -> Option<&str> {
    const WRAPPERS: [&str; 6] =
        ["wrapper", "wrapped", "fn", "decorate_context", "inner", "forward"];
    let (path, rest) = name.split_once('(')?;
    let (_, function) = rest.split_once("): ")?;
    let is_public = !function.starts_with(['_', '<']) && !WRAPPERS.contains(&function);
    (path.ends_with(".py") && is_public).then_some(function)
}

/// Whether a path without a folder is the name of a standard library file that often occurs in traces.
fn is_standard(path: &str) -> bool {
    const MODULES: [&str; 9] = [
        "contextlib.py",
        "threading.py",
        "runpy.py",
        "random.py",
        "functools.py",
        "enum.py",
        "weakref.py",
        "typing.py",
        "copy.py",
    ];
    MODULES.contains(&path)
}

#[cfg(test)]
mod tests {
    use super::user_code;

    #[test]
    fn only_user_code_is_a_position() {
        let step = user_code("/home/me/train.py(12): step");
        assert_eq!(step, Some(("/home/me/train.py", 12, "step")));
        assert_eq!(user_code("train.py(3): <module>"), Some(("train.py", 3, "<module>")));
        assert!(user_code("/srv/net/model.py(3): forward").is_some());
        for name in [
            "torch/nn/modules/module.py(1773): _call_impl",
            "/x/site-packages/peft/model.py(3): forward",
            "<built-in method step>",
            "nn.Module: Block_0",
            "<string>(2): __init__",
            "contextlib.py(12): __enter__",
            "threading.py(973): _bootstrap",
        ] {
            assert_eq!(user_code(name), None, "{name}");
        }
    }
}
