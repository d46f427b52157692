//! [`Analysis`] → the module classes of which one side has more instances, without those that a compiled region
//! stands for.
//!
//! ```text
//! trace1   Model( Linear(linear), GELU(gelu) )         no other model: the region does what the modules did
//! trace2   OptimizedModule( Model( region ) )
//! ```
//! A region may also be of another model. What a compiler leaves as it is tells: products and convolutions keep
//! their shapes, and how many there are.

use super::Analysis;
use super::fusion::shapes;
use crate::diff::{Region, is_generated};
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind, CallTree, ModuleName};
use std::collections::{BTreeMap, BTreeSet};

/// The wrapper of `torch.compile` around a module.
const WRAPPER: &str = "OptimizedModule";

/// Names of the matrix products that compilers call as they are.
const PRODUCTS: [&str; 4] = ["mm", "addmm", "_scaled_mm", "_int_mm"];

/// From so many products on their number and shapes tell.
const ENOUGH: usize = 4;

/// Distinct instances of each module class.
pub(super) fn classes(tree: &CallTree) -> BTreeMap<&str, usize> {
    count(&instances(tree))
}

/// The classes of which one side has more instances: `Linear (13 | 12)`.
pub(super) fn differing(analysis: &Analysis) -> Vec<String> {
    let all = PerSide::from_fn(|side| instances(analysis.tree(side)));
    if count(&all.baseline) == count(&all.candidate) {
        return Vec::new();
    }
    let compiled = Compiled::of(analysis);
    let classes = PerSide::from_fn(|side| {
        let replaced = compiled.replaced(analysis, side);
        let mut classes = count(&all[side].difference(&replaced).copied().collect());
        if compiled.sides[side] {
            classes.remove(WRAPPER);
        }
        classes
    });
    let names: BTreeSet<&&str> = classes.baseline.keys().chain(classes.candidate.keys()).collect();
    names
        .into_iter()
        .map(|name| (name, Side::BOTH.map(|side| classes[side].get(*name).copied().unwrap_or(0))))
        .filter(|(_, [one, two])| one != two)
        .map(|(name, [one, two])| format!("{name} ({one} | {two})"))
        .collect()
}

fn instances(tree: &CallTree) -> BTreeSet<&str> {
    tree.module_calls().map(|call| tree.name(call)).collect()
}

fn count<'t>(instances: &BTreeSet<&'t str>) -> BTreeMap<&'t str, usize> {
    let mut classes = BTreeMap::new();
    for name in instances {
        *classes.entry(ModuleName::class_or_name(name)).or_default() += 1;
    }
    classes
}

/// The regions that do what they stand for.
struct Compiled {
    /// By their position in the list of regions.
    does_the_same: Vec<bool>,
    /// Whether a side has some.
    sides: PerSide<bool>,
    /// Whether a side has any compiled region, whatever it faces.
    is_compiled: PerSide<bool>,
}

impl Compiled {
    fn of(analysis: &Analysis) -> Compiled {
        let regions = analysis.diff().regions();
        let does_the_same: Vec<bool> =
            regions.iter().map(|region| does_the_same(analysis, region)).collect();
        let sides = PerSide::from_fn(|side| {
            let mut all = regions.iter().zip(&does_the_same);
            all.any(|(region, &does)| does && region.side == side)
        });
        let is_compiled = PerSide::from_fn(|side| {
            let tree = analysis.tree(side);
            let mut ops = tree.calls().filter(|&call| tree.kind(call) == CallKind::Op);
            ops.any(|op| is_generated(tree.name(op)))
        });
        Compiled { does_the_same, sides, is_compiled }
    }

    /// Names of the modules of a side that a region of the other one stands for: the region replaced them, or
    /// holds the counterparts of what they call.
    fn replaced<'a>(&self, analysis: &'a Analysis, side: Side) -> BTreeSet<&'a str> {
        let diff = analysis.diff();
        let tree = analysis.tree(side);
        let stands_for = |call: CallId| match diff.region_of(side, call) {
            Some(at) => diff.regions()[at].side != side && self.does_the_same[at],
            None => {
                self.is_compiled[side.other()]
                    && diff.partner(side, call).is_none()
                    && is_called_in_region(analysis, side, call)
            }
        };
        let modules = tree.module_calls().filter(|&call| stands_for(call));
        modules.map(|call| tree.name(call)).collect()
    }
}

/// Whether a module without counterpart calls something whose counterpart is called in a region.
fn is_called_in_region(analysis: &Analysis, side: Side, module: CallId) -> bool {
    let (diff, tree, other) = (analysis.diff(), analysis.tree(side), analysis.tree(side.other()));
    let ops = tree.subtree(module).filter(|&call| tree.kind(call) == CallKind::Op);
    let mut partners = ops.filter_map(|op| diff.partner(side, op));
    partners.any(|partner| other.ancestors(partner).any(|above| is_generated(other.name(above))))
}

/// Whether a region can be of the same model as what stands opposite, as far as it tells.
fn does_the_same(analysis: &Analysis, region: &Region) -> bool {
    let inside = Products::of(analysis, region.side, &[region.call]);
    let replaced = Products::of(analysis, region.side.other(), &region.replaced);
    if inside.is_hidden || inside.count.max(replaced.count) < ENOUGH {
        return true;
    }
    let (less, more) = (inside.count.min(replaced.count), inside.count.max(replaced.count));
    let fewest = inside.shapes.len().min(replaced.shapes.len());
    let common = inside.shapes.intersection(&replaced.shapes).count();
    4 * more <= 7 * less && 2 * common >= fewest
}

/// The matrix products and convolutions below some calls.
struct Products {
    count: usize,
    /// The shapes of their inputs with at least two dimensions, each in order of size: a compiler may transpose
    /// them.
    shapes: BTreeSet<Vec<i64>>,
    /// Whether some do not show: in the replay of a graph, or as a kernel that was written for them.
    is_hidden: bool,
}

impl Products {
    fn of(analysis: &Analysis, side: Side, calls: &[CallId]) -> Products {
        let tree = analysis.tree(side);
        let mut found = Products { count: 0, shapes: BTreeSet::new(), is_hidden: false };
        for &outermost in calls {
            let mut next = outermost;
            while next < tree.end(outermost) {
                let call = next;
                next = CallId(call.0 + 1);
                let name = tree.name(call);
                found.is_hidden |= tree.is_graph_launch(call) || name.contains("triton_tem_");
                if tree.kind(call) == CallKind::Op && is_product(name) {
                    found.count += 1;
                    let inputs = shapes(analysis, side, call).unwrap_or_default();
                    found
                        .shapes
                        .extend(inputs.into_iter().filter(|dims| dims.len() > 1).map(sorted));
                    next = tree.end(call);
                }
            }
        }
        found
    }
}

fn sorted(mut dims: Vec<i64>) -> Vec<i64> {
    dims.sort_unstable();
    dims
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
    fn products_and_convolutions_are_told_by_name() {
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
