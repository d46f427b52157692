//! Formats differences with a sign and a fixed number of decimals.

/// A difference with a sign and the given number of decimals: `+1.000`, `−1.000`, or `±0.000` if it rounds to zero.
pub fn signed(difference: f64, decimals: usize) -> String {
    let sign = match (rounds_to_zero(difference, decimals), difference < 0.0) {
        (true, _) => "±",
        (false, true) => "−",
        (false, false) => "+",
    };
    format!("{sign}{:.decimals$}", difference.abs())
}

/// Whether all digits of a number with this many decimals are zero.
pub fn rounds_to_zero(number: f64, decimals: usize) -> bool {
    format!("{:.decimals$}", number.abs()).bytes().all(|byte| matches!(byte, b'0' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::signed;

    #[test]
    fn a_difference_that_rounds_to_zero_has_no_direction() {
        assert_eq!(
            [1.0, -1.0, -0.0004, 0.0].map(|value| signed(value, 3)),
            ["+1.000", "−1.000", "±0.000", "±0.000"]
        );
        assert_eq!(signed(-0.5, 0), "±0");
    }
}
