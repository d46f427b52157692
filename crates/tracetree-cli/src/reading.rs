//! `--strict`, `--max-unpacked` and `--anonymize`: options that control how every command reads its traces.

use super::headings;
use clap::Args;
use tracetree::trace::{Anonymizer, ReadOptions};

#[derive(Args)]
pub(super) struct ReadingArgs {
    /// Reject damaged traces instead of repairing them. In model-diff, exit with 2 if a scenario is skipped
    /// because one of its files is missing.
    #[arg(long, global = true, help_heading = headings::GLOBAL)]
    strict: bool,
    /// Maximum unpacked size of a trace (`500MB`, `8GB`). Default: 64 MiB plus 200 times the file size.
    #[arg(long, global = true, value_name = "SIZE", value_parser = bytes, help_heading = headings::GLOBAL)]
    max_unpacked: Option<u64>,
    /// Replace folders above the project, users and hosts with pseudonyms in everything that is written. Further names
    /// can be listed: --anonymize=NAME,NAME.
    #[arg(long, global = true, value_name = "NAME", num_args = 0.., require_equals = true, value_delimiter = ',', help_heading = headings::GLOBAL)]
    anonymize: Option<Vec<String>>,
}

impl ReadingArgs {
    pub(super) fn options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        (options.strict, options.max_unpacked) = (self.strict, self.max_unpacked);
        match &self.anonymize {
            Some(names) => options.anonymize(anonymizer(names)),
            None => options,
        }
    }
}

/// The anonymizer for the given names, and for the names in the arguments of the command, which include the paths of the
/// inputs on both sides.
fn anonymizer(names: &[String]) -> Anonymizer {
    let anonymizer = names.iter().fold(Anonymizer::default(), |all, name| all.with_name(name));
    let arguments = std::env::args_os().skip(1);
    arguments.fold(anonymizer, |all, argument| all.with_names_in(&argument.to_string_lossy()))
}

/// Parses a size: `500MB`, `1.5GB`, or a number of bytes.
fn bytes(text: &str) -> Result<u64, String> {
    let units = [("KB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)];
    let found = units.iter().find_map(|&(unit, scale)| Some((text.strip_suffix(unit)?, scale)));
    let (number, scale) = found.unwrap_or((text, 1.0));
    let number: Option<f64> = number.trim().parse().ok();
    let number = number.filter(|number| number.is_finite() && *number >= 0.0);
    number
        .map(|number| (number * scale) as u64)
        .ok_or_else(|| format!("`{text}` is not a size; write 500MB, 8GB or a number of bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_unit_or_is_in_bytes() {
        assert_eq!(bytes("500MB"), Ok(500_000_000));
        assert_eq!(bytes("1.5 GB"), Ok(1_500_000_000));
        assert_eq!(bytes("4096"), Ok(4096));
        for text in ["", "GB", "-1GB", "infGB", "five"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
