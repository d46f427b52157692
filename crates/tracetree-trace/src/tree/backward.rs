//! Links forward ops to their backward ops by `(Fwd thread id, Sequence number)`.
//!
//! A backward op records the sequence number of its forward op and an internal number of the thread
//! that ran the forward op. Forward ops do not record the internal thread number. The sequence
//! number alone is not enough, because every thread has its own counter, and forward ops may run on
//! several threads. For example, activation checkpointing runs forward ops on the backward thread.
//! A vote therefore assigns a thread to each internal number: the thread whose forward ops match
//! the most backward ops wins. Nested forward ops share a sequence number; of these, the forward op
//! that starts last is linked to the backward op.

use super::{CallId, CallKind, CallTree};
use crate::trace::{EventId, ThreadId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Maximum number of threads that can receive a vote from one backward op. A process runs forward
/// ops on only a few threads: at most one for each device or autograd thread.
const MOST_FORWARD_THREADS: usize = 32;

impl CallTree {
    /// The outermost backward ops, each with its forward op, as pairs (forward op, backward op)
    /// sorted by backward op.
    #[doc(hidden)]
    pub fn backward_links(&self) -> &[(CallId, CallId)] {
        self.backward.get_or_init(|| self.find_backward_links())
    }

    fn find_backward_links(&self) -> Vec<(CallId, CallId)> {
        let forward = self.forward_ops();
        let backward = self.backward_ops();
        let threads = self.forward_threads(&forward, &backward);
        let mut links: Vec<(CallId, CallId)> = backward
            .iter()
            .filter_map(|&(call, number, forward_thread)| {
                let thread = *threads.get(&forward_thread)?;
                let op = *forward.get(&(thread, number))?;
                (self.start(op) <= self.start(call)).then_some((op, call))
            })
            .collect();
        links.sort_by_key(|&(op, call)| (call, op));
        links
    }

    /// For each (thread, sequence number), the forward op that starts last.
    fn forward_ops(&self) -> FxHashMap<(ThreadId, i64), CallId> {
        let mut ops: FxHashMap<(ThreadId, i64), CallId> = FxHashMap::default();
        for (event, sequence) in self.trace().sequences.iter() {
            if sequence.forward_thread != 0 || sequence.number < 0 {
                continue;
            }
            let Some(call) = self.call_of(event).filter(|&call| self.kind(call) == CallKind::Op)
            else {
                continue;
            };
            ops.entry((self.trace().thread_of(event), sequence.number))
                .and_modify(|latest| *latest = (*latest).max(call))
                .or_insert(call);
        }
        ops
    }

    /// The outermost backward ops with their sequence numbers and forward thread numbers.
    fn backward_ops(&self) -> Vec<(CallId, i64, i64)> {
        let sequences = &self.trace().sequences;
        let same_above = |call: CallId, event: EventId| {
            self.ancestors(call).filter_map(|above| self.event(above)).any(|above| {
                sequences.get(above).is_some() && sequences.get(above) == sequences.get(event)
            })
        };
        sequences
            .iter()
            .filter(|(_, sequence)| sequence.forward_thread != 0 && sequence.number >= 0)
            .filter_map(|(event, sequence)| {
                let call = self.call_of(event)?;
                (!same_above(call, event)).then_some((
                    call,
                    sequence.number,
                    sequence.forward_thread,
                ))
            })
            .collect()
    }

    fn forward_threads(
        &self,
        forward: &FxHashMap<(ThreadId, i64), CallId>,
        backward: &[(CallId, i64, i64)],
    ) -> BTreeMap<i64, ThreadId> {
        let mut of_numbers: FxHashMap<i64, Vec<(ThreadId, CallId)>> = FxHashMap::default();
        let mut ops: Vec<(ThreadId, i64, CallId)> =
            forward.iter().map(|(&(thread, number), &op)| (thread, number, op)).collect();
        ops.sort_unstable();
        for (thread, number, op) in ops {
            of_numbers.entry(number).or_default().push((thread, op));
        }
        let mut votes: BTreeMap<(i64, ThreadId), u64> = BTreeMap::new();
        for &(call, number, forward_thread) in backward {
            let ops = of_numbers.get(&number).map_or(&[][..], Vec::as_slice);
            for &(thread, op) in ops.iter().take(MOST_FORWARD_THREADS) {
                if self.start(op) <= self.start(call) {
                    *votes.entry((forward_thread, thread)).or_default() += 1;
                }
            }
        }
        let mut threads: BTreeMap<i64, (u64, ThreadId)> = BTreeMap::new();
        for ((forward_thread, thread), count) in votes {
            let best = threads.entry(forward_thread).or_insert((0, thread));
            if count > best.0 {
                *best = (count, thread);
            }
        }
        threads.into_iter().map(|(number, (_, thread))| (number, thread)).collect()
    }
}
