//! Finds the structure of a window of JSON text: the positions of `{ } [ ] : ,`, of opening quotes,
//! and of the first bytes of numbers and words, all outside of strings.
//!
//! The first stage of simd-json finds these positions, 64 bytes at a time. The first stage is not
//! public, but `Buffers::structural_indexes` keeps the positions even when the parse fails. So the
//! window starts with a byte that ends the parse immediately ([`GUARD`]). simd-json's stage 1 runs
//! over the whole window, and its stage 2 stops at the first position. Violations of JSON (control
//! characters, bad UTF-8) are left for the reader to repair. Because this method relies on a side
//! effect of simd-json, the version of simd-json is pinned, and a test checks that the side effect
//! still occurs. On processors for which simd-json has no SIMD support, the first stage checks
//! UTF-8 before indexing, so a scalar indexer is used instead.

use simd_json::{Buffers, Deserializer, INPUT_PADDING, Implementation, Tape};

/// The guard: a byte that precedes the window and that no JSON text starts with.
pub(super) const GUARD: u8 = b'}';

/// Number of bytes that must follow the window; the content of these bytes does not matter.
pub(super) const PADDING: usize = INPUT_PADDING;

/// Number of blanks appended to a window, so that the window is indexed to its end. If the window
/// ends inside a string, stage 1 drops the positions in the last 64 bytes.
pub(super) const TAIL: usize = 64;

/// Finds the structure of text windows, reusing internal buffers.
pub(super) struct Indexer {
    buffers: Buffers,
    tape: Tape<'static>,
    scalar: Option<Vec<u32>>,
}

impl Indexer {
    /// Creates an indexer for windows of about `window` bytes, which uses SIMD if the processor
    /// supports it.
    pub(super) fn new(window: usize) -> Self {
        let scalar = (Deserializer::algorithm() == Implementation::Native).then(Vec::new);
        Indexer { buffers: Buffers::new(window), tape: Tape::null(), scalar }
    }

    /// Indexes `text[..len]`; `text[0]` must be [`GUARD`], and [`PADDING`] bytes must follow the
    /// first `len` bytes.
    pub(super) fn index(&mut self, text: &mut [u8], len: usize) {
        match &mut self.scalar {
            Some(positions) => index_scalar(&text[..len], positions),
            None => {
                let mut tape = std::mem::replace(&mut self.tape, Tape::null()).reset();
                let parsed = simd_json::fill_tape_padded(text, len, &mut self.buffers, &mut tape);
                debug_assert!(parsed.is_err(), "the guard is not JSON");
                self.tape = tape.reset();
            }
        }
    }

    /// The positions that [`Indexer::index`] found last, in ascending order; the first position is
    /// the guard.
    pub(super) fn positions(&self) -> &[u32] {
        match &self.scalar {
            Some(positions) => positions,
            None => self.buffers.structural_indexes(),
        }
    }
}

/// Finds the same positions as simd-json, byte by byte.
pub(super) fn index_scalar(text: &[u8], positions: &mut Vec<u32>) {
    positions.clear();
    let mut in_string = false;
    let mut escaped = false;
    let mut after_break = true;
    for (at, &byte) in text.iter().enumerate() {
        let quote = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        let was_in_string = in_string;
        in_string ^= quote;
        if was_in_string {
            after_break = quote;
            continue;
        }
        let structural = matches!(byte, b'{' | b'}' | b'[' | b']' | b':' | b',');
        let blank = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        if structural || quote || (after_break && !blank) {
            positions.push(u32::try_from(at).expect("a window is below 4 GiB"));
        }
        after_break = structural || blank || quote;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn both(text: &[u8]) -> (Vec<u32>, Vec<u32>) {
        let mut padded = vec![GUARD];
        padded.extend_from_slice(text);
        padded.extend_from_slice(&[b' '; TAIL]);
        let len = padded.len();
        padded.extend_from_slice(&[0; PADDING]);
        let mut indexer = Indexer::new(len);
        indexer.index(&mut padded, len);
        let mut scalar = Vec::new();
        index_scalar(&padded[..len], &mut scalar);
        (indexer.positions().to_vec(), scalar)
    }

    #[test]
    fn the_index_is_filled_although_the_parse_fails() {
        let (simd, scalar) = both(br#"{"ph": "X", "ts": 1.5}"#);
        assert_eq!(simd, [0, 1, 2, 6, 8, 11, 13, 17, 19, 22]);
        assert_eq!(scalar, simd);
    }

    #[test]
    fn damage_does_not_stop_the_index() {
        for damage in [
            &b"{\"a\": \"x\x01\", \"b\": 1}"[..],
            b"{\"a\": \"\xff\", \"b\": NaN}",
            b"{\"a\": \"open",
        ] {
            let (simd, scalar) = both(damage);
            assert_eq!(simd, scalar);
            assert!(simd.len() > 3);
        }
    }

    proptest! {
        #[test]
        fn simd_and_scalar_agree(text in proptest::collection::vec(
            prop_oneof![Just(b'"'), Just(b'\\'), Just(b'{'), Just(b','), Just(b' '), Just(b'\n'), any::<u8>()],
            0..300,
        )) {
            let (simd, scalar) = both(&text);
            prop_assert_eq!(simd, scalar);
        }
    }
}
