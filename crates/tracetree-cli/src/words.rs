//! Formats counts with their nouns for use in sentences.

/// Formats a count with its noun: `1 rank`, `2 ranks`, `2 batches`.
pub(super) fn counted(count: u64, noun: &str) -> String {
    let plural = if noun.ends_with("ch") { "es" } else { "s" };
    format!("{count} {noun}{}", if count == 1 { "" } else { plural })
}
