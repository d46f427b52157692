//! What is gone and what is new at one place → whether several do now what one did.

use super::variants::Exchanged;
use crate::program::Words;

/// Words of ops that do the work of several.
const FUSED: [&str; 13] = [
    "fused",
    "foreach",
    "multi tensor",
    "scaled dot product",
    "flash attn",
    "attention",
    "addmm",
    "baddbmm",
    "layer norm",
    "rms norm",
    "compiled fx graph",
    "torch compiled region",
    "triton",
];

/// Whether an op of this name does the work of several.
pub(super) fn is_fused(name: &str) -> bool {
    let words = Words::of(name);
    FUSED.iter().any(|fused| words.contain(&Words::of(fused)))
}

/// Whether calls of one op were split: fewer with some arguments became more with others.
pub(super) fn is_split(exchanged: &Exchanged) -> bool {
    exchanged.is_exchange() && exchanged.new_calls() > exchanged.gone_calls()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::digest::{Node, NodeKind, Range, Variant};

    fn node(variants: &[(&str, u64)]) -> Node {
        let mut node = Node::new(NodeKind::Op, "aten::linear".to_owned());
        let variant = |&(dims, calls): &(&str, u64)| Variant {
            dims: dims.to_owned(),
            types: String::new(),
            calls: Range::always(calls),
        };
        node.variants = variants.iter().map(variant).collect();
        node
    }

    #[test]
    fn one_large_call_that_became_three_small_ones_is_split() {
        let split = |before: &[(&str, u64)], after: &[(&str, u64)]| {
            is_split(&Exchanged::of(&[&node(before)], &[&node(after)]))
        };
        assert!(split(&[("3d", 1), ("d", 1)], &[("d", 4)]));
        assert!(!split(&[("d", 1)], &[("d", 3)]));
        assert!(!split(&[("d", 3)], &[("3d", 1)]));
        assert!(!split(&[("a", 1)], &[("b", 1)]));
    }

    #[test]
    fn words_of_names_tell_what_is_fused() {
        assert!(is_fused("aten::_foreach_add_") && is_fused("aten::scaled_dot_product_attention"));
        assert!(!is_fused("aten::relu") && !is_fused("aten::linear"));
    }
}
