//! Two recordings with known partners and a UID map → how much of the map is right.
//!
//! What nothing tells apart may take each other's partner: two events of one trace are alike when
//! their subtrees are equal (names, arguments, kernel names) and so are their parents, or the
//! parents are one. So are a call and the call of the same name and arguments that it holds: where
//! one of the two is gone, nothing tells which. Pairs are therefore counted between classes of alike
//! events:
//!
//! ```text
//! truth   a1→b1  a2→b2  a3 dropped     a1 a2 a3 alike, b1 b2 alike
//! map     a1→b2  a3→b1  a2 dropped     the same two pairs between the same classes: right
//! ```

use super::recording::{Event, Forest, Kind, Recording};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A partner, or none, on each side; positions in `traceEvents`.
pub type Pair = (Option<u32>, Option<u32>);

/// How much of the truth a map found, for one group of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Score {
    /// Pairs in the truth.
    pub true_pairs: usize,
    /// Pairs in the map.
    pub pairs: usize,
    /// Pairs of the map that are right.
    pub right: usize,
    /// Pairs of the map that are right to the event, alike or not.
    pub exact: usize,
}

impl Score {
    /// Share of the map's pairs that are right; 1 where it has none.
    pub fn precision(&self) -> f64 {
        share(self.right, self.pairs)
    }

    /// Share of the true pairs that the map has; 1 where there are none.
    pub fn recall(&self) -> f64 {
        share(self.right, self.true_pairs)
    }

    /// Share of the true pairs that the map has to the event.
    pub fn exactness(&self) -> f64 {
        share(self.exact, self.true_pairs)
    }
}

/// The scores of one map.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scores {
    /// Host calls with a GPU event below, and the linked GPU events.
    pub gpu_path: Score,
    /// All host calls.
    pub host: Score,
}

/// Both sides, with what the truth says of each event.
#[derive(Debug)]
pub struct Truth {
    baseline: Facts,
    candidate: Facts,
    pairs: Vec<(u32, u32)>,
}

/// What one side knows of each event, by position.
#[derive(Debug)]
struct Facts {
    kinds: Vec<Kind>,
    linked: Vec<bool>,
    on_gpu_path: Vec<bool>,
    classes: Vec<u64>,
}

impl Truth {
    /// The truth between a recording and a changed copy of it: equal origins are partners.
    pub fn between(baseline: &Recording, candidate: &Recording) -> Truth {
        let origins =
            candidate.events.iter().zip(0..).filter(|(event, _)| event.kind != Kind::Other);
        let partners: HashMap<u32, u32> =
            origins.filter_map(|(event, at)| Some((event.origin?, at))).collect();
        let pairs = baseline.events.iter().zip(0..).filter(|(event, _)| event.kind != Kind::Other);
        Truth {
            baseline: Facts::of(baseline),
            candidate: Facts::of(candidate),
            pairs: pairs
                .filter_map(|(event, at)| Some((at, *partners.get(&event.origin?)?)))
                .collect(),
        }
    }

    /// The true pairs of events that take part in a comparison, as a UID map would list them.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> {
        self.pairs.iter().map(|&(one, two)| (Some(one), Some(two)))
    }

    /// Scores a UID map. One-sided entries count where they should have been paired.
    pub fn score(&self, map: impl IntoIterator<Item = Pair>) -> Scores {
        let map: Vec<(u32, u32)> =
            map.into_iter().filter_map(|(one, two)| Some((one?, two?))).collect();
        Scores {
            gpu_path: self.score_group(&map, |one, two| {
                self.baseline.in_gpu_path(one) || self.candidate.in_gpu_path(two)
            }),
            host: self.score_group(&map, |one, two| {
                self.baseline.is_host(one) || self.candidate.is_host(two)
            }),
        }
    }

    /// Whether a pair joins what the truth joins, or what is alike to it.
    pub fn allows(&self, (one, two): (u32, u32)) -> bool {
        let partner = |of: u32| self.pairs.binary_search_by_key(&of, |pair| pair.0).ok();
        let candidate = partner(one).map(|at| self.candidate.class(self.pairs[at].1));
        let back = self.pairs.iter().find(|pair| pair.1 == two);
        let baseline = back.map(|pair| self.baseline.class(pair.0));
        candidate == Some(self.candidate.class(two)) || baseline == Some(self.baseline.class(one))
    }

    /// The true partner of an event of the baseline.
    pub fn partner(&self, one: u32) -> Option<u32> {
        let at = self.pairs.binary_search_by_key(&one, |pair| pair.0).ok()?;
        Some(self.pairs[at].1)
    }

    fn score_group(&self, map: &[(u32, u32)], in_group: impl Fn(u32, u32) -> bool) -> Score {
        let member = |pair: &&(u32, u32)| in_group(pair.0, pair.1);
        let mut truth: Vec<_> = self.pairs.iter().filter(member).copied().collect();
        let mut found: Vec<_> = map.iter().filter(member).copied().collect();
        let exact = count_common(&mut truth, &mut found);
        let classes =
            |&(one, two): &(u32, u32)| (self.baseline.class(one), self.candidate.class(two));
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
            linked: forest.parents.iter().map(Option::is_some).collect(),
            classes: classes(events, &forest),
            on_gpu_path: forest.on_gpu_path,
        }
    }

    fn is_host(&self, at: u32) -> bool {
        self.kinds.get(at as usize).is_some_and(|kind| kind.is_host())
    }

    fn in_gpu_path(&self, at: u32) -> bool {
        let at = at as usize;
        self.kinds.get(at).is_some_and(|&kind| match kind {
            Kind::Gpu => self.linked[at],
            Kind::Op | Kind::Frame | Kind::Runtime => self.on_gpu_path[at],
            Kind::Annotation | Kind::Other => false,
        })
    }

    fn class(&self, at: u32) -> u64 {
        self.classes.get(at as usize).copied().unwrap_or(0)
    }
}

/// A number for each event that alike events share, and others do not.
fn classes(events: &[Event], forest: &Forest) -> Vec<u64> {
    let mut classes = contents(events, forest, without_addresses);
    for &at in &forest.preorder {
        classes[at] = match forest.parents[at] {
            Some(parent) if repeats(&events[parent], &events[at]) => classes[parent],
            Some(parent) => hash(&(classes[parent], classes[at])),
            None => hash(&(0_u64, classes[at])),
        };
    }
    classes
}

/// Whether a call does the same again inside: same name, same arguments.
fn repeats(outer: &Event, inner: &Event) -> bool {
    outer.name == inner.name && likeness(outer) == likeness(inner)
}

/// A number for each event's subtree that equal subtrees share, whatever stands above them; names
/// are equal when `plain` makes them so.
pub fn contents(events: &[Event], forest: &Forest, plain: impl Fn(&str) -> String) -> Vec<u64> {
    let mut contents: Vec<u64> =
        events.iter().map(|event| hash(&(plain(&event.name), likeness(event)))).collect();
    for &at in forest.preorder.iter().rev() {
        let below: Vec<u64> = forest.children[at].iter().map(|&child| contents[child]).collect();
        contents[at] = hash(&(contents[at], below));
    }
    contents
}

/// What two events must share to be alike, beside their names.
fn likeness(event: &Event) -> u64 {
    let keys = ["Input Dims", "Input dims", "Input type", "Input Strides", "Concrete Inputs"];
    let arguments = keys.map(|key| event.args.get(key).map(ToString::to_string));
    hash(&(event.kind, arguments))
}

/// The name without the digits of `0x…` addresses, which are other ones in every run.
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

/// How many entries two lists share, each counted as often as both have it. Sorts them.
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
