//! Finds the positions of the tokens in a window of JSON text. The tokens are `{ } [ ] : ,`,
//! opening quotes, and the first bytes of numbers and words. The content of strings contains no
//! tokens.
//!
//! Control characters and invalid UTF-8, which JSON does not allow, do not stop the search. The
//! reader repairs them later.

/// Writes the positions of the tokens in `text` to `positions`, in ascending order.
pub(super) fn find_tokens(text: &[u8], positions: &mut Vec<u32>) {
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
    use super::find_tokens;

    fn positions(text: &[u8]) -> Vec<u32> {
        let mut positions = vec![7];
        find_tokens(text, &mut positions);
        positions
    }

    #[test]
    fn only_the_beginning_of_each_token_is_found() {
        assert_eq!(positions(br#"{"ph": "X", "ts": 1.5}"#), [0, 1, 5, 7, 10, 12, 16, 18, 21]);
        assert_eq!(positions(b" [true,\n -1e5]"), [1, 2, 6, 9, 13]);
        assert_eq!(positions(b""), [0_u32; 0]);
    }

    #[test]
    fn brackets_and_escaped_quotes_in_a_string_are_ignored() {
        assert_eq!(positions(br#"["a\"],{", "\\", 1]"#), [0, 1, 9, 11, 15, 17, 18]);
    }

    #[test]
    fn damage_does_not_stop_the_search() {
        assert_eq!(positions(b"{\"a\": \"x\x01\", \"b\": 1}"), [0, 1, 4, 6, 10, 12, 15, 17, 18]);
        assert_eq!(positions(b"{\"a\": \"\xff\", \"b\": NaN}"), [0, 1, 4, 6, 9, 11, 14, 16, 19]);
        assert_eq!(positions(b"{\"a\": \"open"), [0, 1, 4, 6]);
    }
}
