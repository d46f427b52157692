//! Turns the user annotations of one trace into nested regions, and finds the innermost region on a thread at
//! a given time.

use crate::trace::{Category, Nanos, TextId, ThreadId};
use crate::tree::CallTree;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Index of a path in `Regions::paths`. A path lists the names of nested regions.
pub(super) type PathId = usize;

/// A region.
#[derive(Debug, Clone, Copy)]
pub(super) struct Region {
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    pub(super) path: PathId,
    /// The enclosing region: the innermost region that was open on the thread when this region started. If two regions
    /// overlap but neither contains the other, the one that started first is treated as the enclosing region.
    pub(super) parent: Option<usize>,
}

/// A path of region names: the path of the enclosing region, and the name of the innermost region.
type Path = (Option<PathId>, String);

/// The regions of one trace.
#[derive(Debug, Default)]
pub(super) struct Regions {
    /// All regions, sorted by thread, then by start time.
    pub(super) all: Vec<Region>,
    pub(super) paths: Vec<Path>,
    /// For each thread, the times at which the innermost region changes, each with the new innermost region.
    innermost: BTreeMap<ThreadId, Vec<(Nanos, Option<usize>)>>,
}

impl Regions {
    pub(super) fn of(tree: &CallTree) -> Regions {
        let trace = tree.trace();
        let mut found: BTreeMap<ThreadId, Vec<(Nanos, Reverse<Nanos>, TextId)>> = BTreeMap::new();
        for event in trace.events() {
            if trace.category(event) == Category::UserAnnotation && !trace.is_captured(event) {
                let region = (trace.start(event), Reverse(trace.end(event)), trace.name_id(event));
                found.entry(trace.thread_of(event)).or_default().push(region);
            }
        }
        let mut regions = Regions::default();
        let mut paths: FxHashMap<Path, PathId> = FxHashMap::default();
        let mut names: FxHashMap<TextId, String> = FxHashMap::default();
        for (thread, mut of_thread) in found {
            of_thread.sort_unstable();
            let mut open: Vec<usize> = Vec::new();
            let mut changes = Vec::new();
            for (start, Reverse(end), name) in of_thread {
                regions.close(&mut open, &mut changes, start);
                let parent = open.last().copied();
                let above = parent.map(|parent| regions.all[parent].path);
                let name = names.entry(name).or_insert_with(|| plain(trace.text(name)));
                let next = regions.paths.len();
                let path = *paths.entry((above, name.clone())).or_insert(next);
                if path == next {
                    regions.paths.push((above, name.clone()));
                }
                open.push(regions.all.len());
                changes.push((start, Some(regions.all.len())));
                regions.all.push(Region { start, end, path, parent });
            }
            regions.close(&mut open, &mut changes, Nanos(i64::MAX));
            regions.innermost.insert(thread, changes);
        }
        regions
    }

    /// Removes the open regions that end at or before `time`, and appends the resulting changes of the innermost region
    /// to `changes`.
    fn close(&self, open: &mut Vec<usize>, changes: &mut Vec<(Nanos, Option<usize>)>, time: Nanos) {
        loop {
            let first = open.iter().map(|&at| self.all[at].end).filter(|&end| end <= time).min();
            let Some(end) = first else { return };
            open.retain(|&at| self.all[at].end > end);
            changes.push((end, open.last().copied()));
        }
    }

    /// The innermost region at `time`, and whether it is on a thread other than `thread`. Other threads are searched
    /// only if no region is open on `thread`; of the innermost regions of the other threads, the one that started most
    /// recently is returned.
    pub(super) fn at(&self, thread: ThreadId, time: Nanos) -> Option<(usize, bool)> {
        let on = |changes: &Vec<(Nanos, Option<usize>)>| {
            let after = changes.partition_point(|&(from, _)| from <= time);
            changes[after.checked_sub(1)?].1
        };
        if let Some(own) = self.innermost.get(&thread).and_then(on) {
            return Some((own, false));
        }
        let others = self.innermost.values().filter_map(on);
        others.max_by_key(|&at| (self.all[at].start, at)).map(|at| (at, true))
    }

    /// The region names in a path, outermost first.
    pub(super) fn words(&self, path: PathId) -> Vec<String> {
        let mut words = Vec::new();
        let mut at = Some(path);
        while let Some(here) = at {
            let (above, name) = &self.paths[here];
            words.push(name.clone());
            at = *above;
        }
        words.reverse();
        words
    }
}

/// Replaces each number in a name with `N`, because the numbers differ between runs of the same program: `decode_4` →
/// `decode_N`, `ProfilerStep#7` → `ProfilerStep#N`. Long words of hexadecimal digits are treated as hashes and are
/// replaced as a whole. So are the keys of compiled graphs, which are long words of base-32 digits: `## Call
/// CompiledFxGraph fal4xp… ##`.
fn plain(name: &str) -> String {
    /// Minimum length of a word that is treated as a hexadecimal hash.
    const HASH: usize = 8;
    /// Minimum length of a word that is treated as a base 32 hash. Inductor's keys have 52 characters.
    const LONG_HASH: usize = 48;
    let mut plain = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        if word == 0 {
            plain.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (text, after) = rest.split_at(word);
        let is_hex = text.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase());
        let has_digit = text.bytes().any(|b| b.is_ascii_digit());
        let is_base_32 = text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'2'..=b'7'));
        let is_hash = is_hex && text.len() >= HASH || is_base_32 && text.len() >= LONG_HASH;
        if is_hash && has_digit {
            plain.push('N');
        } else if is_between(text) {
            plain.push_str(text);
        } else {
            let mut was_digit = false;
            for letter in text.chars() {
                let is_digit = letter.is_ascii_digit();
                if !is_digit {
                    plain.push(letter);
                } else if !was_digit {
                    plain.push('N');
                }
                was_digit = is_digit;
            }
        }
        rest = after;
    }
    plain
}

/// Whether the only digit in a word is a 2 that stands for "to" between letters, as in `all2all` and `p2p`.
fn is_between(word: &str) -> bool {
    let is_letters = |part: &str| !part.is_empty() && !part.contains(|c: char| c.is_ascii_digit());
    word.split_once('2').is_some_and(|(before, after)| is_letters(before) && is_letters(after))
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn numbers_and_hashes_are_not_part_of_a_name() {
        let plain_of = [
            ("ProfilerStep#12", "ProfilerStep#N"),
            ("decode_4", "decode_N"),
            ("## forward ##", "## forward ##"),
            ("layer.12.é7", "layer.N.éN"),
            ("region 3fa85f64aa", "region N"),
            ("deadbeefs", "deadbeefs"),
            ("## all2all_data:2 ##", "## all2all_data:N ##"),
            ("sq2sk3", "sqNskN"),
            (
                "## Call CompiledFxGraph fal4xpiah2v6blbfmwwonu52dvevbsmlh743q5tkclrt4gcqpzea ##",
                "## Call CompiledFxGraph N ##",
            ),
            ("execute_8192(sq8155sk8430sqsq74757)", "execute_N(sqNskNsqsqN)"),
            ("", ""),
        ];
        for (name, expected) in plain_of {
            assert_eq!(plain(name), expected);
        }
    }
}
