//! Parses dates such as `2027-01-31`, which can be compared with today's date.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};
use tracetree::error::{Error, Result};

/// A calendar day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: i64,
    month: u8,
    day: u8,
}

impl Date {
    /// Today, in UTC.
    pub fn today() -> Date {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Date::of_days((since.as_secs() / 86_400) as i64)
    }

    /// The date `days` days after 1970-01-01.
    fn of_days(days: i64) -> Date {
        let mut year = 1970 + days / 366;
        while days_before(year + 1) <= days {
            year += 1;
        }
        let mut left = days - days_before(year);
        let mut month = 1;
        while left >= i64::from(length(year, month)) {
            left -= i64::from(length(year, month));
            month += 1;
        }
        Date { year, month, day: left as u8 + 1 }
    }
}

fn is_leap(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

/// Number of days from 1970-01-01 to January 1 of a year.
fn days_before(year: i64) -> i64 {
    let past = year - 1;
    let leaps = past / 4 - past / 100 + past / 400;
    365 * (year - 1970) + leaps - (1969 / 4 - 1969 / 100 + 1969 / 400)
}

fn length(year: i64, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

impl FromStr for Date {
    type Err = Error;

    fn from_str(text: &str) -> Result<Date> {
        let refused =
            || Error::usage(text, "is not a date").remedy("write a date such as 2027-01-31");
        let parts: Vec<&str> = text.trim().split('-').collect();
        let &[year, month, day] = parts.as_slice() else { return Err(refused()) };
        if (year.len(), month.len(), day.len()) != (4, 2, 2) {
            return Err(refused());
        }
        let year: i64 = year.parse().map_err(|_| refused())?;
        let month: u8 = month.parse().map_err(|_| refused())?;
        let day: u8 = day.parse().map_err(|_| refused())?;
        let is_day = (1..=12).contains(&month) && (1..=length(year, month)).contains(&day);
        is_day.then_some(Date { year, month, day }).ok_or_else(refused)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let day = |days| Date::of_days(days).to_string();
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(59), "1970-03-01");
        assert_eq!(day(11_016), "2000-02-29");
        assert_eq!(day(20_819), "2027-01-01");
        assert_eq!(day(20_818), "2026-12-31");
        let read = |text: &str| text.parse::<Date>().expect("a day");
        assert!(read("2027-01-31") > read("2026-12-31"));
        for text in ["2027-02-29", "2027-13-01", "27-01-01", "tomorrow", "2027-1-31"] {
            assert!(text.parse::<Date>().is_err(), "{text}");
        }
    }
}
