//! Derives the headline of a [`Fleet`] from its findings: for example, which rank is slow, or what changed.

use super::Fleet;
use super::rows::{Finding, RankRow};
use tracetree::analysis::robust::median;
use tracetree::program::counted;
use tracetree::side::Side;

/// The headline states a rank's ratio only if the ratio differs from 1 by at least this much.
const NOTABLE: f64 = 0.005;

/// The most important result for a fleet, as a short text for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headline {
    /// The headline, as a sentence without a full stop.
    pub text: String,
    /// The reason, as a sentence without a full stop; may be empty.
    pub reason: String,
}

impl Fleet {
    /// Builds the headline from the first kind of finding that exists, in this order: shards that are not visible, a
    /// slow rank, different work, a change, another speed.
    pub fn headline(&self) -> Headline {
        let with = |codes: &[&str]| -> Option<&Finding> {
            codes.iter().find_map(|code| self.findings.iter().find(|one| one.code == *code))
        };
        let headline = |text: String, one: &Finding| Headline { text, reason: one.message.clone() };
        if let Some(one) = with(&["SHARD_NOT_VISIBLE"]) {
            let ranks = counted(one.count, "compared rank");
            return headline(format!("The results of {ranks} are not in this folder"), one);
        }
        if let Some(one) = with(&["STRAGGLER", "STRAGGLER_BEFORE", "OUTLIER"]) {
            return headline(self.slow(one), one);
        }
        if let Some(one) = with(&["COLLECTIVE_MISSING", "OTHER_OPS"]) {
            return headline(format!("Rank {} runs different work", one.ranks), one);
        }
        if let Some(one) = with(&["CHANGE"]) {
            return headline(format!("The program changed on {}", counted(one.count, "rank")), one);
        }
        if let Some(one) = with(&["SPEED"]) {
            return headline(format!("{} changed speed", counted(one.count, "rank")), one);
        }
        Headline { text: "No rank stands out".to_owned(), reason: String::new() }
    }

    /// Formats the headline for a slow rank, such as `Rank 7 is slow: 1.30× the median of its role, most of it in
    /// aten::mm`.
    fn slow(&self, finding: &Finding) -> String {
        let name = &finding.ranks;
        let is_it =
            |row: &&RankRow| row.rank.map_or(row.folder == *name, |rank| rank.to_string() == *name);
        let Some(row) = self.ranks.iter().find(is_it) else {
            return format!("Rank {name} is slow");
        };
        let ratio = self.ratio(row).filter(|ratio| (ratio - 1.0).abs() > NOTABLE);
        let ratio = ratio.map(|ratio| format!("{ratio:.2}× the median of its role"));
        let longer = self.outliers.iter().find(|one| {
            one.side == Side::Candidate
                && one.kind == "op"
                && one.folder == row.folder
                && one.time_us > one.median_us
        });
        let op = longer.map(|one| format!("most of it in {}", one.name));
        let told: Vec<String> = ratio.into_iter().chain(op).collect();
        if told.is_empty() {
            format!("Rank {name} is slow")
        } else {
            format!("Rank {name} is slow: {}", told.join(", "))
        }
    }

    /// The rank's own GPU time per candidate step, divided by the median of its role.
    fn ratio(&self, row: &RankRow) -> Option<f64> {
        let own = |row: &RankRow| row.own_step_us(Side::Candidate);
        let same = self.ranks.iter().filter(|other| other.role == row.role && other.status == "ok");
        let middle = median(&same.map(own).collect::<Vec<_>>());
        (middle > 0.0).then(|| own(row) / middle)
    }
}
