//! Checks properties that must be true for every trace, even if its bytes are arbitrary, and for every comparison of
//! such a trace with a second trace.
//!
//! The fuzz targets check these properties on randomly changed bytes, and `tests/reading/fuzz_cases.rs` checks them
//! on cases found by fuzzing.

use tracetree::analysis::kernels::by_kernel;
use tracetree::analysis::layers::layer_rows;
use tracetree::analysis::steps::phase_rows;
use tracetree::diff::{Relation, TraceDiff};
use tracetree::report::summarise;
use tracetree::trace::{Nanos, ReadOptions, Trace, Uid};
use tracetree::tree::{CallKind, CallTree};
use tracetree::{Analysis, PerSide, Side};

/// The byte string that separates the baseline from the candidate in a fuzz case.
const SEPARATOR: &[u8] = b"\n====\n";

/// The candidate for a fuzz case that contains a single trace. The candidate has one event of each kind.
const PARTNER: &str = include_str!("../fixtures/reader_every_kind/trace.json");

/// The options for reading a fuzz case. A fuzz case is small, so the size limit is much lower than the limit for files.
fn options() -> ReadOptions {
    ReadOptions::default().max_unpacked(1 << 22)
}

/// Error messages for damaged compressed data. The message may depend on the block size, because the size of the read
/// buffer determines how many bytes are decompressed before the damage is found.
const DAMAGED: [&str; 2] = ["the gzip data is damaged", "compressed data truncated"];

/// Checks that reading never panics, that the result does not depend on the block size, and that the option `strict`
/// rejects damage but has no other effect.
pub fn hold_for_reading(bytes: &[u8]) {
    let whole = outcome(bytes, &options(), 1 << 16);
    let in_small_blocks = outcome(bytes, &options(), 600);
    let is_damaged = DAMAGED.iter().any(|damage| whole.contains(damage));
    assert!(in_small_blocks == whole || is_damaged, "{in_small_blocks}\n{whole}");
    let strict = outcome(bytes, &options().strict(), 1 << 16);
    assert!(strict == whole || !strict.starts_with("Trace"), "strict repaired something");
}

/// Formats the whole trace, or the error, as text.
fn outcome(bytes: &[u8], options: &ReadOptions, block_size: usize) -> String {
    match Trace::from_reader("t", bytes, &options.clone().block_bytes(block_size)) {
        Ok(trace) => {
            let left_out: u64 = trace.left_out().iter().map(|(_, count)| count).sum();
            assert_eq!(trace.len() as u64 + left_out, trace.total_events());
            assert!(trace.events().all(|event| trace.duration(event).0 >= 0));
            format!("{trace:?}")
        }
        Err(error) => error.to_string(),
    }
}

/// Checks the properties of three kinds of comparison: the first trace with the second trace, each trace with itself,
/// and the first trace with a copy that lacks some of its events. If `bytes` contains only one trace, the second trace
/// is [`PARTNER`]. Bytes that do not form a trace are ignored.
pub fn hold_for_comparing(bytes: &[u8]) {
    let at = bytes.windows(SEPARATOR.len()).position(|window| window == SEPARATOR);
    let (first, second) = match at {
        Some(at) => (&bytes[..at], &bytes[at + SEPARATOR.len()..]),
        None => (bytes, PARTNER.as_bytes()),
    };
    let (Some(baseline), Some(candidate)) = (read(first), read(second)) else { return };
    let stride = 2 + bytes.len() as u32 % 7;
    let part = baseline.select(|event| baseline.uid(event).0 % stride != 0);
    let trees = [baseline, candidate, part].map(CallTree::build);
    for tree in &trees {
        hold_for_a_tree(tree);
        hold_for_identity(tree);
    }
    hold_for_a_pair(PerSide::new(&trees[0], &trees[1]));
    hold_for_a_pair(PerSide::new(&trees[0], &trees[2]));
}

fn read(bytes: &[u8]) -> Option<Trace> {
    Trace::from_reader("t", bytes, &options()).ok()
}

/// Checks that every call except the roots is in the subtree of its parent, and that no event has more than one call.
fn hold_for_a_tree(tree: &CallTree) {
    for call in tree.calls() {
        if let Some(parent) = tree.parent(call) {
            assert!(tree.is_below(call, parent));
        }
        if let Some(event) = tree.event(call) {
            assert_eq!(tree.call_of(event), Some(call));
        }
    }
    let roots: usize = tree.roots().map(|root| tree.size(root)).sum();
    assert_eq!(roots, tree.len());
}

/// Checks that a trace does not differ from itself.
fn hold_for_identity(tree: &CallTree) {
    let diff = TraceDiff::new(tree.clone(), tree.clone());
    assert_eq!(diff.differences(), vec![]);
    for call in tree.calls() {
        assert_eq!(diff.counterpart(Side::Baseline, call), Some(call));
    }
}

/// Checks the properties that hold for any two trees.
pub fn hold_for_a_pair(trees: PerSide<&CallTree>) {
    let diff = TraceDiff::new(trees.baseline.clone(), trees.candidate.clone());
    let mirrored = TraceDiff::new(trees.candidate.clone(), trees.baseline.clone());
    mirror(&diff, &mirrored);
    once_in_the_map(&diff);
    pairs_hang_below_pairs(&diff);
    let (one, other) = (Analysis::new(diff), Analysis::new(mirrored));
    assert!(one.account().is_exact() && other.account().is_exact());
    assert_eq!(one.account().difference(), -other.account().difference());
    all_results_hold_all_time(&one);
}

/// Checks that the rows of some tables and the summary can be computed, and that the times of all layers add up to the
/// totals.
fn all_results_hold_all_time(analysis: &Analysis) {
    let total = analysis.account().totals.map(|totals| totals.time);
    let in_layers = Side::BOTH.map(|side| {
        let rows = layer_rows(analysis.diff(), analysis.ledger(), analysis.layer_pairs());
        rows.iter().map(|row| row.time[side]).sum::<Nanos>()
    });
    assert_eq!(in_layers, [total.baseline, total.candidate]);
    analysis.fusions();
    by_kernel(analysis.diff(), analysis.ledger(), analysis.categories());
    analysis.step_rows();
    phase_rows(analysis.diff(), analysis.ledger());
    summarise(analysis);
}

/// Checks that swapping the sides does not change the matches.
pub fn mirror(diff: &TraceDiff, mirrored: &TraceDiff) {
    for side in Side::BOTH {
        for call in diff.tree(side).calls() {
            assert_eq!(diff.counterpart(side, call), mirrored.counterpart(side.other(), call));
        }
    }
}

/// Checks that every event in both trees is in the uid map exactly once.
pub fn once_in_the_map(diff: &TraceDiff) {
    for side in Side::BOTH {
        let tree = diff.tree(side);
        let of_side = diff.uid_map().filter_map(|pair| match side {
            Side::Baseline => pair.baseline,
            Side::Candidate => pair.candidate,
        });
        let mut mapped: Vec<Uid> = of_side.collect();
        assert!(
            side == Side::Candidate || mapped.is_sorted(),
            "the map must be in the order of the baseline"
        );
        let events = tree.calls().filter_map(|call| tree.event(call));
        let mut uids: Vec<Uid> = events.map(|event| tree.trace().uid(event)).collect();
        mapped.sort_unstable();
        uids.sort_unstable();
        assert_eq!(mapped, uids);
        mapped.dedup();
        assert_eq!(mapped.len(), uids.len(), "a uid is in the map twice");
    }
}

/// For each matched pair of calls with the relation *same*, checks that their nearest matched ancestors are each
/// other's counterparts. Threads are exempt, because one thread may be matched with two threads.
pub fn pairs_hang_below_pairs(diff: &TraceDiff) {
    for call in diff.tree(Side::Baseline).calls() {
        let Some(counterpart) = diff.counterpart(Side::Baseline, call) else { continue };
        if diff.relation(Side::Baseline, call) != Relation::Same {
            continue;
        }
        let above = |side: Side, from| {
            let tree = diff.tree(side);
            let common = tree.ancestors(from).find(|&above| diff.relation(side, above).is_common());
            common.filter(|&above| tree.kind(above) != CallKind::Thread)
        };
        let above = (above(Side::Baseline, call), above(Side::Candidate, counterpart));
        if let (Some(one), Some(two)) = above {
            let (baseline, candidate) = (diff.tree(Side::Baseline), diff.tree(Side::Candidate));
            assert_eq!(
                diff.counterpart(Side::Baseline, one),
                Some(two),
                "{} is below {} and {}",
                baseline.name(call),
                baseline.name(one),
                candidate.name(two)
            );
        }
    }
}

/// Checks that, on each side, busy and idle time add up exactly to the wall time, and that the lines of the bill add up
/// exactly to the step-time difference. Also checks that swapping the two traces swaps the values of the two sides and changes
/// nothing else.
///
/// # Panics
/// Panics if one of these properties is violated.
pub fn wall_and_bill(analysis: &Analysis, mirrored: &Analysis) {
    let source = analysis.tree(Side::Candidate).trace().source().to_owned();
    for (analysis, what) in [(analysis, "as given"), (mirrored, "mirrored")] {
        assert!(analysis.wall().is_exact(), "{source}, {what}: the wall does not add up");
        assert!(analysis.changes().is_exact(analysis.wall()), "{source}, {what}");
        let prices = analysis.bill().lines().iter().map(|line| line.price);
        assert_eq!(prices.sum::<Nanos>(), analysis.changes().difference(), "{source}, {what}");
    }
    for side in Side::BOTH {
        let (totals, turned) = (analysis.wall().totals(side), mirrored.wall().totals(side.other()));
        assert_eq!(totals, turned, "{source}");
    }
    assert_eq!(idle_rows(analysis, false), idle_rows(mirrored, true), "{source}");
    assert_eq!(analysis.changes().difference(), -mirrored.changes().difference(), "{source}");
}

/// Checks that the comparison of a trace with itself bills nothing.
///
/// # Panics
/// Panics if the bill has a line.
pub fn no_bill(analysis: &Analysis) {
    assert_eq!(analysis.bill().lines(), []);
}

type IdleRow = (&'static str, &'static str, Vec<Option<u32>>, i64, i64, u64, u64);

fn idle_rows(analysis: &Analysis, turn: bool) -> Vec<IdleRow> {
    let turned = |side: Side| if turn { side.other() } else { side };
    let mut rows: Vec<IdleRow> = analysis
        .wall()
        .idle()
        .iter()
        .map(|row| {
            let node = row.owner.map(|owner| analysis.diff().merged().node(owner));
            let call = |side: Side| node.and_then(|node| node.call(turned(side)));
            let calls = Side::BOTH.map(|side| call(side).map(|call| call.index() as u32)).to_vec();
            let [a, b] = Side::BOTH.map(turned);
            let (time, count) = (row.time, row.count);
            let part = row.part.label();
            (row.kind.label(), part, calls, time[a].0, time[b].0, count[a], count[b])
        })
        .collect();
    rows.sort();
    rows
}
