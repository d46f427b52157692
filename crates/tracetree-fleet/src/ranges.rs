//! Formats lists of numbers for tables. Consecutive numbers are written as a range.

/// Formats numbers such as `#0-#3 #6`, where consecutive numbers are written as a range.
pub fn ranges(numbers: &[u64]) -> String {
    let mut found: Vec<(u64, u64)> = Vec::new();
    for &number in numbers {
        match found.last_mut().filter(|(_, last)| *last + 1 == number) {
            Some((_, last)) => *last = number,
            None => found.push((number, number)),
        }
    }
    let text = |(first, last): (u64, u64)| {
        if first == last { format!("#{first}") } else { format!("#{first}-#{last}") }
    };
    found.into_iter().map(text).collect::<Vec<_>>().join(" ")
}
