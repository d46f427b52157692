//! Compact columns for numbers that are close to their neighbors, such as times, positions and
//! threads.

use super::ids::{ThreadId, Uid};
use super::time::Nanos;

/// Number of entries per block of a column. Within a block, each entry is stored as its distance
/// from the first entry.
const BLOCK: usize = 64;

/// A column of numbers. Each number is stored as its distance from the first number of its block;
/// `D` is the type of a distance. A stored uid takes two bytes instead of four, and a stored time
/// takes four bytes instead of eight. Numbers whose distance does not fit into `D` are stored
/// separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Near<T, D> {
    firsts: Vec<T>,
    distances: Vec<D>,
    /// Numbers whose distance does not fit into `D`, sorted by position.
    far: Vec<(u32, T)>,
}

/// A number that a [`Near`] column can store.
pub(crate) trait Number: Copy + Ord {
    fn whole(self) -> i64;
    /// The inverse of [`whole`](Number::whole).
    fn of(whole: i64) -> Self;
}

/// The integer type of a stored distance.
pub(crate) trait Distance: Copy + PartialEq + TryFrom<i64> + Into<i64> {
    /// A value that is stored instead of the distance if the number is stored separately.
    const FAR: Self;
}

impl Number for Nanos {
    fn whole(self) -> i64 {
        self.0
    }

    fn of(whole: i64) -> Nanos {
        Nanos(whole)
    }
}

impl Number for Uid {
    fn whole(self) -> i64 {
        self.0.into()
    }

    fn of(whole: i64) -> Uid {
        Uid(whole as u32)
    }
}

impl Number for ThreadId {
    fn whole(self) -> i64 {
        self.0.into()
    }

    fn of(whole: i64) -> ThreadId {
        ThreadId(whole as u32)
    }
}

macro_rules! distances {
    ($($distance:ty)*) => {$(
        impl Distance for $distance {
            const FAR: $distance = <$distance>::MAX;
        }
    )*};
}

distances! { i16 u16 i32 }

impl<T, D> Default for Near<T, D> {
    fn default() -> Self {
        Near { firsts: Vec::new(), distances: Vec::new(), far: Vec::new() }
    }
}

impl<T: Number, D: Distance> Near<T, D> {
    pub(crate) fn reserve(&mut self, count: usize) {
        self.firsts.reserve(count.div_ceil(BLOCK));
        self.distances.reserve(count);
    }

    pub(crate) fn len(&self) -> usize {
        self.distances.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.distances.is_empty()
    }

    pub(crate) fn push(&mut self, number: T) {
        let at = self.distances.len();
        if at.is_multiple_of(BLOCK) {
            self.firsts.push(number);
        }
        let distance = self.distance(at, number);
        if distance == D::FAR {
            self.far.push((at as u32, number));
        }
        self.distances.push(distance);
    }

    /// Replaces the number at position `at`.
    pub(crate) fn set(&mut self, at: usize, number: T) {
        let distance = self.distance(at, number);
        self.distances[at] = distance;
        match (self.place_of_far(at), distance == D::FAR) {
            (Ok(place), true) => self.far[place].1 = number,
            (Ok(place), false) => drop(self.far.remove(place)),
            (Err(place), true) => self.far.insert(place, (at as u32, number)),
            (Err(_), false) => {}
        }
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> T {
        let distance = self.distances[at];
        if distance == D::FAR {
            return self.get_far(at);
        }
        T::of(self.firsts[at / BLOCK].whole().wrapping_add(distance.into()))
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = T> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// Index of `number` in a column with ascending numbers.
    pub(crate) fn position(&self, number: T) -> Option<usize> {
        let block = self.firsts.partition_point(|&first| first <= number).checked_sub(1)?;
        let in_block = block * BLOCK..self.len().min((block + 1) * BLOCK);
        in_block.into_iter().find(|&at| self.get(at) == number)
    }

    fn distance(&self, at: usize, number: T) -> D {
        // If this subtraction wraps around, the addition in `get` wraps back.
        let distance = number.whole().wrapping_sub(self.firsts[at / BLOCK].whole());
        D::try_from(distance).unwrap_or(D::FAR)
    }

    fn place_of_far(&self, at: usize) -> Result<usize, usize> {
        self.far.binary_search_by_key(&(at as u32), |&(at, _)| at)
    }

    #[cold]
    fn get_far(&self, at: usize) -> T {
        let place = self.place_of_far(at).expect("a number that does not fit is stored separately");
        self.far[place].1
    }
}

impl<T: Number, D: Distance> FromIterator<T> for Near<T, D> {
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Near<T, D> {
        let numbers = numbers.into_iter();
        let mut column = Near::default();
        column.reserve(numbers.size_hint().0);
        numbers.for_each(|number| column.push(number));
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn distant_values_are_stored_separately() {
        let numbers = [7, 8, 65_541, 65_542, 6, u32::MAX, 7].map(Uid);
        let column: Near<Uid, u16> = numbers.into_iter().collect();
        assert_eq!(column.distances, [0, 1, 65_534, 65_535, 65_535, 65_535, 0]);
        assert_eq!(column.far, [(3, Uid(65_542)), (4, Uid(6)), (5, Uid(u32::MAX))]);
        assert_eq!(column.iter().collect::<Vec<_>>(), numbers);
    }

    #[test]
    fn the_ends_of_time_are_kept() {
        let times = [Nanos(i64::MIN), Nanos(i64::MAX), Nanos(0), Nanos(i64::MIN + 1)];
        let column: Near<Nanos, i32> = times.into_iter().collect();
        assert_eq!(column.iter().collect::<Vec<_>>(), times);
    }

    fn near_and_far() -> impl Strategy<Value = Uid> {
        prop_oneof![0..70_000_u32, any::<u32>()].prop_map(Uid)
    }

    proptest! {
        #[test]
        fn every_number_is_found_where_it_was_put(
            numbers in prop::collection::vec(near_and_far(), 1..200),
            changes in prop::collection::vec((any::<prop::sample::Index>(), near_and_far()), 0..20),
        ) {
            let mut numbers = numbers;
            let mut column: Near<Uid, u16> = numbers.iter().copied().collect();
            for (at, number) in changes {
                let at = at.index(numbers.len());
                numbers[at] = number;
                column.set(at, number);
            }
            prop_assert_eq!(column.len(), numbers.len());
            prop_assert_eq!(column.iter().collect::<Vec<_>>(), numbers);
        }

        #[test]
        fn the_position_of_a_number_is_found(
            gaps in prop::collection::vec(prop_oneof![1..3_u32, 1..100_000_u32], 0..300),
            wanted in 0..400_u32,
        ) {
            let uids: Vec<Uid> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(Uid(*at)) }).collect();
            let column: Near<Uid, u16> = uids.iter().copied().collect();
            for uid in [Uid(wanted), uids.get(wanted as usize).copied().unwrap_or(Uid(0))] {
                prop_assert_eq!(column.position(uid), uids.binary_search(&uid).ok());
            }
        }
    }
}
