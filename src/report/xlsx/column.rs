//! The cells of a column as text → what the column holds, how wide it is, how it is shown.

/// What all cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Names, shapes and lists.
    Text,
    /// Whole numbers: counts, uids, ids.
    Whole,
    /// Times and ratios.
    Decimal,
    /// Decimal, and more is worse: coloured by sign.
    Difference,
}

/// What a column holds, by its name and its cells. Names of traces can look like numbers, so that
/// columns of names are text whatever stands in them.
pub(super) fn content<'a>(title: &str, cells: impl Iterator<Item = &'a str> + Clone) -> Content {
    let filled = || cells.clone().filter(|cell| !cell.is_empty());
    let is_name = title.ends_with("name") || title.to_lowercase().contains("input");
    if is_name || filled().next().is_none() || filled().any(|cell| number(cell).is_none()) {
        return Content::Text;
    }
    let is_difference = title.starts_with("diff") || title.starts_with("delta");
    match filled().all(|cell| !cell.contains('.')) {
        _ if is_difference => Content::Difference,
        true => Content::Whole,
        false => Content::Decimal,
    }
}

/// A cell as a number; only the plain forms that our tables write.
pub(super) fn number(cell: &str) -> Option<f64> {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let plain = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    cell.parse().ok().filter(|_| plain)
}

/// Width in characters for a column: its longest cell within reason.
pub(super) fn width<'a>(title: &str, cells: impl Iterator<Item = &'a str>) -> f64 {
    let longest = cells.take(500).map(|cell| cell.chars().count()).max().unwrap_or_default();
    // Room for the button of the filter beside the title.
    longest.max(title.chars().count() + 3).clamp(8, 48) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(title: &str, cells: &[&str]) -> Content {
        content(title, cells.iter().copied())
    }

    #[test]
    fn a_column_is_what_all_its_cells_are() {
        assert_eq!(of("row_count", &["1", "", "25"]), Content::Whole);
        assert_eq!(of("kernel_time_trace1", &["1.500", "0.000"]), Content::Decimal);
        assert_eq!(of("diff_sum_ms", &["-1.5"]), Content::Difference);
        assert_eq!(of("presence", &["both", "1"]), Content::Text);
        assert_eq!(of("ratio", &["", ""]), Content::Text);
    }

    #[test]
    fn a_name_that_looks_like_a_number_is_text() {
        assert_eq!(of("name", &["1", "2"]), Content::Text);
        assert_eq!(of("Input Dims", &["1"]), Content::Text);
        for cell in ["inf", "NaN", "1e5", "+1", "-", "", "=1", ".5"] {
            assert_eq!(number(cell), None, "{cell}");
        }
    }

    #[test]
    fn a_width_stays_within_reason() {
        assert_eq!(width("a", ["bc"].into_iter()), 8.0);
        assert_eq!(width("a", ["b".repeat(900).as_str()].into_iter()), 48.0);
    }
}
