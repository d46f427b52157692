//! Finds module classes that have more instances on one side, ignoring instances that are missing only
//! because a compiled region replaced them.
//!
//! ```text
//! trace1   Model( Linear(linear), GELU(gelu) )         same model: the region does the work of the modules
//! trace2   OptimizedModule( Model( region ) )
//! ```
//! However, a compiled region may come from a different model than the modules on the other side. Matrix products
//! and convolutions show whether the models are the same, because a compiler preserves their number and shapes.

use super::fusion::shapes;
use crate::diff::{TraceDiff, is_generated};
use crate::side::{PerSide, Side};
use crate::trace::CUT_MODULE;
use crate::tree::{CallId, CallKind, CallTree, ModuleName};
use std::collections::{BTreeMap, BTreeSet};

/// Class of the wrapper that `torch.compile` puts around a compiled module.
const WRAPPER: &str = "OptimizedModule";

/// Names of the matrix products that compilers keep as calls instead of generating code for them.
const PRODUCTS: [&str; 4] = ["mm", "addmm", "_scaled_mm", "_int_mm"];

/// With fewer matrix products and convolutions than this, their number and shapes do not show whether the models
/// differ.
const ENOUGH: u64 = 4;

/// Module classes, such as `Linear`, that have more instances on one side. Classes are omitted if compiled
/// regions on the other side explain the difference. Each name is followed by both counts.
pub(super) fn differing(diff: &TraceDiff) -> Vec<String> {
    let classes = PerSide::from_fn(|side| count(&instances(diff.tree(side))));
    if classes.baseline == classes.candidate {
        return Vec::new();
    }
    let compiled = Compiled::of(diff);
    let replaced = PerSide::from_fn(|side| count(&compiled.replaced(diff, side)));
    // `windows` lists the module classes for which the two recordings contain different layers. Different
    // instance counts of these classes therefore do not mean that the models differ.
    let windows = diff.windows();
    let names: BTreeSet<&str> =
        Side::BOTH.iter().flat_map(|&side| classes[side].keys()).copied().collect();
    let is_other = |name: &str| {
        let of = |counts: &BTreeMap<&str, usize>| counts.get(name).copied().unwrap_or_default();
        Side::BOTH.into_iter().any(|side| {
            let surplus = of(&classes[side]).saturating_sub(of(&classes[side.other()]));
            let is_wrapper = compiled.stands_for[side] && name == WRAPPER;
            let is_window =
                name.ends_with(CUT_MODULE) || windows.iter().any(|window| window.class == name);
            surplus > of(&replaced[side]) && !is_wrapper && !is_window
        })
    };
    let shown = |name: &str| {
        let [one, two] =
            Side::BOTH.map(|side| classes[side].get(name).copied().unwrap_or_default());
        format!("{name} ({one} | {two})")
    };
    names.into_iter().filter(|name| is_other(name)).map(shown).collect()
}

fn instances(tree: &CallTree) -> BTreeSet<&str> {
    tree.module_calls().map(|call| tree.name(call)).collect()
}

/// Number of distinct instances of each module class.
fn count<'t>(instances: &BTreeSet<&'t str>) -> BTreeMap<&'t str, usize> {
    let mut classes = BTreeMap::new();
    for name in instances {
        *classes.entry(ModuleName::class_or_name(name)).or_default() += 1;
    }
    classes
}

/// What the compiled regions reveal about modules that exist on only one side.
struct Compiled {
    /// Whether the regions on each side do the work of the calls that they replaced on the other side.
    stands_for: PerSide<bool>,
    /// For each side, whether it has at least one region, with or without replaced calls.
    has_regions: PerSide<bool>,
}

impl Compiled {
    fn of(diff: &TraceDiff) -> Compiled {
        let has_regions = PerSide::from_fn(|side| {
            let tree = diff.tree(side);
            let mut ops = tree.calls().filter(|&call| tree.kind(call) == CallKind::Op);
            ops.any(|op| is_generated(tree.name(op)))
        });
        let stands_for = PerSide::from_fn(|side| has_regions[side] && do_the_same(diff, side));
        Compiled { stands_for, has_regions }
    }

    /// Names of the modules on one side that were replaced by regions on the other side. A module counts as
    /// replaced by a region if the region replaced the module itself, or contains counterparts of the
    /// module's ops.
    fn replaced<'a>(&self, diff: &'a TraceDiff, side: Side) -> BTreeSet<&'a str> {
        let tree = diff.tree(side);
        let stands_for = |call: CallId| match diff.region_of(side, call) {
            Some(at) => diff.regions()[at].side != side && self.stands_for[side.other()],
            None => {
                self.has_regions[side.other()]
                    && diff.counterpart(side, call).is_none()
                    && is_called_in_region(diff, side, call)
            }
        };
        let modules = tree.module_calls().filter(|&call| stands_for(call));
        modules.map(|call| tree.name(call)).collect()
    }
}

/// Whether an unmatched module contains an op whose counterpart is inside a compiled region.
fn is_called_in_region(diff: &TraceDiff, side: Side, module: CallId) -> bool {
    let (tree, other) = (diff.tree(side), diff.tree(side.other()));
    let ops = tree.subtree(module).filter(|&call| tree.kind(call) == CallKind::Op);
    let mut counterparts = ops.filter_map(|op| diff.counterpart(side, op));
    counterparts.any(|counterpart| {
        other.ancestors(counterpart).any(|above| is_generated(other.name(above)))
    })
}

/// Whether the regions on one side may come from the same model as the calls that they replaced. The answer
/// is based on the matrix products and convolutions in the traces.
fn do_the_same(diff: &TraceDiff, side: Side) -> bool {
    let (mut inside, mut replaced) = (Products::default(), Products::default());
    for region in diff.regions().iter().filter(|region| region.side == side) {
        inside.add(diff, side, &[region.call]);
        replaced.add(diff, side.other(), &region.replaced);
    }
    inside.is_hidden || inside.count.max(replaced.count) < ENOUGH || inside.are_like(&replaced)
}

/// The matrix products and convolutions below a set of calls.
#[derive(Default)]
struct Products {
    count: u64,
    /// For each input shape, the number of times it occurs. Dimensions are sorted because a compiler may transpose
    /// inputs.
    shapes: BTreeMap<Vec<i64>, u64>,
    /// Whether a graph replay or a generated template kernel hides some products.
    is_hidden: bool,
}

impl Products {
    fn add(&mut self, diff: &TraceDiff, side: Side, calls: &[CallId]) {
        let tree = diff.tree(side);
        for &outermost in calls {
            let mut next = outermost;
            while next < tree.end(outermost) {
                let call = next;
                next = CallId(call.0 + 1);
                let name = tree.name(call);
                self.is_hidden |= tree.is_graph_launch(call) || name.contains("triton_tem_");
                if tree.kind(call) == CallKind::Op && is_product(name) {
                    self.count += 1;
                    let inputs = shapes(diff, side, call).unwrap_or_default();
                    for mut factor in inputs.into_iter().filter(|dims| dims.len() > 1).take(2) {
                        factor.sort_unstable();
                        *self.shapes.entry(factor).or_default() += 1;
                    }
                    next = tree.end(call);
                }
            }
        }
    }

    /// Whether both sides have a similar number of products, have at least half of the shapes in common, and
    /// use the common shapes about equally often. Half of the shapes are enough, because only the shapes of
    /// weights are independent of the batch. The number of uses is compared because an additional layer in
    /// the model would change nothing else.
    fn are_like(&self, other: &Products) -> bool {
        let (less, more) = (self.count.min(other.count), self.count.max(other.count));
        let fewest = self.shapes.len().min(other.shapes.len());
        let common =
            self.shapes.iter().filter_map(|(shape, &one)| Some((one, *other.shapes.get(shape)?)));
        let common: Vec<(u64, u64)> = common.collect();
        let one: u64 = common.iter().map(|counts| counts.0).sum();
        let two: u64 = common.iter().map(|counts| counts.1).sum();
        4 * more <= 7 * less && 2 * common.len() >= fewest && 10 * one.abs_diff(two) <= one.max(two)
    }
}

fn is_product(name: &str) -> bool {
    let base = name.rsplit("::").next().unwrap_or(name);
    PRODUCTS.contains(&base)
        || (name.contains("::")
            && !is_generated(name)
            && (base.contains("conv") || base.contains("_linear")))
}

#[cfg(test)]
mod tests {
    use super::is_product;

    #[test]
    fn products_and_convolutions_are_recognized_by_name() {
        for name in
            ["aten::addmm", "aten::mm", "aten::convolution_backward", "mkldnn::_linear_pointwise"]
        {
            assert!(is_product(name), "{name}");
        }
        for name in [
            "aten::linear",
            "aten::add",
            "aten::bmm",
            "triton_poi_fused_convolution_0",
            "mm_kernel",
        ] {
            assert!(!is_product(name), "{name}");
        }
    }
}
