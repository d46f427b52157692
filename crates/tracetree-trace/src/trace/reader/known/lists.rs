//! Remembers lists of numbers and strings in order to recognize a list that occurs again.

/// Number of buckets, a power of two. Lists with the same key and the same beginning share a
/// bucket.
const BUCKETS: usize = 1024;

/// Maximum number of lists in a bucket. The list that was added last comes first.
const WAYS: usize = 4;

/// Number of bytes at the beginning of a list that, together with the list's key, determine its
/// bucket.
const HEAD: usize = 24;

/// Maximum length in bytes of a list that is kept.
const MAX_LIST: usize = 4 * 1024;

/// Maximum total size of the kept lists, in bytes. If a new list would exceed this limit, all kept
/// lists are dropped first.
const MAX_BYTES: usize = 1024 * 1024;

/// The remembered lists, as written in the JSON text.
#[derive(Debug, Default)]
pub(super) struct Lists {
    bytes: Vec<u8>,
    buckets: Vec<[Place; WAYS]>,
}

/// The range of a list in the stored bytes; an empty range represents no list.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    start: u32,
    end: u32,
}

impl Lists {
    /// The length of the list at the start of `text`, if the list is remembered under this `key`.
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

    /// Remembers the list at the start of `text`, which is `length` bytes long.
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

/// The bucket of the list at the start of `text`. Only `key` and the first [`HEAD`] bytes determine
/// the bucket, because most distinct lists already differ there. Returns `None` if `text` is
/// shorter than [`HEAD`] bytes.
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
