//! Parses the thresholds in command-line options: percentages such as `5%`, and times such as
//! `200us`, `1.5ms` or `2s`.

use tracetree::trace::Nanos;
use tracetree_gate::Limit;

/// Parses a fraction: `5%`, or `0.05`.
pub(super) fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(Limit::Percent(percent)) => Ok(percent / 100.0),
        Ok(Limit::Count(share)) => Ok(share),
        Ok(Limit::Micros(_) | Limit::Bytes(_)) | Err(_) => {
            Err(format!("`{text}` is not a percentage or fraction; write 5% or 0.05"))
        }
    }
}

/// Parses a fraction of at most 100%: `95%`, or `0.95`.
pub(super) fn part(text: &str) -> Result<f64, String> {
    let share = share(text)?;
    (share <= 1.0)
        .then_some(share)
        .ok_or_else(|| format!("`{text}` is more than 100%; write a percentage such as 95%"))
}

/// Parses a time: `50us`, `1.5ms`; a bare number is in µs.
pub(super) fn time(text: &str) -> Result<Nanos, String> {
    match text.parse() {
        Ok(Limit::Micros(micros) | Limit::Count(micros)) => {
            Ok(Nanos((micros * 1e3).round() as i64))
        }
        Ok(Limit::Percent(_) | Limit::Bytes(_)) | Err(_) => {
            Err(format!("`{text}` is not a time of at least 0; write 50us, 1.5ms or 2s"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_times_are_written_as_limits_are() {
        assert_eq!((share("5%"), share("0.05")), (Ok(0.05), Ok(0.05)));
        assert_eq!((time("50us"), time("50")), (Ok(Nanos(50_000)), Ok(Nanos(50_000))));
        assert_eq!((part("95%"), part("0.95"), part("100%")), (Ok(0.95), Ok(0.95), Ok(1.0)));
        assert!(part("101%").is_err() && part("95").is_err() && part("-1%").is_err());
        assert_eq!(time("1.5ms"), Ok(Nanos(1_500_000)));
        for text in ["", "-5%", "five", "nan", "5 parsecs"] {
            assert!(share(text).is_err() && time(text).is_err(), "{text}");
        }
        assert!(share("5ms").is_err() && time("5%").is_err());
    }
}
