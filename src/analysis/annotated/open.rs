//! The user annotations of one trace → nested regions, and the innermost one at a time on a thread.

use crate::trace::{Category, Nanos, TextId, ThreadId};
use crate::tree::CallTree;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A path of region names, as an index.
pub(super) type PathId = usize;

/// A region.
#[derive(Debug, Clone, Copy)]
pub(super) struct Region {
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    pub(super) path: PathId,
    /// The region that was open on the thread when it started; regions that overlap without nesting are part
    /// of the one that started first.
    pub(super) parent: Option<usize>,
}

/// The names of the regions of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PathKey {
    above: Option<PathId>,
    name: String,
}

/// The regions of one trace.
#[derive(Debug, Default)]
pub(super) struct Regions {
    /// By thread, then by start.
    pub(super) all: Vec<Region>,
    /// For each path its parent and its own name.
    pub(super) paths: Vec<(Option<PathId>, String)>,
    /// On each thread: from a time on, which region is the innermost one.
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
        let mut paths: FxHashMap<PathKey, PathId> = FxHashMap::default();
        let mut names: FxHashMap<TextId, String> = FxHashMap::default();
        for (thread, mut of_thread) in found {
            of_thread.sort_unstable();
            let mut open: Vec<usize> = Vec::new();
            let mut changes = Vec::new();
            for (start, Reverse(end), name) in of_thread {
                regions.close(&mut open, &mut changes, start);
                let parent = open.last().copied();
                let above = parent.map(|parent| regions.all[parent].path);
                let name = names.entry(name).or_insert_with(|| plain(trace.text(name))).clone();
                let next = regions.paths.len();
                let path = *paths.entry(PathKey { above, name: name.clone() }).or_insert(next);
                if path == next {
                    regions.paths.push((above, name));
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

    /// Removes the regions that end by `time`, and records which one is then the innermost.
    fn close(&self, open: &mut Vec<usize>, changes: &mut Vec<(Nanos, Option<usize>)>, time: Nanos) {
        loop {
            let first = open.iter().map(|&at| self.all[at].end).filter(|&end| end <= time).min();
            let Some(end) = first else { return };
            open.retain(|&at| self.all[at].end > end);
            changes.push((end, open.last().copied()));
        }
    }

    /// The innermost region at a time: on the thread itself, otherwise the one on another thread that started
    /// last. Says whether it is the latter.
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

    /// The path in words, the outermost region first.
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

/// A name without what differs between two runs of one program: `decode_4` → `decode_N`, `ProfilerStep#7` →
/// `ProfilerStep#N`. Long runs of hexadecimal digits are hashes.
fn plain(name: &str) -> String {
    /// Shorter words of letters and digits are not hashes.
    const HASH: usize = 8;
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
        if is_hex && has_digit && text.len() >= HASH {
            plain.push('N');
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
            ("", ""),
        ];
        for (name, expected) in plain_of {
            assert_eq!(plain(name), expected);
        }
    }
}
