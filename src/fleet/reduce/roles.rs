//! Groups compared ranks that run the same ops.

use super::{Compared, names};
use crate::fleet::rows::RoleRow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The ranks that have the same outline.
pub(super) struct Role {
    pub(super) hash: Arc<str>,
    /// Positions of the ranks among the pairs that were compared and are undamaged.
    pub(super) members: Vec<usize>,
}

impl Role {
    pub(super) fn row(&self, whole: &[&Compared<'_>]) -> RoleRow {
        let of = |at: &usize| &whole[*at].facts.roles.candidate;
        let mut after: BTreeMap<&Arc<str>, Vec<usize>> = BTreeMap::new();
        self.members.iter().for_each(|at| after.entry(of(at)).or_default().push(*at));
        let most =
            after.iter().max_by_key(|(hash, members)| (members.len(), std::cmp::Reverse(**hash)));
        let usual = most.map_or("".into(), |(hash, _)| (*hash).clone());
        let odd: Vec<usize> = self.members.iter().copied().filter(|at| *of(at) != usual).collect();
        RoleRow {
            role: self.hash.clone(),
            ranks: self.members.len() as u64,
            rank_list: list(whole, &self.members),
            candidate: usual,
            odd: list(whole, &odd),
        }
    }
}

pub(super) fn list(whole: &[&Compared<'_>], members: &[usize]) -> String {
    names(&members.iter().map(|&at| whole[at].pair).collect::<Vec<_>>())
}

/// The roles, ordered by their first rank. Roles are determined in the baseline, because the change does not affect the
/// baseline.
pub(super) fn roles(whole: &[&Compared<'_>]) -> Vec<Role> {
    let mut roles: Vec<Role> = Vec::new();
    let mut known: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
    for (at, one) in whole.iter().enumerate() {
        let hash = &one.facts.roles.baseline;
        let place = *known.entry(hash).or_insert(roles.len());
        if place == roles.len() {
            roles.push(Role { hash: hash.clone(), members: Vec::new() });
        }
        roles[place].members.push(at);
    }
    roles
}
