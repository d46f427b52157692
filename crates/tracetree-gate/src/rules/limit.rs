//! Parses an allowed increase such as `5%`, `200us`, `1.5 ms`, `16GB` or `3`.

use std::fmt;
use std::str::FromStr;
use tracetree::error::{Error, Result};

/// An allowed increase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// An increase as a percentage of the baseline value.
    Percent(f64),
    /// An increase as a time in µs.
    Micros(f64),
    /// An increase as a number of bytes.
    Bytes(f64),
    /// An increase as a count.
    Count(f64),
}

/// Time units and their lengths in µs.
pub(super) const UNITS: [(&str, f64); 5] =
    [("ns", 1e-3), ("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("s", 1e6)];

/// Memory units and their sizes in bytes.
const BYTES: [(&str, f64); 7] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1048576.0),
    ("GiB", 1073741824.0),
];

impl FromStr for Limit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Limit> {
        let text = text.trim();
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        Limit::of(&text[..end], text[end..].trim())
    }
}

impl Limit {
    /// Creates a limit from a number and a unit.
    ///
    /// # Errors
    /// Fails if the number or the unit is invalid.
    pub fn of(number: &str, unit: &str) -> Result<Limit> {
        let value = number.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        let value = value.ok_or_else(|| {
            Error::usage(format!("{number}{unit}"), "is not a limit")
                .remedy("write 5%, 200us, 1.5ms, 2s or a count")
        })?;
        match unit {
            "" => Ok(Limit::Count(value)),
            "%" => Ok(Limit::Percent(value)),
            unit => {
                if let Some((_, size)) = BYTES.iter().find(|(known, _)| *known == unit) {
                    return Ok(Limit::Bytes(value * size));
                }
                let micros = UNITS.iter().find(|(known, _)| *known == unit);
                let micros = micros.ok_or_else(|| {
                    Error::usage(format!("{number}{unit}"), format!("unknown unit `{unit}`"))
                        .remedy(
                            "use %, a time unit (ns, us, ms, s) or a memory unit (kB, MB, GB, MiB, GiB); \
                             a count has no unit",
                        )
                })?;
                Ok(Limit::Micros(value * micros.1))
            }
        }
    }

    /// How much a value may increase over its baseline value `before`, in the unit of `before`.
    pub fn above(self, before: f64) -> f64 {
        match self {
            Limit::Percent(percent) => before * percent / 100.0,
            Limit::Micros(more) | Limit::Bytes(more) | Limit::Count(more) => more,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Limit::Percent(percent) => write!(f, "{percent}%"),
            Limit::Micros(micros) if micros >= 1e3 => write!(f, "{}ms", micros / 1e3),
            Limit::Micros(micros) => write!(f, "{micros}us"),
            Limit::Bytes(bytes) => write!(f, "{bytes}B"),
            Limit::Count(count) => write!(f, "{count}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_share_a_time_or_a_count() {
        let read = |text: &str| text.parse::<Limit>().expect("a limit");
        assert_eq!(read("5%"), Limit::Percent(5.0));
        assert_eq!(read("1.5 ms"), Limit::Micros(1500.0));
        assert_eq!(read("2s"), Limit::Micros(2e6));
        assert_eq!(read("3"), Limit::Count(3.0));
        assert_eq!(
            [read("1.5 MB"), read("2GiB")],
            [Limit::Bytes(1.5e6), Limit::Bytes(2147483648.0)]
        );
        for text in ["", "%", "-5%", "nan%", "5 parsecs", "1e400us"] {
            assert!(text.parse::<Limit>().is_err(), "{text}");
        }
        assert_eq!(Limit::Percent(5.0).above(200.0), 10.0);
    }
}
