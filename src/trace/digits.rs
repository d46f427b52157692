//! Numbers → their digits, at the end of a text: a report has a million of them.

/// Appends a whole number.
pub(crate) fn push_whole(text: &mut String, number: i64) {
    text.push_str(itoa::Buffer::new().format(number));
}

/// Appends ±`whole` / 10^`decimals` with so many decimals, of which there are at most eight.
pub(crate) fn push_fixed(text: &mut String, is_negative: bool, whole: u64, decimals: usize) {
    const ZEROS: &str = "00000000";
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(whole);
    let (before, behind) = digits.split_at(digits.len().saturating_sub(decimals));
    if is_negative {
        text.push('-');
    }
    text.push_str(if before.is_empty() { "0" } else { before });
    if decimals > 0 {
        text.push('.');
        text.push_str(&ZEROS[behind.len()..decimals]);
        text.push_str(behind);
    }
}
