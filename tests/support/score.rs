//! Scores how much of a UID map is correct, for two recordings in which every true counterpart is known.
//!
//! If two events cannot be distinguished, it also counts as correct to match one of them with the counterpart of the
//! other. Two events in a trace are *interchangeable* if they meet three conditions. Their subtrees have equal
//! arguments, kernel names and names (without instance numbers). Their parents are the same call or are
//! interchangeable. They are between the same two *firm* siblings. A sibling is firm if the map matches it to its true
//! counterpart, not just to an interchangeable event. Two calls are also interchangeable if one is directly inside the
//! other and both have the same name and arguments, because the trace does not show which of them was removed if one is
//! missing. Interchangeable events form a class. Two pairs count as equal if their events have the same classes:
//!
//! ```text
//! truth   a1→b1  a2→b2  a3 dropped     a1 a2 a3 alike, b1 b2 alike
//! map     a1→b2  a3→b1  a2 dropped     the same two pairs between the same classes: correct
//!
//! truth   x1 y1 x2 y2 → x1 y1 y2       y1 and y2 are firm, and there is no x between them any more;
//! map     x2→x1                        the x of the other stretch is not alike: wrong
//! ```

use super::recording::{Event, Forest, Kind, Recording};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A matched pair or an unmatched event, as positions in `traceEvents` (baseline, candidate).
pub type Pair = (Option<u32>, Option<u32>);

/// Counts that show how many true pairs a UID map found, for one group of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Score {
    /// Number of true pairs.
    pub true_pairs: usize,
    /// Number of pairs in the map.
    pub pairs: usize,
    /// Number of pairs in the map that are correct.
    pub right: usize,
    /// Number of pairs in the map that are true pairs. Interchangeable events do not count as equal here.
    pub exact: usize,
}

impl Score {
    /// Fraction of the map's pairs that are correct; 1 if the map has no pairs.
    pub fn precision(&self) -> f64 {
        share(self.right, self.pairs)
    }

    /// Fraction of the true pairs that the map found; 1 if there are no true pairs.
    pub fn recall(&self) -> f64 {
        share(self.right, self.true_pairs)
    }

    /// Fraction of the true pairs that are in the map; 1 if there are no true pairs. Interchangeable events do not
    /// count as equal here.
    pub fn exactness(&self) -> f64 {
        share(self.exact, self.true_pairs)
    }
}

/// The scores of one map.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scores {
    /// Score for GPU events with a launch, and for host calls that have a GPU event below them.
    pub gpu_path: Score,
    /// Score for all host calls.
    pub host: Score,
}

/// Both recordings, and the true pairs of events.
#[derive(Debug)]
pub struct Truth {
    baseline: Facts,
    candidate: Facts,
    pairs: Vec<(u32, u32)>,
}

/// Facts about the events on one side, by position.
#[derive(Debug)]
struct Facts {
    kinds: Vec<Kind>,
    on_gpu_path: Vec<bool>,
    forest: Forest,
    contents: Vec<u64>,
    /// Whether the parent of a call has the same name and arguments as the call itself.
    repeats: Vec<bool>,
}

/// The class of each event on both sides, by position. Interchangeable events have the same class.
#[derive(Debug)]
pub struct Classes {
    baseline: Vec<u64>,
    candidate: Vec<u64>,
}

impl Truth {
    /// The true pairs for a recording and its changed copy: events with the same origin are counterparts.
    pub fn between(baseline: &Recording, candidate: &Recording) -> Truth {
        let origins =
            candidate.events.iter().zip(0..).filter(|(event, _)| event.kind != Kind::Other);
        let counterparts: HashMap<u32, u32> =
            origins.filter_map(|(event, at)| Some((event.origin?, at))).collect();
        let pairs = baseline.events.iter().zip(0..).filter(|(event, _)| event.kind != Kind::Other);
        Truth {
            baseline: Facts::of(baseline),
            candidate: Facts::of(candidate),
            pairs: pairs
                .filter_map(|(event, at)| Some((at, *counterparts.get(&event.origin?)?)))
                .collect(),
        }
    }

    /// The true pairs of events, in the form of a UID map. Events that are not compared are omitted.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> {
        self.pairs.iter().map(|&(one, two)| (Some(one), Some(two)))
    }

    /// Scores a UID map. An unmatched event lowers the recall if it has a true counterpart.
    pub fn score(&self, map: impl IntoIterator<Item = Pair>) -> Scores {
        let map: Vec<(u32, u32)> =
            map.into_iter().filter_map(|(one, two)| Some((one?, two?))).collect();
        let classes = self.classes(&map);
        Scores {
            gpu_path: self.score_group(&map, &classes, |one, two| {
                self.baseline.in_gpu_path(one) || self.candidate.in_gpu_path(two)
            }),
            host: self.score_group(&map, &classes, |one, two| {
                self.baseline.is_host(one) || self.candidate.is_host(two)
            }),
        }
    }

    /// The classes of interchangeable events. Events that the map matches to exactly their true counterparts are firm.
    /// Two siblings are not interchangeable if a firm event is between them.
    pub fn classes(&self, map: &[(u32, u32)]) -> Classes {
        let truth: HashSet<&(u32, u32)> = self.pairs.iter().collect();
        let firm: Vec<&(u32, u32)> = map.iter().filter(|pair| truth.contains(pair)).collect();
        Classes {
            baseline: self.baseline.classes(firm.iter().map(|pair| pair.0)),
            candidate: self.candidate.classes(firm.iter().map(|pair| pair.1)),
        }
    }

    /// Whether a pair is correct. A pair is correct if it is a true pair, or if it becomes one by replacing one of its
    /// events with an interchangeable event.
    pub fn allows(&self, classes: &Classes, (one, two): (u32, u32)) -> bool {
        let class = |of: &[u64], at: u32| of.get(at as usize).copied();
        let counterpart = self.counterpart(one).and_then(|two| class(&classes.candidate, two));
        let back = self.pairs.iter().find(|pair| pair.1 == two);
        let back = back.and_then(|pair| class(&classes.baseline, pair.0));
        counterpart.is_some_and(|class_of| class(&classes.candidate, two) == Some(class_of))
            || back.is_some_and(|class_of| class(&classes.baseline, one) == Some(class_of))
    }

    /// The true counterpart of an event in the baseline.
    pub fn counterpart(&self, one: u32) -> Option<u32> {
        let at = self.pairs.binary_search_by_key(&one, |pair| pair.0).ok()?;
        Some(self.pairs[at].1)
    }

    /// Number of pairs in `some` that are correct. `map` determines which events are firm. Interchangeable events count
    /// as equal.
    pub fn right_among(&self, map: &[(u32, u32)], some: &[(u32, u32)]) -> usize {
        let classes = self.classes(map);
        let class = |&(one, two): &(u32, u32)| {
            let class = |of: &[u64], at: u32| of.get(at as usize).copied().unwrap_or(0);
            (class(&classes.baseline, one), class(&classes.candidate, two))
        };
        let mut truth: Vec<_> = self.pairs.iter().map(class).collect();
        let mut found: Vec<_> = some.iter().map(class).collect();
        count_common(&mut truth, &mut found)
    }

    fn score_group(
        &self,
        map: &[(u32, u32)],
        of: &Classes,
        in_group: impl Fn(u32, u32) -> bool,
    ) -> Score {
        let member = |pair: &&(u32, u32)| in_group(pair.0, pair.1);
        let mut truth: Vec<_> = self.pairs.iter().filter(member).copied().collect();
        let mut found: Vec<_> = map.iter().filter(member).copied().collect();
        let exact = count_common(&mut truth, &mut found);
        let class = |of: &[u64], at: u32| of.get(at as usize).copied().unwrap_or(0);
        let classes =
            |&(one, two): &(u32, u32)| (class(&of.baseline, one), class(&of.candidate, two));
        let mut true_classes: Vec<_> = truth.iter().map(classes).collect();
        let mut found_classes: Vec<_> = found.iter().map(classes).collect();
        Score {
            true_pairs: truth.len(),
            pairs: found.len(),
            right: count_common(&mut true_classes, &mut found_classes),
            exact,
        }
    }
}

impl Facts {
    fn of(recording: &Recording) -> Facts {
        let events = &recording.events;
        let forest = Forest::of(events);
        Facts {
            kinds: events.iter().map(|event| event.kind).collect(),
            on_gpu_path: forest.on_gpu_path.clone(),
            contents: contents(events, &forest, without_instances),
            repeats: (0..events.len())
                .map(|at| {
                    let above = forest.parents[at].map(|parent| &events[parent]);
                    above.is_some_and(|above| repeats(above, &events[at]))
                })
                .collect(),
            forest,
        }
    }

    /// For each event, the number of its class. Two events have the same number only if they are interchangeable.
    fn classes(&self, firm: impl Iterator<Item = u32>) -> Vec<u64> {
        let mut is_firm = vec![false; self.kinds.len()];
        firm.for_each(|at| is_firm[at as usize] = true);
        // For each event, the last firm sibling that precedes it.
        let mut stretches = vec![usize::MAX; self.kinds.len()];
        for (_, list) in self.forest.sibling_lists() {
            let mut last = usize::MAX;
            for &at in list {
                stretches[at] = last;
                last = if is_firm[at] { at } else { last };
            }
        }
        let mut classes = self.contents.clone();
        for &at in &self.forest.preorder {
            classes[at] = match self.forest.parents[at] {
                _ if is_firm[at] => hash(&(1_u64, at)),
                Some(parent) if self.repeats[at] => classes[parent],
                Some(parent) => hash(&(classes[parent], classes[at], stretches[at])),
                None => hash(&(0_u64, classes[at], stretches[at])),
            };
        }
        classes
    }

    fn is_host(&self, at: u32) -> bool {
        self.kinds.get(at as usize).is_some_and(|kind| kind.is_host())
    }

    fn in_gpu_path(&self, at: u32) -> bool {
        let at = at as usize;
        self.kinds.get(at).is_some_and(|&kind| match kind {
            Kind::Gpu => self.forest.parents[at].is_some(),
            Kind::Op | Kind::Frame | Kind::Runtime => self.on_gpu_path[at],
            Kind::Annotation | Kind::Other => false,
        })
    }
}

/// Whether a call has the same name and arguments as its parent call.
fn repeats(outer: &Event, inner: &Event) -> bool {
    outer.name == inner.name && likeness(outer) == likeness(inner)
}

/// Assigns a number to each event. Two events have the same number if and only if their subtrees are identical,
/// whatever their ancestors are. The function `plain` simplifies the names before they are compared.
pub fn contents(events: &[Event], forest: &Forest, plain: impl Fn(&str) -> String) -> Vec<u64> {
    let mut contents: Vec<u64> =
        events.iter().map(|event| hash(&(plain(&event.name), likeness(event)))).collect();
    for &at in forest.preorder.iter().rev() {
        let below: Vec<u64> = forest.children[at].iter().map(|&child| contents[child]).collect();
        contents[at] = hash(&(contents[at], below));
    }
    contents
}

/// A hash of an event's kind and arguments, which interchangeable events have in common.
pub fn likeness(event: &Event) -> u64 {
    let keys = ["Input Dims", "Input dims", "Input type", "Input Strides", "Concrete Inputs"];
    let arguments = keys.map(|key| event.args.get(key).map(ToString::to_string));
    hash(&(event.kind, arguments))
}

/// A name without addresses and without a module's instance number.
fn without_instances(name: &str) -> String {
    match name.strip_prefix("nn.Module: ").and_then(|module| module.rsplit_once('_')) {
        Some((class, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            class.to_owned()
        }
        Some(_) | None => without_addresses(name),
    }
}

/// A name without the digits of `0x…` addresses, which differ in every run.
pub fn without_addresses(name: &str) -> String {
    let mut parts = name.split("0x");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str("0x");
        plain.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    plain
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The number of entries that occur in both lists, counting duplicates. Sorts both lists.
fn count_common<T: Ord>(one: &mut [T], two: &mut [T]) -> usize {
    one.sort_unstable();
    two.sort_unstable();
    let (mut at_one, mut at_two, mut common) = (0, 0, 0);
    while at_one < one.len() && at_two < two.len() {
        let order = one[at_one].cmp(&two[at_two]);
        at_one += usize::from(order.is_le());
        at_two += usize::from(order.is_ge());
        common += usize::from(order.is_eq());
    }
    common
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}
