//! Generates a sequence of numbers from a seed. The sequence is the same on every machine (splitmix64).

/// A generator of pseudo-random numbers.
#[derive(Debug, Clone)]
pub struct SplitMix {
    state: u64,
    /// Numbers that are returned before the sequence of the seed begins. They are stored in reverse order.
    given: Vec<u64>,
}

impl SplitMix {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        SplitMix { state: seed, given: Vec::new() }
    }

    /// Creates a generator that first returns the two-byte numbers in `bytes`, which a fuzzer has chosen. After these
    /// numbers, the generator uses their sum as the seed.
    pub fn given(bytes: &[u8]) -> Self {
        let (pairs, _) = bytes.as_chunks::<2>();
        let given: Vec<u64> =
            pairs.iter().rev().map(|pair| u16::from_le_bytes(*pair).into()).collect();
        SplitMix { state: given.iter().sum(), given }
    }

    /// The next number in the sequence.
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

    /// A random item from a list; `None` if the list is empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() { None } else { items.get(self.below(items.len())) }
    }

    /// `count` random items in random order; all items if the list has fewer than `count` items.
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
