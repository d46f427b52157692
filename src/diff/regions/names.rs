//! Interprets the names of regions, and of the calls inside them.

use crate::program::Words;
use crate::tree::{CallId, CallKind, CallTree, names_graph_launch};

/// Name prefixes of calls whose entire contents were compiled or captured.
const REGIONS: [&str; 3] = ["Torch-Compiled Region", "CompiledFunction", "## Call CompiledFxGraph"];

/// Name prefixes of Inductor's Triton kernels and of the ops that launch them.
const TRITON: [&str; 6] =
    ["triton_poi_", "triton_red_", "triton_per_", "triton_tem_", "triton_for_", "triton_unk_"];

/// Whether a call is a compiled region, a compiled backward step, or a launch of a captured graph
/// whose calls are unknown.
pub(in crate::diff) fn is_region(tree: &CallTree, call: CallId) -> bool {
    // If the capture is known, the captured calls below the launch are aligned like eager code.
    names_region(tree.kind(call), tree.name(call))
        && (tree.kind(call) != CallKind::Runtime || tree.is_bare_replay(call))
}

/// Whether a call with this kind and name is a compiled region, a compiled backward step, or a launch of a captured
/// graph.
pub(in crate::diff) fn names_region(kind: CallKind, name: &str) -> bool {
    match kind {
        CallKind::Op => begins(last_part(name), &REGIONS),
        CallKind::Runtime => names_graph_launch(name),
        CallKind::Frame | CallKind::Gpu | CallKind::Thread | CallKind::Unlinked => false,
    }
}

/// Whether a call is a region whose contents cannot match calls on the opposite side. This is true for a region with
/// generated code, and for a launch of a captured graph whose calls are unknown.
pub(in crate::diff) fn is_opaque(tree: &CallTree, call: CallId) -> bool {
    is_region(tree, call)
        && (tree.kind(call) == CallKind::Runtime
            || tree.subtree(call).any(|below| is_fused(tree.name(below))))
}

/// Whether the name of an op has the form that compilers use for generated code. Generated code replaces other ops.
/// Hand-written Triton kernels do not have such names.
pub(crate) fn is_generated(name: &str) -> bool {
    begins(last_part(name), &REGIONS) || is_fused(name)
}

/// Whether a name has the form that compilers use for fused kernels and for the ops that launch them. Such a name
/// contains the names of the ops that were fused.
pub(crate) fn is_fused(name: &str) -> bool {
    begins(last_part(name), &TRITON) || name.contains("cpp_fused_")
}

/// For an op on a list of tensors, the op that does the same on one tensor: `add_` for `aten::_foreach_add_`.
pub(in crate::diff) fn single_tensor_op(name: &str) -> Option<&str> {
    last_part(name).strip_prefix("_foreach_")
}

/// The words after `fused` in a name. These words name the ops that a generated kernel replaces.
pub(super) fn named_ops(name: &str) -> Option<Words> {
    is_fused(name).then(|| Words::of(name).behind("fused")).flatten()
}

fn begins(name: &str, with: &[&str]) -> bool {
    with.iter().any(|begin| name.starts_with(begin))
}

/// `evaluate_function: CompiledFunctionBackward` → `CompiledFunctionBackward`.
pub(super) fn last_part(name: &str) -> &str {
    let colons = name.as_bytes().windows(2).rposition(|two| two == b"::");
    let name = colons.map_or(name, |at| &name[at + 2..]);
    name.strip_prefix("evaluate_function: ").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_names_regions_and_kernels() {
        for name in [
            "Torch-Compiled Region: 0/0",
            "CompiledFunction",
            "autograd::engine::evaluate_function: CompiledFunctionBackward",
            "triton_poi_fused_add_mul_0",
            "graph_0_cpp_fused_add_1",
        ] {
            assert!(is_generated(name), "{name}");
        }
        for name in ["aten::mul", "triton_softmax_kernel", "autograd::engine::evaluate_function: X"]
        {
            assert!(!is_generated(name), "{name}");
        }
        assert!(!is_fused("CompiledFunction"));
    }

    #[test]
    fn a_kernel_names_its_ops() {
        let named = named_ops("triton_red_fused_add_mean_mul_pow_rsqrt_0").expect("names");
        assert!(named.contain_all(&Words::of("rsqrt_mean")) && !named.has("red"));
        assert!(named_ops("aten::add").is_none());
    }

    #[test]
    fn a_multi_tensor_op_names_the_op_that_it_replaces() {
        assert_eq!(single_tensor_op("aten::_foreach_addcmul_"), Some("addcmul_"));
        assert_eq!(single_tensor_op("aten::addcmul_"), None);
    }
}
