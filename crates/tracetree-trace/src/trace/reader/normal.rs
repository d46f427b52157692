//! Normalizes the raw JSON of an argument list, so that each value is written in only one way. In
//! normalized JSON, each `,` is followed by one blank, and there are no other blanks. Strings
//! contain only necessary escapes, and fractions are as short as possible. If two lists differ only
//! in how they are written in JSON, their normalized forms are identical.

use super::decode::{self, Marks};

/// Normalizes `raw` and repairs the strings in `raw`, so the result is JSON.
pub(super) fn normalised(raw: &[u8]) -> (String, Marks) {
    let mut out = Vec::with_capacity(raw.len());
    let mut marks = Marks::default();
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        at += 1;
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => {}
            b',' => out.extend_from_slice(b", "),
            b'"' => {
                let end = decode::string_end(raw, at);
                push_string(&raw[at..end], &mut out, &mut marks);
                at = end + 1;
            }
            b'-' | b'0'..=b'9' => {
                let rest = &raw[at - 1..];
                let length = rest.iter().position(|byte| !is_of_number(*byte));
                let number = &rest[..length.unwrap_or(rest.len())];
                push_number(number, &mut out);
                at += number.len() - 1;
            }
            _ => out.push(byte),
        }
    }
    (decode::into_utf8(out), marks)
}

/// Whether `raw` is a list of integers that is already normalized, as nearly all lists from
/// profilers are.
pub(super) fn is_normal(raw: &[u8]) -> bool {
    let mut after_comma = false;
    raw.iter().all(|&byte| {
        let is_right = match byte {
            b' ' => after_comma,
            b'[' | b']' | b'0'..=b'9' | b',' => !after_comma,
            _ => false,
        };
        after_comma = byte == b',';
        is_right
    })
}

fn is_of_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')
}

/// Appends a number in normalized form. Integers are copied unchanged, because they may exceed the
/// range of every integer type. For example, `1e-05`, `1.0E-5` and `0.00001` are normalized to the
/// same string.
fn push_number(number: &[u8], out: &mut Vec<u8>) {
    let is_integer = number.iter().all(|byte| matches!(byte, b'-' | b'0'..=b'9'));
    let text = std::str::from_utf8(number).ok().filter(|_| !is_integer);
    match text.and_then(|text| text.parse::<f64>().ok()).filter(|value| value.is_finite()) {
        Some(value) => out.extend_from_slice(format!("{value:?}").as_bytes()),
        None => out.extend_from_slice(number),
    }
}

fn push_string(content: &[u8], out: &mut Vec<u8>, marks: &mut Marks) {
    out.push(b'"');
    if decode::is_plain(content) {
        out.extend_from_slice(content);
    } else {
        let (text, found) = decode::text(content);
        marks.merge(found);
        push_escaped(&text, out);
    }
    out.push(b'"');
}

fn push_escaped(text: &str, out: &mut Vec<u8>) {
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_get_one_space_after_commas() {
        let raw = b"[\n  [1,2 , 3],\n  [],\"a, b\"\n]";
        assert_eq!(normalised(raw).0, r#"[[1, 2, 3], [], "a, b"]"#);
        assert_eq!(normalised(br#"{"a" : [1]}"#).0, r#"{"a":[1]}"#);
    }

    #[test]
    fn damaged_strings_become_json_again() {
        let (text, _) = normalised(b"[\"a\\cb\", \"x\x01y\"]");
        assert_eq!(text, r#"["a\\cb", "x\u0001y"]"#);
    }

    #[test]
    fn one_value_has_one_spelling() {
        let expected = (r#"["\n", "ü/", 1e-5, -2]"#.to_owned(), Marks::default());
        assert_eq!(normalised(br#"["\n", "\u00fc\/", 1e-05, -2]"#), expected);
        assert_eq!(normalised("[\"\\u000a\",\"ü/\",0.00001,-2]".as_bytes()), expected);
        assert_eq!(
            normalised(b"[18446744073709551616, 1e999, -]").0,
            "[18446744073709551616, 1e999, -]"
        );
    }

    #[test]
    fn a_list_of_integers_is_normalized_to_one_space_after_each_comma() {
        assert!(is_normal(b"[1, 2, 3]") && is_normal(b"[[1, 20], []]") && is_normal(b""));
        for raw in ["[1,2]", "[1,  2]", "[ 1]", "[1 , 2]", "[1.0]", "[\"a\"]", "[1,\t2]"] {
            assert!(!is_normal(raw.as_bytes()), "{raw}");
        }
    }
}
