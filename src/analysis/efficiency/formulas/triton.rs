//! A kernel that Inductor generated: its name lists the ops in it, its arguments the tensors.
//!
//! Every tensor is read or written once. Inductor passes tensors that it changes in place first, then
//! those that it reads, then new ones. Which is which is not recorded; but one case shows: the name
//! says `unsafe_view`, so a result of a product (two dimensions) is read under another shape, and the
//! last tensor still has those two dimensions: then it is such an input, no tensor of the result is
//! passed, and the first one is changed in place (one more read). Else the bytes are a lower bound.
//!
//! A kernel that takes a part of a tensor is passed all of it: the table of an embedding, the whole that
//! is sliced. Such a tensor counts with as many elements as the kernel was launched for at most.

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

/// Words of ops that read or write a part of a tensor.
const PARTIAL: [&str; 8] =
    ["embedding", "gather", "index", "narrow", "select", "slice", "split", "unbind"];

/// Activations of gates: the two halves of one tensor are read for each element of the result.
const GATES: [&str; 3] = ["gelu", "sigmoid", "silu"];

impl Triton {
    pub(super) fn demand(&self, name: &str, inputs: &Inputs) -> Option<Demand> {
        let tensors: Vec<&Tensor> = inputs.positions().filter_map(|at| inputs.tensor(at)).collect();
        let largest = tensors.iter().max_by(|a, b| a.elements().total_cmp(&b.elements()))?;
        let most = most_of_one(name, inputs).unwrap_or(f64::INFINITY);
        let each = sum(tensors
            .iter()
            .map(|tensor| Some(tensor.read()?.min(most * f64::from(tensor.dtype?.bytes)))));
        let again = match changes_first(name, &tensors) {
            true => tensors.first()?.read(),
            false => Some(0.0),
        };
        let flops = self.flops_of(name) * largest.elements().min(most);
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

/// As many elements of one tensor are used at most; `None` where all are, or the size of the launch is
/// not recorded.
fn most_of_one(name: &str, inputs: &Inputs) -> Option<f64> {
    let has = |words: &[&str]| name.split('_').any(|word| words.contains(&word));
    let launched = launched(inputs).filter(|_| has(&PARTIAL))?;
    let is_gate = has(&GATES) && has(&["mul"]);
    Some(if is_gate { 2.0 * launched } else { launched })
}

/// The sizes of the launch are the last arguments: elements of the result, and of what each sums up.
fn launched(inputs: &Inputs) -> Option<f64> {
    let last = inputs.positions().rev().map_while(|at| inputs.integer(at));
    last.map(|size| size as f64).reduce(|all, size| all * size)
}

fn changes_first(name: &str, tensors: &[&Tensor]) -> bool {
    let [first, .., last] = tensors else { return false };
    let whole = first.elements() == last.elements();
    name.contains("unsafe_view") && whole && last.dims.len() == 2 && first.dims.len() > 2
}
