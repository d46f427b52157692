//! Raw JSON of an argument list → the same JSON with one blank after `,` and none elsewhere.

use super::decode::{self, Marks};

/// Normalises `raw`, and repairs the strings in it so that the result is JSON.
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
            _ => out.push(byte),
        }
    }
    (decode::into_utf8(out), marks)
}

fn push_string(content: &[u8], out: &mut Vec<u8>, marks: &mut Marks) {
    out.push(b'"');
    if decode::is_plain(content) || is_good_json(content) {
        out.extend_from_slice(content);
    } else {
        let (text, found) = decode::text(content);
        marks.merge(found);
        push_escaped(&text, out);
    }
    out.push(b'"');
}

/// Whether the content of a string needs no repair.
fn is_good_json(content: &[u8]) -> bool {
    !decode::has_unknown_escape(content)
        && content.iter().all(|&b| b >= 0x20)
        && std::str::from_utf8(content).is_ok()
}

fn push_escaped(text: &str, out: &mut Vec<u8>) {
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_get_one_blank_after_commas() {
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
    fn good_escapes_stay_as_they_are() {
        assert_eq!(
            normalised(br#"["\n", "\u00fc"]"#),
            (r#"["\n", "\u00fc"]"#.to_owned(), Marks::default())
        );
    }
}
