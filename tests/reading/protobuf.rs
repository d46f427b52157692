//! Decodes the events of an XLA profile without the library, using only field numbers and values.

use std::collections::BTreeMap;

/// Start and end of an event in ns, both rounded down.
pub(crate) type Times = (i64, i64);

/// For each event, in file order: the name of its kind, the name of its plane, and its times.
pub(crate) fn events(bytes: &[u8]) -> Vec<(String, String, Times)> {
    let mut events = Vec::new();
    for plane in messages(bytes, 1) {
        let plane_name = text(plane, 2);
        let kinds: Vec<(u64, String)> = messages(plane, 4)
            .map(|entry| {
                let kind = messages(entry, 2).next().unwrap_or(&[]);
                (number(entry, 1), text(kind, 2))
            })
            .collect();
        for line in messages(plane, 3) {
            let base = number(line, 3) as i64;
            for event in messages(line, 4) {
                let (kind, offset, duration) =
                    (number(event, 1), number(event, 2) as i64, number(event, 3) as i64);
                let name = kinds.iter().find(|(id, _)| *id == kind).expect("a kind").1.clone();
                let at = |ps: i64| base + ps.div_euclid(1000);
                events.push((plane_name.clone(), name, (at(offset), at(offset + duration))));
            }
        }
    }
    events
}

/// For each event with the given name, in file order: the event's statistics (numbers and strings), by name.
pub(crate) fn statistics(bytes: &[u8], name: &str) -> Vec<BTreeMap<String, String>> {
    let mut found = Vec::new();
    for plane in messages(bytes, 1) {
        let entries = |field| {
            messages(plane, field)
                .map(|entry| (number(entry, 1), text(messages(entry, 2).next().unwrap_or(&[]), 2)))
        };
        let kinds: Vec<u64> = entries(4).filter(|(_, own)| own == name).map(|(id, _)| id).collect();
        let names: BTreeMap<u64, String> = entries(5).collect();
        let events = messages(plane, 3).flat_map(|line| messages(line, 4).collect::<Vec<_>>());
        for event in events.filter(|event| kinds.contains(&number(event, 1))) {
            let value = |stat: &[u8]| match (text(stat, 5), number(stat, 7)) {
                (text, 0) if text.is_empty() => (number(stat, 3) | number(stat, 4)).to_string(),
                (text, 0) => text,
                (_, id) => names.get(&id).cloned().unwrap_or_default(),
            };
            let stats = messages(event, 4);
            found.push(stats.map(|stat| (names[&number(stat, 1)].clone(), value(stat))).collect());
        }
    }
    found
}

fn text(message: &[u8], field: u64) -> String {
    let bytes = messages(message, field).last().unwrap_or(&[]);
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn messages(message: &[u8], field: u64) -> impl Iterator<Item = &[u8]> {
    fields(message).into_iter().filter_map(move |(own, _, bytes)| bytes.filter(|_| own == field))
}

fn number(message: &[u8], field: u64) -> u64 {
    fields(message).iter().rev().find(|(own, ..)| *own == field).map_or(0, |(_, value, _)| *value)
}

/// For each field in a message: the field number, the value of an integer field (otherwise 0), and the bytes of a
/// length-delimited field (otherwise `None`).
fn fields(message: &[u8]) -> Vec<(u64, u64, Option<&[u8]>)> {
    let (mut found, mut rest) = (Vec::new(), message);
    while !rest.is_empty() {
        let key = varint(&mut rest);
        match key & 7 {
            0 => found.push((key >> 3, varint(&mut rest), None)),
            2 => {
                let length = varint(&mut rest) as usize;
                let (bytes, after) = rest.split_at(length);
                found.push((key >> 3, 0, Some(bytes)));
                rest = after;
            }
            kind => rest = &rest[if kind == 1 { 8 } else { 4 }..],
        }
    }
    found
}

fn varint(rest: &mut &[u8]) -> u64 {
    let length = 1 + rest.iter().position(|byte| *byte < 0x80).expect("the end of a number");
    let (number, after) = rest.split_at(length);
    *rest = after;
    number.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f))
}
