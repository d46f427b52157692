//! Looks up the category of a name, given the kind of call or event that has this name.

use super::kernel_name;
use super::rules::{NameKind, Rules};
use crate::program::Words;
use crate::tree::{AUTOGRAD_PREFIX, ModuleName};

/// Name of the op that marks calls to a communication library. Unlike the names of other ops, this name has
/// no namespace.
const COLLECTIVE_OP: &str = "record_param_comms";
/// Name prefix of compiler-generated ops and kernels.
const COMPILED_PREFIX: &str = "triton";
/// The word before the list of fused ops in compiler-generated names.
const FUSED: &str = "fused";
/// Words in the names of compiler-generated pointwise, reduction, foreach and split-scan kernels.
const GENERATED: [&str; 7] = ["poi", "red", "per", "for", "spl", "unk", FUSED];
/// Words in the names of compiler-generated template kernels.
const TEMPLATES: [&str; 1] = ["tem"];

/// The kind of call or event that has a given name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// The name that the runtime gave to an event.
    Event,
    /// A cpu_op.
    Op,
    /// A node in the autograd graph, or a user-defined autograd function.
    Autograd,
    /// A module.
    Module,
    /// A kernel that a compiler generated from pointwise ops or reductions. A lookup with the role
    /// `Generated` returns no category for other kernels.
    Generated,
    /// Any kernel.
    Kernel,
}

pub(super) fn find(rules: &Rules, role: Role, name: &str) -> Option<usize> {
    match role {
        Role::Event => rules.find(NameKind::Event, &Words::of(&kernel_name::stem(name))),
        Role::Op if name.starts_with(COMPILED_PREFIX) => of_kernel(rules, name),
        Role::Op => rules.find(NameKind::Op, &Words::of(name)),
        Role::Autograd => {
            let node = name.strip_prefix(AUTOGRAD_PREFIX).unwrap_or(name);
            rules.find(NameKind::Op, &Words::of(node))
        }
        Role::Module => rules.find(NameKind::Module, &Words::of(ModuleName::class_or_name(name))),
        Role::Generated => {
            let words = Words::of(&kernel_name::stem(name));
            if is_generated(&words) { of_generated(rules, &words) } else { None }
        }
        Role::Kernel => of_kernel(rules, name),
    }
}

/// The category of a kernel: compiler-generated kernels are looked up by the ops in their names,
/// launchers by their template arguments, and all other kernels by their stems.
fn of_kernel(rules: &Rules, name: &str) -> Option<usize> {
    let stem = kernel_name::stem(name);
    let words = Words::of(&stem);
    if is_generated(&words) {
        return of_generated(rules, &words);
    }
    if is_template(&words) {
        let made_from = rules.find(NameKind::Template, &words);
        return made_from.or_else(|| rules.find(NameKind::Kernel, &words));
    }
    kernel_name::launched(name, |stem| rules.is_launcher(stem))
        .iter()
        .find_map(|inner| rules.find(NameKind::Kernel, &Words::of(inner)))
        .or_else(|| rules.find(NameKind::Kernel, &words))
}

/// Whether a compiler generated a kernel. Examples: `triton_poi_fused_add_mul_3`, `triton_red_…`,
/// `triton_per_…`; `triton_fused_…` and `triton__0d1d2d` from earlier compilers; `cpp_fused_…` on a CPU.
fn is_generated(words: &Words) -> bool {
    let kind = words.at(1).unwrap_or_default();
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let is_triton = words.at(0) == Some(COMPILED_PREFIX);
    (is_triton && (GENERATED.contains(&kind) || is_number(kind)))
        || words.contain(&Words::of("cpp_fused"))
}

/// Whether a kernel was generated from a template, such as `triton_tem_fused_addmm_3`.
fn is_template(words: &Words) -> bool {
    words.at(0) == Some(COMPILED_PREFIX)
        && words.at(1).is_some_and(|kind| TEMPLATES.contains(&kind))
}

/// Looks up a generated kernel, which does only pointwise work and reductions. The list of ops in a
/// generated kernel's name also contains ops that merely produced the kernel's inputs, including matrix
/// products and attention.
fn of_generated(rules: &Rules, words: &Words) -> Option<usize> {
    let list = words.behind(FUSED).unwrap_or_default();
    rules
        .find(NameKind::Fused, &list)
        .or_else(|| rules.find_only(&list))
        .or_else(|| rules.find(NameKind::Kernel, &words.first(2)))
}

/// Whether a cpu_op is a real op: its name has a namespace, or a compiler generated the op. The remaining
/// cpu_ops are autograd nodes, or ranges named by a user or a framework. Named ranges say nothing about
/// individual kernels.
pub(super) fn is_op(name: &str) -> bool {
    let namespaced = name.contains("::") && !name.contains(' ');
    namespaced || name.starts_with(COMPILED_PREFIX) || name == COLLECTIVE_OP
}

/// Whether a name belongs to an autograd node (`AddmmBackward0`, `autograd::engine::evaluate_function:
/// AddmmBackward0`) or to a user-defined autograd function (`FlashAttnFunc`, `LayerNormFn`).
pub(super) fn is_autograd_node(name: &str) -> bool {
    const ENDINGS: [&str; 4] = ["Backward", "Function", "Func", "Fn"];
    let node = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name.starts_with(AUTOGRAD_PREFIX)
        || (!name.contains([' ', ':']) && ENDINGS.iter().any(|ending| node.ends_with(ending)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_kernels_are_distinguished_from_templates_and_other_triton_kernels() {
        let generated = |name: &str| is_generated(&Words::of(name));
        assert!(generated("triton_poi_fused_addmm_relu_3") && generated("triton__0d1d2de"));
        assert!(generated("triton_fused_add_1") && generated("graph_0_cpp_fused_mul_2"));
        assert!(!generated("triton_tem_fused_addmm_3") && !generated("triton_mm"));
        assert!(!generated("_fwd_kernel") && !generated("fused_moe_kernel"));
        assert!(is_template(&Words::of("triton_tem_fused_addmm_3")));
    }

    #[test]
    fn a_range_that_somebody_named_is_neither_op_nor_autograd_node() {
        assert!(is_op("aten::mm") && is_op("torch::autograd::CppNode<Lookup>"));
        assert!(!is_op("attention part") && !is_autograd_node("attention part"));
        assert!(is_autograd_node("FlashAttnFunc") && is_autograd_node("AddmmBackward0"));
        assert!(!is_autograd_node("my::Func") && !is_autograd_node("forward"));
    }
}
