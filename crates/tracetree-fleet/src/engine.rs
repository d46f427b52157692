//! Compares all pairs of a plan on the cores of this machine and writes their shards.
//!
//! ```text
//! existing shards ─▶ remaining pairs, ─▶ traces requested ─▶ compared on ─▶ shards written
//! are listed once    largest first       ahead               all cores      in the background
//! ```
//! Traces are requested in advance, so a core waits for object storage only if the storage is slower than the
//! comparisons.

use super::map::{Existing, Mapped, Mapping, SHARDS, Writing, shard_name};
use super::plan::{Plan, PlannedPair};
use super::reduce::Lost;
use super::status::Status;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use tracetree::error::{Error, ErrorKind, Result};
use tracetree::order::Order as _;
use tracetree::side::{PerSide, Side};
use tracetree::storage::{self, Opening};

/// After this many consecutive write failures, no further pair is started. The folder is then probably full,
/// read-only or unreachable.
const MOST_FAILURES: usize = 10;

/// Maximum number of pairs whose traces are requested in advance.
const PAIRS_AHEAD: usize = 64;

/// Maximum number of bytes that are requested in advance. At least two pairs are requested in advance, even if they
/// exceed this limit.
const BYTES_AHEAD: u64 = 128 * 1024 * 1024;

/// Maximum number of shards that are being written in the background.
const WRITING: usize = 64;

/// A pair that has not been compared yet.
struct Remaining<'p> {
    pair: &'p PlannedPair,
    /// Whether the pair has an unusable shard that must be replaced.
    is_broken: bool,
}

/// Compares all pairs of a plan on the cores of this machine, and calls `done` after each pair. Returns the pairs that
/// failed, in the form that [`Fleet::reduce`] expects.
///
/// # Errors
/// Fails if the existing shards cannot be listed, if ten consecutive results could not be written, or if no result
/// could be written. If a pair fails for another reason, the remaining pairs are still compared.
///
/// [`Fleet::reduce`]: super::Fleet::reduce
pub fn map_all(
    plan: &Plan,
    mapping: &Mapping,
    done: impl Fn(&PlannedPair, &Mapped) + Sync,
) -> Result<Lost> {
    let folder = mapping.folder();
    storage::remove_stale(&folder.join(SHARDS));
    let mut outcomes = Outcomes { all: plan.pairs.len(), ..Outcomes::default() };
    let remaining = remaining(plan, mapping, |pair, mapped| {
        done(pair, &mapped);
        outcomes.add(pair, mapped);
    })?;
    outcomes.most_failures = MOST_FAILURES.min(remaining.len());
    let stopped = AtomicBool::new(false);
    let (written, writing) = sync_channel(WRITING);
    let finish = |writing: Receiver<(&PlannedPair, Writing)>| {
        for (pair, writing) in writing {
            let mapped = writing.wait();
            done(pair, &mapped);
            outcomes.add(pair, mapped);
            if outcomes.is_hopeless() {
                stopped.store(true, Ordering::Relaxed);
            }
        }
        outcomes
    };
    let outcomes = thread::scope(|scope| {
        let finishing = scope.spawn(|| finish(writing));
        // `par_bridge` hands out the pairs one at a time. Splitting the list into halves would balance the load less
        // well, because one half could take much longer than the other.
        Ahead::of(remaining, mapping).par_bridge().for_each(|(next, traces)| {
            if !stopped.load(Ordering::Relaxed) {
                let writing = mapping.compare(next.pair, traces, next.is_broken);
                // Sending cannot fail, because the receiver outlives the last sender.
                let _ = written.send((next.pair, writing));
            }
        });
        drop(written);
        finishing.join()
    });
    match outcomes {
        Ok(outcomes) => outcomes.lost(folder),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// The pairs without a usable shard, largest first. If a large pair were compared last, all other cores would be idle
/// meanwhile. Calls `done` for every pair with a usable shard.
fn remaining<'p>(
    plan: &'p Plan,
    mapping: &Mapping,
    mut done: impl FnMut(&PlannedPair, Mapped),
) -> Result<Vec<Remaining<'p>>> {
    let listed = storage::list_or_nothing(&mapping.folder().join(SHARDS))?;
    let names: BTreeSet<_> = listed.iter().filter_map(|file| file.path.file_name()).collect();
    let look = |pair: &PlannedPair| {
        if names.contains(OsStr::new(&shard_name(pair))) {
            mapping.existing(pair)
        } else {
            Existing::None
        }
    };
    let look_all = || plan.pairs.par_iter().map(look).collect();
    let found: Vec<Existing> = storage::at_once(mapping.folder(), look_all);
    let mut remaining = Vec::new();
    for (pair, found) in plan.pairs.iter().zip(found) {
        match found {
            Existing::Done(mapped) => done(pair, mapped),
            Existing::None => remaining.push(Remaining { pair, is_broken: false }),
            Existing::Broken => remaining.push(Remaining { pair, is_broken: true }),
        }
    }
    // The sort is stable, so pairs of equal size remain in the order of the plan.
    remaining.order_by_key(|next| Reverse(size(next.pair)));
    Ok(remaining)
}

fn size(pair: &PlannedPair) -> u64 {
    Side::BOTH.iter().map(|&side| pair.file(side).size).sum()
}

/// Opens the traces of the next pairs while earlier pairs are compared.
struct Ahead<'p, 'm> {
    remaining: std::vec::IntoIter<Remaining<'p>>,
    begun: VecDeque<(Remaining<'p>, PerSide<Opening>)>,
    bytes: u64,
    mapping: &'m Mapping,
}

impl<'p, 'm> Ahead<'p, 'm> {
    fn of(remaining: Vec<Remaining<'p>>, mapping: &'m Mapping) -> Ahead<'p, 'm> {
        Ahead { remaining: remaining.into_iter(), begun: VecDeque::new(), bytes: 0, mapping }
    }
}

impl<'p> Iterator for Ahead<'p, '_> {
    type Item = (Remaining<'p>, PerSide<Opening>);

    fn next(&mut self) -> Option<Self::Item> {
        while self.begun.len() < PAIRS_AHEAD && (self.begun.len() < 2 || self.bytes < BYTES_AHEAD) {
            let Some(next) = self.remaining.next() else { break };
            let traces = self.mapping.begin(next.pair);
            self.bytes += ahead(&traces);
            self.begun.push_back((next, traces));
        }
        let next = self.begun.pop_front()?;
        self.bytes -= ahead(&next.1);
        Some(next)
    }
}

fn ahead(traces: &PerSide<Opening>) -> u64 {
    Side::BOTH.iter().map(|&side| traces[side].ahead()).sum()
}

/// The outcomes of the pairs finished so far.
#[derive(Default)]
struct Outcomes {
    lost: Lost,
    all: usize,
    compared: usize,
    /// Number of consecutive results that could not be written.
    failures: usize,
    last_failure: String,
    most_failures: usize,
}

impl Outcomes {
    fn add(&mut self, pair: &PlannedPair, mapped: Mapped) {
        let is_failure = mapped.status.is_write_failure();
        self.compared += usize::from(!is_failure);
        match mapped.status {
            // A shard that already existed was not written in this run, so it does not reset the number of failures.
            Status::Compared if mapped.was_there => {}
            Status::Compared => self.failures = 0,
            Status::Failed { code, message } => {
                if is_failure {
                    self.failures += 1;
                    self.last_failure.clone_from(&message);
                }
                self.lost.insert(pair.key.clone(), (code, message));
            }
        }
    }

    fn is_hopeless(&self) -> bool {
        self.failures > 0 && self.failures >= self.most_failures
    }

    fn lost(self, folder: &Path) -> Result<Lost> {
        if !self.is_hopeless() {
            return Ok(self.lost);
        }
        // The message gives the limit as the number of failures. Pairs that were in progress when the limit was reached
        // may fail as well, but the message does not count these failures.
        let results = match self.most_failures {
            1 => "the result could not be written".to_owned(),
            count => format!("{count} consecutive results could not be written, the last one"),
        };
        let message = format!("{results}: {}", self.last_failure);
        let remedy = format!(
            "{} of {} pairs are done; run the command again to continue",
            self.compared, self.all
        );
        Err(Error::new(ErrorKind::Io, folder, message).remedy(remedy))
    }
}
