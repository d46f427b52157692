//! Finds out which rank of a distributed job a trace was recorded on.

use crate::trace::Header;

/// The rank by the content of a trace or, if the content does not say it, by the file name.
#[doc(hidden)]
pub fn rank_of(header: &Header, source: &str) -> Option<i64> {
    let stated = header.distributed.as_ref().and_then(|group| group.rank);
    stated.or_else(|| rank_of_name(source))
}

/// The number after `rank` in a file name such as `rank_3.json.gz`, `trace-rank12.json` or `run1.rank0.pt.trace.json`, or
/// in the names that SGLang (`…-TP-0.trace.json.gz`) and Accelerate (`profile_0.json`) give.
fn rank_of_name(path: &str) -> Option<i64> {
    let name = path.rsplit(['/', '\\']).next()?.to_lowercase();
    let number = |rest: &str| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse::<i64>().ok()
    };
    let after = |word: &str| {
        let at = name.rfind(word)?;
        let is_word = !name[..at].ends_with(|before: char| before.is_alphabetic());
        number(name[at + word.len()..].trim_start_matches(['_', '-', '.', '='])).filter(|_| is_word)
    };
    let accelerate = || number(name.strip_prefix("profile_")?);
    after("rank").or_else(|| after("-tp-")).or_else(accelerate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_in_a_file_name_follows_the_word() {
        assert_eq!(rank_of_name("job/rank_3.json.gz"), Some(3));
        assert_eq!(rank_of_name("trace-rank12.json"), Some(12));
        assert_eq!(rank_of_name("run1.Rank0.pt.trace.json"), Some(0));
        assert_eq!(rank_of_name("1761-TP-3.trace.json.gz"), Some(3));
        assert_eq!(rank_of_name("out/profile_2.json"), Some(2));
        assert_eq!(rank_of_name("http-1.json"), None);
        assert_eq!(rank_of_name("profile_before.json"), None);
        assert_eq!(rank_of_name("rank_7/frank1.json"), None);
        assert_eq!(rank_of_name("ranked.json"), None);
    }
}
