//! The hash at the end of a baseline file, with which changed bytes are found.
//!
//! ```text
//! {"format":"tracetree baseline", …,"hash":"0123456789abcdef0123456789abcdef"}
//! └───────────── hashed ───────────┘
//! ```

use twox_hash::XxHash3_128;

/// The text between the hashed bytes and the hash.
const KEY: &[u8] = b",\"hash\":\"";
/// The text after the hash.
const END: &[u8] = b"\"}";
/// Number of hexadecimal digits of the hash.
const DIGITS: usize = 32;

/// Adds the hash to a JSON object with at least one field.
pub(super) fn sealed(object: &str) -> Vec<u8> {
    let hashed = object.strip_suffix('}').unwrap_or(object);
    [hashed.as_bytes(), KEY, digits(hashed.as_bytes()).as_bytes(), END].concat()
}

/// Whether a JSON object ends with the hash of its other bytes.
pub(super) fn is_intact(object: &[u8]) -> bool {
    let hashed = object.trim_ascii_end().strip_suffix(END).and_then(|text| {
        let (rest, hash) = text.split_at_checked(text.len().checked_sub(DIGITS)?)?;
        Some((rest.strip_suffix(KEY)?, hash))
    });
    hashed.is_some_and(|(hashed, hash)| digits(hashed).as_bytes() == hash)
}

fn digits(bytes: &[u8]) -> String {
    format!("{:032x}", XxHash3_128::oneshot(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_bit_is_found() {
        let whole = sealed("{\"a\":1,\"b\":[2]}");
        assert!(is_intact(&whole));
        for bit in 0..8 * whole.len() {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_intact(&changed), "bit {bit}");
        }
        assert!((0..whole.len()).all(|length| !is_intact(&whole[..length])));
    }
}
