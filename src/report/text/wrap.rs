//! Wraps long text for a terminal: lines break between words but never inside a figure.
//!
//! A figure is a number with its unit and arrow, such as `22 → 30 %`, and is hard to read if split across two lines.

use super::figures::shorten;

/// Units that stay on the same line as the number before them.
const UNITS: [&str; 10] =
    ["%", "s", "ms", "us", "µs", "TB/s", "GB/s", "TFLOP/s", "GFLOP/s", "TOP/s"];

/// The line width of an output, and whether text that does not fit may be shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// A screen with this many columns. Text that does not fit is shortened.
    // Only the command line writes to screens.
    Screen(usize),
    /// A file or a program that reads the output. Lines have about this many columns, and nothing is omitted.
    Pipe(usize),
}

impl Width {
    /// The number of columns per line. The value is at least 40, because the layouts need at least 40 columns.
    pub fn columns(self) -> usize {
        match self {
            Width::Screen(columns) | Width::Pipe(columns) => columns.max(40),
        }
    }

    /// Whether text is always printed in full.
    pub fn is_whole(self) -> bool {
        matches!(self, Width::Pipe(_))
    }

    /// Splits text into lines that are indented by `indent` columns. A screen shows at most `most` lines, and the last
    /// line ends with `…` if text was omitted.
    pub fn lines(self, text: &str, indent: usize, most: usize) -> Vec<String> {
        let room = self.columns().saturating_sub(indent).max(16);
        let mut lines = wrapped(text, room);
        if self.is_whole() {
            return lines;
        }
        for line in &mut lines {
            *line = shorten(line, room).into_owned();
        }
        if lines.len() > most {
            lines.truncate(most);
            let last = lines.last_mut().expect("there is at least one line");
            *last = with_ellipsis(last, room);
        }
        lines
    }
}

/// Appends ` …` to the line, and drops trailing words if there is not enough space.
fn with_ellipsis(line: &str, room: usize) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    while words.len() > 1 && words.join(" ").chars().count() + 2 > room {
        words.pop();
    }
    format!("{} …", shorten(&words.join(" "), room.saturating_sub(2)))
}

/// Splits text into lines of at most `room` characters. A word longer than `room` gets its own
/// line.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in unbreakable(text) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(&word);
            }
            Some(_) | None => lines.push(word),
        }
    }
    lines
}

/// Splits text into words, but treats each figure as one word.
fn unbreakable(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let bare = word.trim_end_matches([',', ';', ':', '.', ')']);
        let belongs = words.last().is_some_and(|last: &String| {
            let is_after_number = ends_in_number(last);
            is_after_number && (word == "→" || UNITS.contains(&bare))
                || last.ends_with(" →") && bare.starts_with(|c: char| c.is_ascii_digit())
        });
        match words.last_mut() {
            Some(last) if belongs => {
                last.push(' ');
                last.push_str(word);
            }
            Some(_) | None => words.push(word.to_owned()),
        }
    }
    words
}

fn ends_in_number(word: &str) -> bool {
    word.ends_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_stays_in_one_line() {
        let text = "the device was idle 22 → 30 % of the step";
        assert_eq!(
            Width::Screen(40).lines(text, 12, 9),
            ["the device was idle", "22 → 30 % of the step"]
        );
        assert_eq!(wrapped("from 1.5 ms, or 12 %) on", 11), ["from", "1.5 ms, or", "12 %) on"]);
    }

    #[test]
    fn a_screen_says_that_more_follows_and_a_pipe_gets_everything() {
        let text = "one two three four five six seven eight nine ten eleven twelve";
        assert_eq!(Width::Screen(40).lines(text, 0, 1), ["one two three four five six seven …"]);
        assert_eq!(Width::Pipe(40).lines(text, 0, 1).join(" "), text);
        let word = "w".repeat(60);
        assert_eq!(Width::Screen(40).lines(&word, 0, 1)[0].chars().count(), 40);
        assert_eq!(Width::Pipe(40).lines(&word, 0, 1), [word]);
    }
}
