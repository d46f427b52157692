//! Matches the traces of two folders, and lists the traces without a counterpart:
//!
//! 1. Traces are matched by rank and step if exactly one file on each side has that rank and step.
//! 2. The remaining traces are matched by rank alone, because the step numbers of two traces differ if their profilers
//!    started at different times.
//! 3. The files that are still unmatched (files without a rank, and ranks with several files) are matched by name.

use super::heads::Head;
use std::collections::{BTreeMap, BTreeSet};
use tracetree::side::{PerSide, Side};

/// A baseline trace and the candidate trace to compare it with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) heads: PerSide<Head>,
    /// Whether the traces were matched by name instead of by rank.
    pub(super) is_by_name: bool,
    /// Whether the rank has several pairs, which differ in their step.
    pub(super) has_steps: bool,
}

/// A trace without a counterpart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Single {
    pub(super) side: Side,
    pub(super) head: Head,
    pub(super) reason: Reason,
}

/// Why a trace has no counterpart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    NoCounterpart,
    /// A second file in the same folder has the same rank and step.
    Duplicate,
}

/// All traces of two folders, matched or not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Paired {
    pub(super) pairs: Vec<Pair>,
    pub(super) single: Vec<Single>,
}

/// The properties by which traces are matched: rank, step and name.
type Key = (Option<i64>, Option<i64>, String);

/// Matches the traces of the two sides. Pairs are sorted by rank, step and name; pairs that were matched by name come
/// last.
pub(super) fn pair(heads: &PerSide<Vec<Head>>) -> Paired {
    let mut left = heads.as_ref().map(|heads| heads.iter().collect::<Vec<&Head>>());
    let by_step = |head: &Head| Some((Some(head.rank?), head.step, String::new()));
    let by_rank = |head: &Head| Some((Some(head.rank?), None, String::new()));
    let by_name = |head: &Head| Some((None, None, head.name()));
    let mut found: Vec<(bool, PerSide<Head>)> = Vec::new();
    for heads in matched(&mut left, &by_step) {
        found.push((false, heads));
    }
    for heads in matched(&mut left, &by_rank) {
        found.push((false, heads));
    }
    for heads in matched(&mut left, &by_name) {
        found.push((true, heads));
    }
    found.sort_by_cached_key(|(is_by_name, heads)| {
        let head = &heads.baseline;
        (*is_by_name, head.rank.or(heads.candidate.rank), head.step, head.name())
    });
    let steps = steps_of(&found);
    let pairs = found.into_iter().map(|(is_by_name, heads)| {
        let has_steps = heads.baseline.rank.is_some_and(|rank| steps.get(&rank) > Some(&1));
        Pair { heads, is_by_name, has_steps }
    });
    let pairs = pairs.collect();
    let single = Side::BOTH.iter().flat_map(|&side| singles(side, &heads[side], &left[side]));
    Paired { pairs, single: single.collect() }
}

/// Number of pairs for each rank.
fn steps_of(found: &[(bool, PerSide<Head>)]) -> BTreeMap<i64, usize> {
    let mut steps = BTreeMap::new();
    for (_, heads) in found.iter().filter(|(is_by_name, _)| !is_by_name) {
        if let Some(rank) = heads.baseline.rank {
            *steps.entry(rank).or_default() += 1;
        }
    }
    steps
}

/// Removes and returns the traces whose key occurs exactly once on each side.
fn matched(
    left: &mut PerSide<Vec<&Head>>,
    key: &dyn Fn(&Head) -> Option<Key>,
) -> Vec<PerSide<Head>> {
    let only = |heads: &[&Head]| {
        let mut of_key: BTreeMap<Key, Option<Head>> = BTreeMap::new();
        for head in heads {
            if let Some(key) = key(head) {
                let several = of_key.contains_key(&key);
                of_key.insert(key, (!several).then(|| (*head).clone()));
            }
        }
        of_key
    };
    let (mut one, mut other) = (only(&left.baseline), only(&left.candidate));
    let mut pairs = Vec::new();
    for (key, head) in &mut one {
        if let Some(baseline) = head.take_if(|_| other.get(key).is_some_and(Option::is_some)) {
            let candidate = other.get_mut(key).and_then(Option::take).expect("it was there");
            pairs.push(PerSide::new(baseline, candidate));
        }
    }
    for side in Side::BOTH {
        let taken: BTreeSet<_> = pairs.iter().map(|pair| &pair[side].stored.path).collect();
        left[side].retain(|head| !taken.contains(&head.stored.path));
    }
    pairs
}

fn singles(side: Side, all: &[Head], left: &[&Head]) -> Vec<Single> {
    let mut files: BTreeMap<(i64, Option<i64>), usize> = BTreeMap::new();
    for head in all {
        if let Some(rank) = head.rank {
            *files.entry((rank, head.step)).or_default() += 1;
        }
    }
    let reason = |head: &Head| {
        let same = head.rank.and_then(|rank| files.get(&(rank, head.step)));
        if same > Some(&1) { Reason::Duplicate } else { Reason::NoCounterpart }
    };
    left.iter().map(|&head| Single { side, head: head.clone(), reason: reason(head) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracetree::storage::Stored;

    fn head(path: &str, rank: Option<i64>, step: Option<i64>) -> Head {
        let stored = Stored { path: path.into(), size: 1, version: String::new() };
        Head { stored, rank, world_size: None, device: String::new(), step, damage: None }
    }

    fn names(paired: &Paired) -> Vec<(String, String)> {
        let name = |pair: &Pair| (pair.heads.baseline.name(), pair.heads.candidate.name());
        paired.pairs.iter().map(name).collect()
    }

    fn named(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|&(a, b)| (a.to_owned(), b.to_owned())).collect()
    }

    #[test]
    fn files_pair_by_rank_whatever_they_are_called() {
        let found = pair(&PerSide::new(
            vec![head("a/x", Some(1), None), head("a/y", Some(0), Some(3))],
            vec![
                head("b/p", Some(0), None),
                head("b/q", Some(1), None),
                head("b/r", Some(2), None),
            ],
        ));
        assert_eq!(names(&found), named(&[("y", "p"), ("x", "q")]));
        assert_eq!(found.single.len(), 1);
        assert_eq!(
            (found.single[0].head.name(), found.single[0].reason),
            ("r".to_owned(), Reason::NoCounterpart)
        );
    }

    #[test]
    fn steps_of_one_rank_are_matched_by_number() {
        let files = |folder: &str| {
            [5, 6].map(|step| head(&format!("{folder}/{step}"), Some(0), Some(step))).to_vec()
        };
        let found = pair(&PerSide::new(files("a"), files("b")));
        assert_eq!(names(&found), named(&[("5", "5"), ("6", "6")]));
        assert!(found.pairs.iter().all(|pair| pair.has_steps && !pair.is_by_name));
    }

    #[test]
    fn files_without_a_usable_rank_are_matched_by_name() {
        let files = |folder: &str, odd: &str| {
            vec![
                head(&format!("{folder}/one"), None, None),
                head(&format!("{folder}/two"), Some(5), None),
                head(&format!("{folder}/{odd}"), Some(5), None),
            ]
        };
        let found = pair(&PerSide::new(files("a", "three"), files("b", "four")));
        assert_eq!(names(&found), named(&[("one", "one"), ("two", "two")]));
        assert!(found.pairs.iter().all(|pair| pair.is_by_name));
        assert!(found.single.iter().all(|single| single.reason == Reason::Duplicate));
        assert_eq!(found.single.len(), 2);
    }
}
