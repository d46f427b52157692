//! Lists that were met → whether one of them stands in the text again.

/// Lists that start alike are looked for under one of so many numbers; a power of two.
const BUCKETS: usize = 1024;

/// The lists that are kept under one number, the latest first.
const WAYS: usize = 4;

/// Bytes of a list that tell its number.
const HEAD: usize = 24;

/// A list that is longer than that is not kept.
const MAX_LIST: usize = 4 * 1024;

/// All lists are forgotten when they hold more bytes than that.
const MAX_BYTES: usize = 1024 * 1024;

/// Lists as they stood in the text.
#[derive(Debug, Default)]
pub(super) struct Lists {
    bytes: Vec<u8>,
    buckets: Vec<[Place; WAYS]>,
}

/// Where a list stands in the bytes; the empty place is no list.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    start: u32,
    end: u32,
}

impl Lists {
    /// The length of the list that `text` starts with, if it was met before for the same `key`.
    #[inline]
    pub(super) fn length(&self, key: u64, text: &[u8]) -> Option<usize> {
        let bucket = self.buckets.get(bucket(key, text)?)?;
        for place in bucket {
            let list = &self.bytes[place.start as usize..place.end as usize];
            if list.is_empty() {
                return None;
            }
            if text.starts_with(list) {
                return Some(list.len());
            }
        }
        None
    }

    /// Remembers the list of `length` bytes that `text` starts with.
    pub(super) fn remember(&mut self, key: u64, text: &[u8], length: usize) {
        let Some(bucket) = bucket(key, text) else { return };
        if length > MAX_LIST || self.length(key, text).is_some() {
            return;
        }
        if self.bytes.len() + length > MAX_BYTES || self.buckets.is_empty() {
            self.bytes.clear();
            self.buckets = vec![[Place::default(); WAYS]; BUCKETS];
        }
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(&text[..length]);
        let bucket = &mut self.buckets[bucket];
        bucket.rotate_right(1);
        bucket[0] = Place { start, end: self.bytes.len() as u32 };
    }
}

/// The number of a list: most lists that differ do so at their beginning. `None` at the end of the
/// text.
#[inline]
fn bucket(key: u64, text: &[u8]) -> Option<usize> {
    let (words, _) = text.first_chunk::<HEAD>()?.as_chunks::<8>();
    let mix = |hash: u64, word: &[u8; 8]| {
        (hash.rotate_left(5) ^ u64::from_le_bytes(*word)).wrapping_mul(0x517c_c1b7_2722_0a95)
    };
    let hash = words.iter().fold(key, mix);
    Some((hash >> 32) as usize % BUCKETS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_met_again_only_to_its_last_byte() {
        let mut lists = Lists::default();
        let met = b"[[1024, 768], [768, 768], []], and more";
        let length = met.len() - ", and more".len();
        lists.remember(7, met, length);
        assert_eq!(lists.length(7, met), Some(length));
        assert_eq!(
            lists.length(7, b"[[1024, 768], [768, 768], []], of another event"),
            Some(length)
        );
        assert_eq!(lists.length(7, b"[[1024, 768], [768, 768], [], [8]]"), None);
        assert_eq!(lists.length(8, met), None);
    }
}
