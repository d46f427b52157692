//! A kernel that Inductor generated: its name lists the ops in it, its arguments the tensors.
//!
//! Every tensor is read or written once. Inductor passes tensors that it changes in place first, then
//! those that it reads, then new ones. Which is which is not recorded; but one case shows: the name
//! says `unsafe_view`, so a result of a product (two dimensions) is read under another shape, and the
//! last tensor still has those two dimensions: then it is such an input, no tensor of the result is
//! passed, and the first one is changed in place (one more read). Else the bytes are a lower bound.

use super::super::demand::{Demand, sum};
use super::super::inputs::{Inputs, Tensor};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::analysis::efficiency) struct Triton {
    /// Operations for each element, by the name of the op.
    flops: BTreeMap<String, f64>,
}

impl Triton {
    pub(super) fn demand(&self, name: &str, inputs: &Inputs) -> Option<Demand> {
        let tensors: Vec<&Tensor> = inputs.positions().filter_map(|at| inputs.tensor(at)).collect();
        let largest = tensors.iter().max_by(|a, b| a.elements().total_cmp(&b.elements()))?;
        let each = sum(tensors.iter().map(|tensor| tensor.read()));
        let again = match changes_first(name, &tensors) {
            true => tensors.first()?.read(),
            false => Some(0.0),
        };
        let flops = self.flops_of(name) * largest.elements();
        Some(Demand::vector(flops, sum([each, again]), largest.dtype))
    }

    /// The ops of `triton_poi_fused__unsafe_view_mul_silu_2`, longest names first.
    fn flops_of(&self, name: &str) -> f64 {
        let list = name.split_once("fused_").map_or("", |(_, list)| list);
        let words: Vec<&str> = list.split('_').filter(|word| !word.is_empty()).collect();
        let mut total = 0.0;
        let mut at = 0;
        while at < words.len() {
            let found = (at + 1..=words.len())
                .rev()
                .find_map(|end| Some((end, self.flops.get(&words[at..end].join("_"))?)));
            match found {
                Some((end, flops)) => {
                    total += flops;
                    at = end;
                }
                None => at += 1,
            }
        }
        total
    }
}

fn changes_first(name: &str, tensors: &[&Tensor]) -> bool {
    let [first, .., last] = tensors else { return false };
    let whole = first.elements() == last.elements();
    name.contains("unsafe_view") && whole && last.dims.len() == 2 && first.dims.len() > 2
}
