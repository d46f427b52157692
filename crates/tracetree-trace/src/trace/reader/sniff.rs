//! Checks the first bytes of a file. If the file cannot be a trace, the error names the format that
//! the file seems to have.

use crate::error::{Error, ErrorKind, Place, Result};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Files that are often mistaken for traces: first bytes, name of the format, hint for the user.
const OTHERS: [(&[u8], &str, &str); 21] = [
    (
        b"version https://git-lfs",
        "a Git LFS pointer, not the file itself",
        "fetch the file with git lfs pull",
    ),
    // The entries for UTF-32 must precede the entries for UTF-16, which begin with the same bytes.
    (b"\xff\xfe\0\0", "text in UTF-32", "convert it with iconv -f UTF-32 -t UTF-8"),
    (b"\0\0\xfe\xff", "text in UTF-32", "convert it with iconv -f UTF-32 -t UTF-8"),
    (b"{\0\0\0", "text in UTF-32", "convert it with iconv -f UTF-32LE -t UTF-8"),
    (b"[\0\0\0", "text in UTF-32", "convert it with iconv -f UTF-32LE -t UTF-8"),
    (b"\0\0\0{", "text in UTF-32", "convert it with iconv -f UTF-32BE -t UTF-8"),
    (b"\0\0\0[", "text in UTF-32", "convert it with iconv -f UTF-32BE -t UTF-8"),
    (b"\x1f\x8b", "gzip data: the file is packed twice", "unpack it once with gunzip"),
    (b"\xff\xfe", "text in UTF-16", "convert it with iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "text in UTF-16", "convert it with iconv -f UTF-16 -t UTF-8"),
    (b"{\0", "text in UTF-16", "convert it with iconv -f UTF-16LE -t UTF-8"),
    (b"[\0", "text in UTF-16", "convert it with iconv -f UTF-16LE -t UTF-8"),
    (b"\0{", "text in UTF-16", "convert it with iconv -f UTF-16BE -t UTF-8"),
    (b"\0[", "text in UTF-16", "convert it with iconv -f UTF-16BE -t UTF-8"),
    (b"PK\x03\x04", "a zip archive", "unpack it first"),
    (b"BZh", "packed with bzip2", "unpack it with bunzip2"),
    (b"\xfd7zXZ", "packed with xz", "unpack it with unxz"),
    (
        b"NVIDIA Tegra Profiler Report",
        "an Nsight Systems report",
        "export it with nsys export --type sqlite -o X.sqlite X.nsys-rep, and pass X.sqlite",
    ),
    (
        b"\x89HDF",
        "an HDF5 file",
        "pass an SQLite export of Nsight Systems: nsys export --type sqlite -o X.sqlite X.nsys-rep",
    ),
    (b"\x80\x04", "a Python pickle", "pass the trace.json that the profiler exported"),
    (b"\x80\x02", "a Python pickle", "pass the trace.json that the profiler exported"),
];

/// Offset and content of the signature of a tar archive.
const TAR_MAGIC: (usize, &[u8]) = (257, b"ustar");

/// Returns the number of bytes of `head` that precede the JSON text: the length of a byte order
/// mark.
///
/// # Errors
/// Fails if `head`, the beginning of the decompressed text, is empty or not JSON.
pub(super) fn check(name: &str, head: &[u8]) -> Result<usize> {
    let skip = if head.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let text = head[skip..].trim_ascii_start();
    let refuse = |message: String, remedy: &str| {
        let offset = (head.len() - text.len()) as u64;
        Err(Error::new(ErrorKind::Malformed, name, message)
            .at(Place { offset, event: None })
            .remedy(remedy))
    };
    if text.is_empty() {
        return refuse(
            "the file is empty".to_owned(),
            "the profiler did not finish; profile again",
        );
    }
    let known = OTHERS.iter().find(|(magic, ..)| head.starts_with(magic));
    if let Some((_, what, remedy)) = known {
        return refuse(format!("expected a trace in JSON, found {what}"), remedy);
    }
    if head.get(TAR_MAGIC.0..).is_some_and(|rest| rest.starts_with(TAR_MAGIC.1)) {
        return refuse(
            "expected a trace in JSON, found a tar archive".to_owned(),
            "unpack it with tar xf",
        );
    }
    if is_perfetto(head) {
        return refuse(
            "expected a trace in JSON, found a Perfetto trace".to_owned(),
            "record again with rocprofv3 --output-format json, or export JSON from the profiler",
        );
    }
    match text[0] {
        b'{' | b'[' => Ok(skip),
        b'<' => refuse(
            "expected a trace in JSON, found HTML or XML".to_owned(),
            "the download returned an error or login page; download the file itself",
        ),
        _ => refuse(
            format!("expected '{{' or '[', found {}", shown(text)),
            "pass a trace exported by torch.profiler (export_chrome_trace or \
             tensorboard_trace_handler)",
        ),
    }
}

/// Whether the bytes begin with a packet of a Perfetto trace: field 1 of the trace, its length, and
/// one of the fields that a first packet has (clock snapshot, timestamp, sequence, trusted uid,
/// track event, or a field with a number of at least 16, such as a track descriptor).
fn is_perfetto(head: &[u8]) -> bool {
    let Some(rest) = head.strip_prefix(&[0x0a]) else { return false };
    let length = rest.iter().take(5).position(|byte| *byte < 0x80).map(|last| last + 1);
    match length.and_then(|length| rest.get(length..)) {
        Some([0x18 | 0x32 | 0x40 | 0x50 | 0x5a | 0x68, ..]) => true,
        Some([first, second, ..]) => {
            matches!(first & 7, 0 | 2) && *first >= 0x80 && matches!(second, 1..=7)
        }
        Some(_) | None => false,
    }
}

/// Formats the first byte of a file for an error message.
fn shown(text: &[u8]) -> String {
    match text[0] {
        byte @ b'!'..=b'~' => format!("'{}'", char::from(byte)),
        byte => format!("byte 0x{byte:02x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_passes_with_and_without_a_byte_order_mark() {
        assert_eq!(check("t", b" {\"a\"").expect("json"), 0);
        assert_eq!(check("t", b"\xef\xbb\xbf[").expect("json"), 3);
    }

    #[test]
    fn other_file_formats_are_named() {
        let cases: [(&[u8], &str); 10] = [
            (b"", "t: byte 0: the file is empty (the profiler did not finish; profile again)"),
            (b"<!DOCTYPE html>", "found HTML"),
            (b"version https://git-lfs.github.com/spec/v1", "git lfs pull"),
            (b"\xff\xfe{\0", "iconv -f UTF-16 "),
            (b"\xff\xfe\0\0{\0\0\0", "iconv -f UTF-32 "),
            (b"{\0\0\0\"\0\0\0", "iconv -f UTF-32LE "),
            (b"\x1f\x8b\x08", "packed twice"),
            (b"NVIDIA Tegra Profiler Report 2026@4@1", "nsys export --type sqlite"),
            (b"hello", "found 'h'"),
            (b"  \x01", "byte 2: expected '{' or '[', found byte 0x01"),
        ];
        for (head, expected) in cases {
            let error = check("t", head).expect_err("no trace").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
