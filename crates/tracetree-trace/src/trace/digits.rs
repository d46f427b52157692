//! Appends numbers to a string as decimal digits. A report may contain a million numbers, so
//! `format!` would be too slow.

/// Appends a whole number.
#[inline]
pub fn push_whole(text: &mut String, number: i64) {
    text.push_str(itoa::Buffer::new().format(number));
}

/// Appends ±`whole` / 10^`decimals` with exactly `decimals` (at most eight) decimal places.
pub fn push_fixed(text: &mut String, is_negative: bool, whole: u64, decimals: usize) {
    const ZEROS: &str = "00000000";
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(whole);
    if is_negative {
        text.push('-');
    }
    if digits.len() <= decimals {
        text.push_str(&ZEROS[..decimals + 1 - digits.len()]);
    }
    text.push_str(digits);
    if decimals > 0 {
        text.insert(text.len() - decimals, '.');
    }
}
