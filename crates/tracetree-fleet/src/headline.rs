//! Derives the headline of a [`Fleet`] from its findings: for example, which rank is slow, or what changed.

use super::Fleet;
use super::findings::{ENVIRONMENT, name};
use super::rows::{Finding, OutlierRow};
use super::slowed::{RankChange, Slowed};
use tracetree::program::counted;
use tracetree::report::Unit;
use tracetree::side::{PerSide, Side};
use tracetree::trace::Nanos;

/// The most important result for a fleet, as a short text for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headline {
    /// The headline, as a sentence without a full stop.
    pub text: String,
    /// The reason, as a sentence without a full stop; may be empty.
    pub reason: String,
    /// The folder of the rank that the headline is about; `None` if it is about several ranks or none.
    pub rank: Option<String>,
    /// Whether the headline says that a rank is slow or got slower.
    pub is_slow: bool,
}

impl Fleet {
    /// Builds the headline from the first result that exists, in this order: shards that are not visible, a rank that
    /// got slower, a rank that is slow now, different work, another environment, a change, another speed, a rank that has
    /// always been slow.
    pub fn headline(&self) -> Headline {
        let with = |codes: &[&str]| -> Option<&Finding> {
            codes.iter().find_map(|code| self.findings.iter().find(|one| one.code == *code))
        };
        let folder = |one: &Finding| {
            let row = self.ranks.iter().find(|row| name(row) == one.ranks);
            row.map(|row| row.folder.clone())
        };
        let headline = |text: String, one: &Finding| Headline {
            text,
            reason: one.message.clone(),
            rank: folder(one),
            is_slow: false,
        };
        let slow = |text: String, one| Headline { is_slow: true, ..headline(text, one) };
        if let Some(one) = with(&["SHARD_NOT_VISIBLE"]) {
            let ranks = counted(one.count, "compared rank");
            return headline(format!("The results of {ranks} are not in this folder"), one);
        }
        if let Some(slowed) = self.slowed().first() {
            let text = got_slower(slowed);
            let name = name(slowed.change.row);
            let is_about = |one: &&Finding| {
                ["STRAGGLER", "STRAGGLER_BEFORE", "GOT_SLOWER"].contains(&&*one.code)
                    && one.ranks == name
            };
            return match self.findings.iter().find(is_about) {
                Some(one) => slow(text, one),
                None => {
                    let rank = Some(slowed.change.row.folder.clone());
                    Headline { text, reason: String::new(), rank, is_slow: true }
                }
            };
        }
        if let Some(one) = with(&["STRAGGLER"]) {
            return slow(format!("Rank {} is slow: the other ranks wait for it", one.ranks), one);
        }
        if let Some(one) = with(&["OUTLIER"]) {
            return match self.slow_op(one) {
                Some(text) => slow(text, one),
                None => headline(format!("Rank {} differs from its role", one.ranks), one),
            };
        }
        if let Some(one) = with(&["COLLECTIVE_MISSING", "OTHER_OPS"]) {
            return headline(format!("Rank {} runs different work", one.ranks), one);
        }
        if let Some(one) = with(&[ENVIRONMENT]) {
            let ranks = counted(one.count, "rank");
            return headline(format!("The environment differs on {ranks}"), one);
        }
        if let Some(one) = with(&["CHANGE"]) {
            return headline(format!("The program changed on {}", counted(one.count, "rank")), one);
        }
        if let Some(one) = with(&["SPEED"]) {
            let ranks = match one.count {
                1 => format!("Rank {}", one.ranks),
                count => counted(count, "rank"),
            };
            return headline(format!("{ranks} changed speed"), one);
        }
        if let Some(one) = with(&["STRAGGLER_BEFORE"]) {
            return slow(format!("Rank {} is slow, as in the baseline", one.ranks), one);
        }
        Headline {
            text: "No rank stands out".to_owned(),
            reason: String::new(),
            rank: None,
            is_slow: false,
        }
    }

    /// The op in which an outlier differs most: `Rank 7 is slow: aten::mm takes 1.30× the median of its role`. `None` if
    /// the outlier is not slow.
    fn slow_op(&self, finding: &Finding) -> Option<String> {
        let rank = &finding.ranks;
        let is_its = |one: &&OutlierRow| {
            one.side == Side::Candidate
                && one.kind == "op"
                && one.time_us > one.median_us
                && one.rank.map_or(one.folder == *rank, |number| number.to_string() == *rank)
        };
        let one = self.outliers.iter().find(is_its).filter(|one| one.median_us > 0.0)?;
        let ratio = one.time_us / one.median_us;
        Some(format!("Rank {rank} is slow: {} takes {ratio:.2}× the median of its role", one.name))
    }
}

/// A rank that got slower, such as `Rank 7 got slower: 1.30× its baseline (+2.150 ms per step), most of it in aten::mm`.
fn got_slower(slowed: &Slowed<'_>) -> String {
    let op = slowed.ops.first().map(|op| format!(", most of it in {}", op.name));
    let RankChange { row, ratio, .. } = slowed.change;
    let own = PerSide::from_fn(|side| Nanos((1e3 * row.own_step_us(side)).round() as i64));
    format!(
        "Rank {} got slower: {ratio:.2}× its baseline ({} ms per step){}",
        name(row),
        Unit::Millis.show_signed(own.candidate - own.baseline),
        op.unwrap_or_default()
    )
}
