//! Finds attention that is written out as a product, a softmax and a product.

use super::row::{PortingRow, Unfused};
use crate::order::Order as _;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use std::collections::BTreeMap;

/// With fewer rows or columns than this, unfused attention costs little.
const LONG_SEQUENCE: u64 = 64;

/// Finds each softmax over long rows, with the products and the pointwise ops of the same module that read or write its
/// matrix.
pub(super) fn unfused(rows: &[PortingRow]) -> Vec<Unfused> {
    let mut found: BTreeMap<(&str, u64, u64), PerSide<Nanos>> = BTreeMap::new();
    for softmax in rows.iter().filter(|row| row.name == "aten::_softmax") {
        let Some((n, m)) = last_sizes(&softmax.dims.baseline) else { continue };
        if n < LONG_SEQUENCE || m < LONG_SEQUENCE {
            continue;
        }
        let sum = found.entry((&softmax.module, n, m)).or_default();
        let mut products = 0;
        let mut all = softmax.time;
        for row in
            rows.iter().filter(|row| row.module == softmax.module && row.name != softmax.name)
        {
            let sizes = sizes(&row.dims.baseline);
            let has_both = sizes.contains(&n) && sizes.contains(&m);
            let is_product = row.name == "aten::bmm" || row.name == "aten::baddbmm";
            let is_pointwise = matches!(row.name.as_str(), "aten::mul" | "aten::div" | "aten::add")
                && last_sizes(&row.dims.baseline) == Some((n, m));
            if is_product && has_both || is_pointwise {
                products += u64::from(is_product);
                for side in Side::BOTH {
                    all[side] += row.time[side];
                }
            }
        }
        if products > 0 {
            *sum = all;
        }
    }
    let mut found: Vec<Unfused> = found
        .into_iter()
        .filter(|(_, time)| time.candidate > Nanos::ZERO)
        .map(|((module, n, m), time)| Unfused { module: module.to_owned(), sizes: (n, m), time })
        .collect();
    found.order_by(|a, b| b.time.candidate.cmp(&a.time.candidate));
    found
}

fn sizes(dims: &str) -> Vec<u64> {
    dims.split(|c: char| !c.is_ascii_digit()).filter_map(|size| size.parse().ok()).collect()
}

/// The last two sizes of the first tensor in `Input Dims`.
fn last_sizes(dims: &str) -> Option<(u64, u64)> {
    let first = dims.trim_start_matches('[').split(']').next()?;
    let sizes = sizes(first);
    Some((*sizes.get(sizes.len().checked_sub(2)?)?, *sizes.last()?))
}
