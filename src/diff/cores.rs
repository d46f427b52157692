//! Computes the core of a wrapper: a chain of nested calls. Each call of the chain contains more than half of the
//! tokens below the previous call. The core of each call is computed only once.

use super::keys::Key;
use super::outline::Outline;
use super::weights::WRAPPERS;
use crate::side::{PerSide, Side};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The cores of the calls that one worker examines.
#[derive(Debug, Default)]
pub(super) struct Cores {
    /// All cores, one after the other.
    calls: Vec<(Key, u32)>,
    known: PerSide<FxHashMap<u32, Range<u32>>>,
}

impl Cores {
    /// The ops and frames inside `call` that form its core, with their keys. The outermost of them contains more than
    /// half of the tokens below `call`, and each of the others contains more than half of the tokens below the previous
    /// one.
    pub(super) fn of(&mut self, side: Side, outline: &Outline<'_>, call: u32) -> &[(Key, u32)] {
        let calls = &mut self.calls;
        let core = self.known[side].entry(call).or_insert_with(|| {
            let start = calls.len() as u32;
            let chain = std::iter::successors(heaviest(outline, call), |&c| heaviest(outline, c));
            let telling = chain.take(WRAPPERS).filter(|&call| outline.is_op_or_frame(call));
            calls.extend(telling.map(|call| (outline.keys[call as usize], call)));
            start..calls.len() as u32
        });
        &self.calls[core.start as usize..core.end as usize]
    }
}

/// The direct child that contains more than half of the tokens below `call`.
fn heaviest(outline: &Outline<'_>, call: u32) -> Option<u32> {
    let most = outline.weight(call) - outline.own_weight(call);
    outline.each_child(call).find(|&child| 2 * outline.weight(child) > most)
}
