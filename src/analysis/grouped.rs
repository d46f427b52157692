//! Groups values by a key that consists of strings. Each value is added with ids that determine the key. The strings
//! are created only once per combination of ids, which saves time because there are far fewer combinations of ids than
//! values.

use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::hash::Hash;

/// The groups, sorted by key. Equal `Ids` have the same key, but different `Ids` may also have the same key.
#[derive(Debug)]
pub(super) struct Grouped<Ids, Key, Value> {
    known: FxHashMap<Ids, usize>,
    places: BTreeMap<Key, usize>,
    values: Vec<Value>,
}

impl<Ids: Hash + Eq, Key: Ord, Value> Grouped<Ids, Key, Value> {
    pub(super) fn new() -> Self {
        Grouped { known: FxHashMap::default(), places: BTreeMap::new(), values: Vec::new() }
    }

    /// The value of the group to which `ids` belong. `key` is called only if the ids are new, and `value` only if the
    /// group is new.
    pub(super) fn entry(
        &mut self,
        ids: Ids,
        key: impl FnOnce() -> Key,
        value: impl FnOnce(&Key) -> Value,
    ) -> &mut Value {
        let (places, values) = (&mut self.places, &mut self.values);
        let at = *self.known.entry(ids).or_insert_with(|| {
            let key = key();
            if let Some(&at) = places.get(&key) {
                return at;
            }
            values.push(value(&key));
            places.insert(key, values.len() - 1);
            values.len() - 1
        });
        &mut self.values[at]
    }

    pub(super) fn into_sorted(self) -> impl Iterator<Item = (Key, Value)> {
        let mut values: Vec<Option<Value>> = self.values.into_iter().map(Some).collect();
        let places = self.places.into_iter();
        places.filter_map(move |(key, at)| Some((key, values[at].take()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::Grouped;

    #[test]
    fn ids_with_one_key_share_a_group_and_groups_are_sorted_by_key() {
        let mut groups: Grouped<u32, &str, Vec<u32>> = Grouped::new();
        for (id, key) in [(7, "b"), (1, "b"), (3, "a"), (7, "never asked")] {
            groups.entry(id, || key, |_| Vec::new()).push(id);
        }
        assert_eq!(
            groups.into_sorted().collect::<Vec<_>>(),
            [("a", vec![3]), ("b", vec![7, 1, 7])]
        );
    }
}
