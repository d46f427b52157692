//! Finds out which rank of a distributed job a trace was recorded on.

use crate::trace::Trace;

/// The rank by the content of the trace or, if the content does not say it, by the file name.
pub(super) fn rank(trace: &Trace) -> Option<i64> {
    let stated = trace.header().distributed.as_ref().and_then(|group| group.rank);
    stated.or_else(|| rank_of_name(trace.source()))
}

/// The number after `rank` in a file name such as `rank_3.json.gz`, `trace-rank12.json` or `run1.rank0.pt.trace.json`.
fn rank_of_name(path: &str) -> Option<i64> {
    let name = path.rsplit(['/', '\\']).next()?.to_lowercase();
    let at = name.rfind("rank")?;
    let is_word = !name[..at].ends_with(|before: char| before.is_alphabetic());
    let rest = name[at + "rank".len()..].trim_start_matches(['_', '-', '.', '=']);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok().filter(|_| is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_in_a_file_name_follows_the_word() {
        assert_eq!(rank_of_name("job/rank_3.json.gz"), Some(3));
        assert_eq!(rank_of_name("trace-rank12.json"), Some(12));
        assert_eq!(rank_of_name("run1.Rank0.pt.trace.json"), Some(0));
        assert_eq!(rank_of_name("rank_7/frank1.json"), None);
        assert_eq!(rank_of_name("ranked.json"), None);
    }
}
