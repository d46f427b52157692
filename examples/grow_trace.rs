//! Creates a larger trace by repeating the events of a trace. Each repetition (round) has its own times and ids.
//!
//! ```text
//! cargo run --release --example grow_trace -- INPUT OUTPUT --target-mb 600
//! cargo run --release --example grow_trace -- INPUT OUTPUT --times 10
//! ```
//!
//! INPUT is a JSON file, plain or compressed with gzip. If the name OUTPUT ends in `.gz`, the output is compressed with
//! gzip; if it ends in `.zst`, the output is compressed with zstd; otherwise, the output is plain JSON. Each round is
//! as consistent as the original trace: correlations, flows and forward-backward links stay within a round, and each
//! round starts after the previous round has ended.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::ops::Range;

/// Keys whose values are times or ids, each with its group. The values of all keys in a group are of the same kind and
/// are shifted by the same amount.
const SHIFTED: [(&str, Group); 13] = [
    ("ts", Group::Time),
    ("correlation", Group::Correlation),
    ("connection_id", Group::Correlation),
    ("External id", Group::External),
    ("external id", Group::External),
    ("id", Group::Correlation),
    ("Python id", Group::Python),
    ("Python parent id", Group::Python),
    ("Python module id", Group::Module),
    ("Ev Idx", Group::Index),
    ("Profiler Event Index", Group::Index),
    ("Record function id", Group::Function),
    ("Sequence number", Group::Sequence),
];

#[derive(Debug, Clone, Copy)]
enum Group {
    Time,
    Correlation,
    External,
    Python,
    Module,
    Index,
    Function,
    Sequence,
}

/// Number of key groups.
const GROUPS: usize = Group::Sequence as usize + 1;

/// A number in the trace's JSON text to which each round adds a different amount.
struct Number {
    place: Range<usize>,
    value: u64,
    group: Group,
}

/// The command-line arguments.
struct Request {
    input: String,
    output: String,
    times: Option<u64>,
    target_bytes: Option<u64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let request = request(std::env::args().skip(1))?;
    let text = read(&request.input)?;
    let events = events_range(&text).ok_or("the input has no list of events")?;
    let numbers = numbers(&text, events.clone());
    let strides = strides(&text, &numbers);
    let round_bytes = events.len().max(1) as u64;
    let times = match (request.times, request.target_bytes) {
        (Some(times), _) => times,
        (None, Some(bytes)) => bytes.div_ceil(round_bytes),
        (None, None) => return Err("pass --times N or --target-mb N".into()),
    };
    let mut out = writer(&request.output)?;
    out.write_all(&text[..events.start])?;
    for round in 0..times {
        if round > 0 {
            out.write_all(b",")?;
        }
        write_round(
            &mut out,
            &text,
            events.clone(),
            &numbers,
            strides.map(|stride| stride * round),
        )?;
    }
    out.write_all(&text[events.end..])?;
    out.flush()?;
    Ok(())
}

fn request(mut args: impl Iterator<Item = String>) -> Result<Request, Box<dyn Error>> {
    let mut paths = Vec::new();
    let (mut times, mut target_bytes) = (None, None);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--times" => times = Some(args.next().ok_or("--times needs a number")?.parse()?),
            "--target-mb" => {
                let megabytes: u64 = args.next().ok_or("--target-mb needs a number")?.parse()?;
                target_bytes = Some(megabytes * 1_000_000);
            }
            _ => paths.push(arg),
        }
    }
    let [input, output] = <[String; 2]>::try_from(paths).map_err(|_| "pass INPUT and OUTPUT")?;
    Ok(Request { input, output, times, target_bytes })
}

fn read(path: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let packed = std::fs::read(path)?;
    if !packed.starts_with(&[0x1f, 0x8b]) {
        return Ok(packed);
    }
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut text)?;
    Ok(text)
}

fn writer(path: &str) -> Result<Box<dyn Write>, Box<dyn Error>> {
    let file = File::create(path)?;
    Ok(if path.ends_with(".gz") {
        Box::new(BufWriter::with_capacity(
            1 << 20,
            flate2::write::GzEncoder::new(file, flate2::Compression::default()),
        ))
    } else if path.ends_with(".zst") {
        Box::new(BufWriter::with_capacity(1 << 20, zstd::Encoder::new(file, 3)?.auto_finish()))
    } else {
        Box::new(BufWriter::with_capacity(1 << 20, file))
    })
}

/// The byte range between the brackets of `traceEvents`, or of the top-level list if the file is a list.
fn events_range(text: &[u8]) -> Option<Range<usize>> {
    const KEY: &[u8] = b"\"traceEvents\"";
    let start = match text.trim_ascii_start().first()? {
        b'[' => 0,
        _ => text.windows(KEY.len()).position(|window| window == KEY)?,
    };
    let open = start + text[start..].iter().position(|&b| b == b'[')?;
    let mut depth = 0;
    let tokens = Tokens { text, at: open };
    for token in tokens {
        match text[token.start] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(open + 1..token.start);
        }
    }
    None
}

/// Iterates over strings (with their quotes), numbers and single bytes, skipping whitespace.
struct Tokens<'a> {
    text: &'a [u8],
    at: usize,
}

impl Iterator for Tokens<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.at + self.text[self.at..].iter().position(|b| !b.is_ascii_whitespace())?;
        let rest = &self.text[start..];
        let length = match rest[0] {
            b'"' => string_length(rest),
            b'0'..=b'9' | b'-' => number_length(rest),
            _ => 1,
        };
        self.at = start + length;
        Some(start..self.at)
    }
}

fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != b'"' {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

fn number_length(text: &[u8]) -> usize {
    let is_number = |b: &u8| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E');
    text.iter().position(|b| !is_number(b)).unwrap_or(text.len())
}

/// All numbers in the text that each round shifts, in file order. Negative numbers are not ids, so they are not
/// shifted.
fn numbers(text: &[u8], events: Range<usize>) -> Vec<Number> {
    let mut numbers = Vec::new();
    let mut group = None;
    for token in (Tokens { text: &text[..events.end], at: events.start }) {
        match (text[token.start], group) {
            (b':', _) => {}
            (b'0'..=b'9' | b'"', Some(known)) if whole_part(text, token.clone()).is_some() => {
                let place = whole_part(text, token).expect("the number was just found");
                let digits = std::str::from_utf8(&text[place.clone()]).expect("digits are ASCII");
                numbers.extend(digits.parse().ok().map(|value| Number {
                    place,
                    value,
                    group: known,
                }));
                group = None;
            }
            (b'"', _) => {
                let key = &text[token.start + 1..token.end - 1];
                group = SHIFTED
                    .iter()
                    .find(|(name, _)| name.as_bytes() == key)
                    .map(|(_, group)| *group);
            }
            _ => group = None,
        }
    }
    numbers
}

/// The digits before the decimal point of a number. The number may be in quotes.
fn whole_part(text: &[u8], token: Range<usize>) -> Option<Range<usize>> {
    let start = token.start + usize::from(text[token.start] == b'"');
    let length = text[start..token.end].iter().take_while(|b| b.is_ascii_digit()).count();
    let ends_well =
        matches!(text.get(start + length), Some(b'.' | b',' | b'"' | b'}' | b'\n' | b'\r' | b' '));
    (length > 0 && length < 19 && ends_well).then(|| start..start + length)
}

/// For each group, the amount that each round adds to the group's values. The amount exceeds the range of these values,
/// so the rounds do not overlap.
fn strides(text: &[u8], numbers: &[Number]) -> [u64; GROUPS] {
    let mut strides = [0; GROUPS];
    for (group, stride) in strides.iter_mut().enumerate() {
        let values = || numbers.iter().filter(|n| n.group as usize == group).map(|n| n.value);
        let first = if group == Group::Time as usize {
            values().filter(|&ts| ts > 0).min()
        } else {
            Some(0)
        };
        *stride =
            values().max().zip(first).map_or(0, |(last, first)| last.saturating_sub(first) + 1);
    }
    strides[Group::Time as usize] += longest(text);
    strides
}

/// The longest duration of an event in µs, rounded up. All events have ended when this time has passed since the last
/// event started.
fn longest(text: &[u8]) -> u64 {
    let mut longest = 0;
    let mut after_key = false;
    for token in (Tokens { text, at: 0 }) {
        match text[token.start] {
            b':' => continue,
            b'0'..=b'9' if after_key => {
                let digits = whole_part(text, token.clone()).map(|place| &text[place]);
                let value =
                    digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
                longest = longest.max(value.unwrap_or(0));
            }
            _ => {}
        }
        after_key = &text[token] == b"\"dur\"";
    }
    longest + 1
}

/// Writes all events, with each number increased by its group's shift.
fn write_round(
    out: &mut dyn Write,
    text: &[u8],
    events: Range<usize>,
    numbers: &[Number],
    shifts: [u64; GROUPS],
) -> std::io::Result<()> {
    let mut at = events.start;
    for number in numbers {
        out.write_all(&text[at..number.place.start])?;
        write!(out, "{}", number.value.saturating_add(shifts[number.group as usize]))?;
        at = number.place.end;
    }
    out.write_all(&text[at..events.end])
}
