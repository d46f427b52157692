//! The names that matched calls have on the candidate's side, where they differ: `hipMalloc` may match `cudaMalloc`.

use super::texts::PageText;
use serde::Serialize;
use std::collections::BTreeMap;

/// The candidate's names of the nodes whose name on the page is the baseline's.
#[derive(Default, Serialize)]
pub(super) struct OtherNames {
    /// The baseline's names with the name that most of their nodes have on the candidate's side.
    most: Vec<(PageText, PageText)>,
    /// The positions of the nodes that have another name than that.
    rest: Vec<(u32, PageText)>,
}

/// A node's position, and its names on both sides.
pub(super) type Named = (u32, [PageText; 2]);

impl OtherNames {
    /// Most pairs of names occur often, so a page has few entries.
    pub(super) fn of(nodes: &[Named]) -> OtherNames {
        let mut counts: BTreeMap<PageText, BTreeMap<PageText, usize>> = BTreeMap::new();
        for (_, [one, two]) in nodes {
            *counts.entry(*one).or_default().entry(*two).or_default() += 1;
        }
        let most = |names: &BTreeMap<PageText, usize>| {
            names.iter().max_by_key(|&(_, count)| count).map(|(&name, _)| name)
        };
        let most: BTreeMap<PageText, PageText> =
            counts.iter().filter_map(|(&one, names)| Some((one, most(names)?))).collect();
        let is_other = |&&(_, [one, two]): &&Named| most.get(&one) != Some(&two);
        let rest = nodes.iter().filter(is_other).map(|&(at, [_, two])| (at, two)).collect();
        OtherNames { most: most.into_iter().filter(|(one, two)| one != two).collect(), rest }
    }
}
