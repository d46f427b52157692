//! Parses the text of an NVTX range as an op, in the form that PyTorch's `emit_nvtx` writes.
//!
//! ```text
//! aten::mm, seq = 12, op_id = 999730, sizes = [[2, 3], [3, 4]], input_op_ids = [(7,0), (9,1)]
//! ```

/// An op parsed from the text of an NVTX range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Op<'t> {
    /// The name of the op, without the numbers that identify the call.
    pub(super) name: &'t str,
    /// The sequence number, which a backward op shares with its forward op.
    pub(super) sequence: Option<i64>,
    /// The input shapes as a JSON list; empty if not recorded.
    pub(super) shapes: &'t str,
}

/// The keys that may follow the op name.
const KEYS: [&str; 5] = [", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = ", ", mark = "];

impl<'t> Op<'t> {
    /// Parses the text of a range. If the text is not in the expected form, the whole text becomes
    /// the name.
    pub(super) fn of(text: &'t str) -> Op<'t> {
        let value = |key: &str| text.split_once(key).map(|(_, rest)| rest);
        let number = |rest: &str| {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
            rest[..digits].parse().ok()
        };
        let sequence = value(", seq = ").and_then(number).filter(|number| *number >= 0);
        let name = without_module(without_numbers(text));
        Op { name, sequence, shapes: value(", sizes = ").map_or("", list) }
    }

    /// Whether autograd runs the op in the backward pass.
    pub(super) fn is_backward(&self) -> bool {
        let name = self.name.strip_prefix("autograd::engine::evaluate_function: ");
        let digits = |c: char| c.is_ascii_digit();
        name.unwrap_or(self.name).trim_end_matches(digits).ends_with("Backward")
    }
}

/// The text of a range up to the first of the [`KEYS`]: the name with the module, but without the
/// numbers that identify the call.
fn without_numbers(text: &str) -> &str {
    let end = KEYS.iter().filter_map(|key| text.find(key)).min().unwrap_or(text.len());
    text[..end].trim()
}

/// Removes the module from a name such as `FSDP::pre_forward (blocks.3)`, because the enclosing
/// module call already names the module.
fn without_module(name: &str) -> &str {
    match name.split_once(" (") {
        Some((op, module)) if op.starts_with("FSDP::") && module.ends_with(')') => op,
        Some(_) | None => name,
    }
}

/// The list at the beginning of `text`, up to the closing bracket of the list.
fn list(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' if depth == 1 => return &text[..=at],
            b']' if depth > 1 => depth -= 1,
            _ if depth == 0 => return "",
            _ => {}
        }
    }
    ""
}

/// Names of wrapper modules that occur in module paths.
const WRAPPERS: [&str; 4] =
    ["_checkpoint_wrapped_module", "_fsdp_wrapped_module", "_orig_mod", "module"];

/// Parses a range such as `FSDP::pre_forward (blocks.3._checkpoint_wrapped_module)`. Returns two
/// values: whether the range marks the end of the module's forward pass instead of the beginning, and the module path
/// without wrapper names.
pub(super) fn module(text: &str) -> Option<(bool, String)> {
    let name = without_numbers(text);
    let (is_end, rest) = match name.strip_prefix("FSDP::pre_forward (") {
        Some(rest) => (false, rest),
        None => (true, name.strip_prefix("FSDP::post_forward (")?),
    };
    let path = rest.strip_suffix(')')?.split('.').filter(|part| !WRAPPERS.contains(part));
    Some((is_end, path.collect::<Vec<_>>().join(".")))
}

/// The name of a module call in Kineto's form. For example, `blocks.3` outside of all other modules
/// becomes `nn.Module: blocks_3`.
pub(super) fn module_name(path: &str, above: Option<&str>) -> String {
    let own = above.and_then(|above| path.strip_prefix(above)?.strip_prefix('.')).unwrap_or(path);
    match own.rsplit_once('.') {
        Some((class, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("nn.Module: {class}_{number}")
        }
        Some(_) | None if own.is_empty() => "nn.Module: (root)".to_owned(),
        Some(_) | None => format!("nn.Module: {own}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_has_a_name_and_perhaps_numbers() {
        let text =
            "aten::mm, seq = 12, op_id = 999730, sizes = [[2, 3], [3, 4]], input_op_ids = [(7,0)]";
        let op = Op::of(text);
        assert_eq!((op.name, op.sequence, op.shapes), ("aten::mm", Some(12), "[[2, 3], [3, 4]]"));
        let op = Op::of("aten::empty, op_id = 990346");
        assert_eq!((op.name, op.sequence, op.shapes), ("aten::empty", None, ""));
        assert_eq!(Op::of("my range, with a comma").name, "my range, with a comma");
        assert_eq!(Op::of("aten::mm, sizes = [[2, 3").shapes, "");
        assert_eq!(Op::of("FSDP::post_forward (blocks.3)").name, "FSDP::post_forward");
    }

    #[test]
    fn backward_ops_are_known_by_name() {
        let is = |name| Op::of(name).is_backward();
        assert!(is("autograd::engine::evaluate_function: MmBackward0, seq = 3, op_id = 4"));
        assert!(is("CompiledFunctionBackward, seq = 3"));
        assert!(!is("aten::mm, seq = 3") && !is("aten::_backward_hook"));
    }

    #[test]
    fn a_module_is_named_below_the_one_around_it() {
        let name = "FSDP::pre_forward (blocks.3._checkpoint_wrapped_module), op_id = 9";
        assert_eq!(module(name), Some((false, "blocks.3".to_owned())));
        assert_eq!(module_name("blocks.3", None), "nn.Module: blocks_3");
        assert_eq!(module_name("blocks.3.mlp", Some("blocks.3")), "nn.Module: mlp");
    }
}
