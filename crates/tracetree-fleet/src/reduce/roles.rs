//! Groups compared ranks that run the same ops.

use super::compared::{Compared, names, short_names};
use crate::plan::PlannedPair;
use crate::rows::RoleRow;
use crate::shard::PartKind;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum number of ops to name after `runs` or `lacks`; for the remaining ops, only their number is given.
const NAMED: usize = 3;

/// A role: the ranks that have the same outline.
pub(super) struct Role {
    pub(super) hash: Arc<str>,
    /// Positions of the ranks among the pairs that were compared and are undamaged.
    pub(super) members: Vec<usize>,
}

impl Role {
    pub(super) fn row(&self, whole: &[&Compared<'_>]) -> RoleRow {
        let of = |at: &usize| whole[*at].facts.roles.candidate.as_str();
        let mut after: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        self.members.iter().for_each(|at| after.entry(of(at)).or_default().push(*at));
        let most =
            after.iter().max_by_key(|(hash, members)| (members.len(), std::cmp::Reverse(**hash)));
        let usual = most.map_or("", |(hash, _)| hash);
        let odd: Vec<usize> = self.members.iter().copied().filter(|at| of(at) != usual).collect();
        RoleRow {
            role: self.hash.clone(),
            ranks: self.members.len() as u64,
            rank_list: list(whole, &self.members),
            odd_ranks: odd.len() as u64,
            odd_pattern: short_list(whole, &odd),
            odd_ops: self.odd_ops(whole, &odd),
            candidate: usual.into(),
            odd: list(whole, &odd),
        }
    }

    /// Describes how the `odd` members differ from the other members in the candidate. Lists the ops that all `odd`
    /// members run but no other member runs, and the ops that all other members run but no `odd` member runs.
    fn odd_ops(&self, whole: &[&Compared<'_>], odd: &[usize]) -> String {
        let ops = |at: usize| -> BTreeSet<&str> {
            let parts = whole[at].facts.parts.iter();
            let ops = parts.filter(|part| part.kind == PartKind::Op && part.count.candidate > 0);
            ops.map(|part| &*part.name).collect()
        };
        let sets = |members: &mut dyn Iterator<Item = usize>| {
            let (mut all, mut any) = (None::<BTreeSet<&str>>, BTreeSet::new());
            for at in members {
                let found = ops(at);
                any.extend(found.iter().copied());
                all = Some(all.map_or(found.clone(), |all| &all & &found));
            }
            (all.unwrap_or_default(), any)
        };
        let (of_odd, any_odd) = sets(&mut odd.iter().copied());
        let usual = self.members.iter().copied().filter(|at| !odd.contains(at));
        let (of_usual, any_usual) = sets(&mut usual.into_iter());
        let texts = [("runs", &of_odd - &any_usual), ("lacks", &of_usual - &any_odd)];
        let shown = texts.iter().filter(|(_, ops)| !ops.is_empty()).map(|(verb, ops)| {
            let named: Vec<&str> = ops.iter().copied().take(NAMED).collect();
            let more = match ops.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{verb} {}{more}", named.join(", "))
        });
        shown.collect::<Vec<_>>().join("; ")
    }
}

pub(super) fn list(whole: &[&Compared<'_>], members: &[usize]) -> String {
    names(&members.iter().map(|&at| whole[at].pair).collect::<Vec<_>>())
}

/// Formats the ranks at the positions `members` in `whole` as a short string.
pub(super) fn short_list(whole: &[&Compared<'_>], members: &[usize]) -> String {
    let all: Vec<&PlannedPair> = whole.iter().map(|one| one.pair).collect();
    short_names(&members.iter().map(|&at| all[at]).collect::<Vec<_>>(), &all)
}

/// The roles, ordered by their first rank. Roles are based on the baseline traces, because a change to the program
/// affects only the candidate traces.
pub(super) fn roles(whole: &[&Compared<'_>]) -> Vec<Role> {
    let mut roles: Vec<Role> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, one) in whole.iter().enumerate() {
        let hash = &one.facts.roles.baseline;
        let place = *known.entry(hash).or_insert(roles.len());
        if place == roles.len() {
            roles.push(Role { hash: hash.as_str().into(), members: Vec::new() });
        }
        roles[place].members.push(at);
    }
    roles
}
