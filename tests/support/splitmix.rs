//! Generates the same sequence of numbers from a seed on every machine (splitmix64).

/// A generator of pseudo-random numbers.
#[derive(Debug, Clone)]
pub struct SplitMix {
    state: u64,
    /// Numbers to return before those generated from the seed, in reverse order.
    given: Vec<u64>,
}

impl SplitMix {
    /// The sequence that belongs to this seed.
    pub fn new(seed: u64) -> Self {
        SplitMix { state: seed, given: Vec::new() }
    }

    /// A sequence that starts with numbers chosen by a fuzzer, two bytes each, and continues with
    /// the sequence whose seed is their sum.
    pub fn given(bytes: &[u8]) -> Self {
        let (pairs, _) = bytes.as_chunks::<2>();
        let given: Vec<u64> =
            pairs.iter().rev().map(|pair| u16::from_le_bytes(*pair).into()).collect();
        SplitMix { state: given.iter().sum(), given }
    }

    /// The next number of the sequence.
    pub fn next(&mut self) -> u64 {
        if let Some(number) = self.given.pop() {
            return number;
        }
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A random number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// A random item of a list, if the list is not empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() { None } else { items.get(self.below(items.len())) }
    }

    /// `count` random items, in an order that the seed determines; all items if there are fewer.
    pub fn sample<T: Copy>(&mut self, items: &[T], count: usize) -> Vec<T> {
        let mut pool = items.to_vec();
        let count = count.min(pool.len());
        for at in 0..count {
            let other = at + self.below(pool.len() - at);
            pool.swap(at, other);
        }
        pool.truncate(count);
        pool
    }
}
