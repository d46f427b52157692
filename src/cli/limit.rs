//! How thresholds are written, in every option: `5%` of something, `200us`, `1.5ms` or `2s`.

use std::str::FromStr;
use tracetree::PerSide;
use tracetree::trace::Nanos;

/// How much longer the candidate may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limit {
    Percent(f64),
    Time(Nanos),
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Limit, String> {
        let units = [("%", 0.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
        let (number, scale) = units
            .iter()
            .find_map(|&(unit, scale)| Some((text.strip_suffix(unit)?, scale)))
            .ok_or_else(|| format!("`{text}` has no unit; write 5%, 200us, 1.5ms or 2s"))?;
        let value: f64 = number
            .trim()
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite() && *value >= 0.0)
            .ok_or_else(|| format!("`{number}` is no number of at least 0"))?;
        Ok(match scale {
            0.0 => Limit::Percent(value),
            scale => Limit::Time(Nanos((value * scale).round() as i64)),
        })
    }
}

/// A share: `5%`, or `0.05`.
pub(super) fn share(text: &str) -> Result<f64, String> {
    if let Ok(Limit::Percent(percent)) = text.parse() {
        return Ok(percent / 100.0);
    }
    let share: Option<f64> = text.trim().parse().ok();
    share
        .filter(|share| share.is_finite() && *share >= 0.0)
        .ok_or_else(|| format!("`{text}` is no share; write 5% or 0.05"))
}

/// A share that is no more than all: `95%`, or `0.95`.
pub(super) fn part(text: &str) -> Result<f64, String> {
    let share = share(text)?;
    (share <= 1.0).then_some(share).ok_or_else(|| format!("`{text}` is more than all; write 95%"))
}

/// A time: `50us`, `1.5ms`; a number alone is in µs.
pub(super) fn time(text: &str) -> Result<Nanos, String> {
    let is_number = text.trim().parse::<f64>().is_ok();
    let with_unit = if is_number { format!("{}us", text.trim()) } else { text.to_owned() };
    match with_unit.parse() {
        Ok(Limit::Time(time)) => Ok(time),
        Ok(Limit::Percent(_)) | Err(_) => {
            Err(format!("`{text}` is no time of at least 0; write 50us, 1.5ms or 2s"))
        }
    }
}

impl Limit {
    pub(super) fn is_passed(self, time: PerSide<Nanos>) -> bool {
        match self {
            Limit::Time(most) => time.difference() > most,
            Limit::Percent(percent) => {
                time.difference().0 as f64 > time.baseline.0 as f64 * percent / 100.0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_has_a_unit() {
        assert_eq!("5%".parse(), Ok(Limit::Percent(5.0)));
        assert_eq!("1.5ms".parse(), Ok(Limit::Time(Nanos(1_500_000))));
        assert_eq!("2s".parse(), Ok(Limit::Time(Nanos(2_000_000_000))));
        assert!("5".parse::<Limit>().is_err());
        assert!("-5%".parse::<Limit>().is_err());
        assert!("nan%".parse::<Limit>().is_err());
    }

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
