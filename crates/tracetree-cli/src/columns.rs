//! Shortens and pads strings to fit terminal columns.

use tracetree::report::{one_line, shorten};

/// Shortens a name to one line of at most `room` characters. If the name of a renamed call (`a | b`) is too long, the
/// words that both names begin with are dropped first, so that the difference between the names stays visible.
pub(super) fn fit(name: &str, room: usize) -> String {
    let name = one_line(name);
    match name.split_once(" | ") {
        Some((first, second)) if name.chars().count() > room && room > 8 => {
            let (first, second) = without_common_start(first, second);
            let half = (room - 3) / 2;
            let first =
                shorten(&first, half.max((room - 3).saturating_sub(second.chars().count())));
            let rest = room - 3 - first.chars().count();
            format!("{first} | {}", shorten(&second, rest))
        }
        Some(_) | None => shorten(&name, room).into_owned(),
    }
}

/// Replaces the words that both names begin with by `…`, and returns both names.
fn without_common_start(first: &str, second: &str) -> (String, String) {
    let pairs = first.char_indices().zip(second.chars());
    let same = pairs.take_while(|((_, a), b)| a == b).map(|(pair, _)| pair);
    let word_end = same.filter(|(_, letter)| !letter.is_alphanumeric()).last();
    match word_end.map(|(at, letter)| at + letter.len_utf8()) {
        Some(end) if end > 4 => (format!("…{}", &first[end..]), format!("…{}", &second[end..])),
        Some(_) | None => (first.to_owned(), second.to_owned()),
    }
}

/// Pads a string with spaces to `room` characters.
pub(super) fn pad(text: &str, room: usize) -> String {
    let missing = room.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_names_of_a_renamed_call_stay_readable() {
        assert_eq!(fit("a | b", 20), "a | b");
        let name = "engine: MiopenNormBackward0 | engine: CudnnNormBackward0";
        assert_eq!(fit(name, 60), name);
        assert_eq!(fit(name, 45), "…MiopenNormBackward0 | …CudnnNormBackward0");
        assert_eq!(fit(name, 33), "…Miop…Backward0 | …Cudn…Backward0");
        assert_eq!(fit("short | a long name with many words", 20), "short | a lo…y words");
        assert_eq!(fit("a name\nof two lines", 12), "a na…o lines");
    }
}
