//! Parses a TOML file into [`Rules`], or reports the first error.

use super::budget::{phase, unknown};
use super::{
    Allow, Budget, Inconclusive, Limit, MISSING_IN_STEPS, MemoryMeasure, MemoryRule, Rule, Rules,
    Scope, Severity, StructureRule, TimeMeasure, TimeRule, Timing,
};
use serde::Deserialize;
use std::path::Path;
use std::str::FromStr;
use tracetree::error::{Error, ErrorKind, Result};
use tracetree::program::Obstacle;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    inconclusive: Option<String>,
    lost_launches: Option<String>,
    time: Option<String>,
    intermittent: Option<String>,
    #[serde(default)]
    tolerate: Vec<String>,
    #[serde(default)]
    rule: Vec<RuleTable>,
    #[serde(default)]
    budgets: Vec<String>,
    #[serde(default)]
    allow: Vec<AllowTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleTable {
    rule: String,
    path: Option<String>,
    phase: Option<String>,
    category: Option<String>,
    severity: Option<String>,
    allowed: Option<Number>,
    limit: Option<Number>,
    least: Option<String>,
    hard: Option<bool>,
}

/// A number in a rule file, such as `2` or `"5%"`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Whole(u32),
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowTable {
    rule: String,
    path: Option<String>,
    reason: String,
    until: Option<String>,
}

/// The result of parsing a part of the file. The error is a message, to which the caller adds the file name.
type Parsed<T> = std::result::Result<T, String>;

/// Maximum number of rules, of budgets and of `allow` entries. Each of them is looked up in both programs.
const MOST: usize = 1_000;

const OF_STEPS: &str = "is measured for whole steps only; remove the path, phase and category";
const TWICE: &str = "is given twice with the same scope; remove one of the two rules";

/// The message of a TOML error on one line, with its position in the text.
fn position(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().replace('\n', ", ");
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else { return message };
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    format!("line {line}, column {column}: {message}")
}

impl Rules {
    /// Reads a rule file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is not valid TOML, uses unknown names, or contains contradictory rules.
    pub fn read(path: impl AsRef<Path>) -> Result<Rules> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::io(path, "read the rules", error))?;
        Rules::parse(&text, path)
    }

    /// Parses rules. Error messages name the file as `path`.
    ///
    /// # Errors
    /// Fails if the file is not valid TOML, uses unknown names, or contains contradictory rules.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Rules> {
        let path = path.as_ref();
        match Rules::of_text(text) {
            Ok(rules) => Ok(Rules { file: path.display().to_string(), ..rules }),
            Err(message) => Err(Error::new(ErrorKind::Malformed, path, message)
                .remedy("docs/reference/gate-rules.md describes the rules")),
        }
    }

    fn of_text(text: &str) -> Parsed<Rules> {
        let file: File = toml::from_str(text).map_err(|error| position(text, &error))?;
        for (what, count) in [
            ("rules", file.rule.len()),
            ("budgets", file.budgets.len()),
            ("allow entries", file.allow.len()),
        ] {
            if count > MOST {
                return Err(format!("has {count} {what}; at most {MOST} can be checked"));
            }
        }
        let mut rules = Rules::default();
        if let Some(word) = &file.inconclusive {
            rules.inconclusive = inconclusive(word)?;
        }
        if let Some(word) = &file.intermittent {
            rules.intermittent = intermittent(word)?;
        }
        if let Some(word) = &file.time {
            rules.timing = timing(word)?;
        }
        if let Some(share) = &file.lost_launches {
            rules.lost_launches = match share.parse::<Limit>().map_err(|error| error.to_string())? {
                Limit::Percent(percent) => percent / 100.0,
                Limit::Micros(_) | Limit::Bytes(_) | Limit::Count(_) => {
                    return Err(format!("lost_launches: `{share}` is not a percentage; write 5%"));
                }
            };
        }
        for code in file.tolerate {
            let known: Vec<&str> =
                Obstacle::TOLERABLE.into_iter().chain([MISSING_IN_STEPS]).collect();
            if !known.contains(&code.as_str()) {
                return Err(format!("tolerate: {}", unknown("code", &code, &known)));
            }
            rules.tolerate.push(code);
        }
        for (at, table) in file.rule.iter().enumerate() {
            let named = |message: String| format!("rule {} ({}): {message}", at + 1, table.rule);
            rules.add(table).map_err(named)?;
        }
        for text in &file.budgets {
            let budget = Budget::parse(text, Severity::Error);
            rules.budgets.push(budget.map_err(|message| format!("budget `{text}`: {message}"))?);
        }
        for table in &file.allow {
            let named = |message: String| format!("allow ({}): {message}", table.rule);
            rules.allow.push(allow(table).map_err(named)?);
        }
        Ok(rules)
    }

    fn add(&mut self, table: &RuleTable) -> Parsed<()> {
        let scope = scope(table)?;
        let severity = table.severity.as_deref().map_or(Ok(Severity::Error), severity)?;
        if let Some(rule) = StructureRule::named(&table.rule) {
            if table.limit.is_some() || table.least.is_some() || table.hard.is_some() {
                return Err(
                    "a structural rule accepts `allowed`, but not `limit`, `least` or `hard`"
                        .into(),
                );
            }
            let allowed = table.allowed.as_ref().map(number).transpose()?;
            if matches!(allowed, Some(Limit::Micros(_) | Limit::Bytes(_))) {
                return Err("`allowed` must be a count or a percentage; write 2 or 5%".into());
            }
            let rule = Rule { rule, scope, allowed, severity };
            let is_same = |known: &Rule| known.rule == rule.rule && known.scope == rule.scope;
            if self.structure.iter().any(is_same) {
                return Err(TWICE.into());
            }
            self.structure.push(rule);
            return Ok(());
        }
        if let Some(measure) = MemoryMeasure::ALL.into_iter().find(|m| m.label() == table.rule) {
            return self.add_memory(measure, &scope, severity, table);
        }
        let Some(measure) = TimeMeasure::ALL.into_iter().find(|m| m.label() == table.rule) else {
            return Err(unknown("rule", &table.rule, &names()));
        };
        self.add_time(measure, scope, severity, table)
    }

    fn add_memory(
        &mut self,
        measure: MemoryMeasure,
        scope: &Scope,
        severity: Severity,
        table: &RuleTable,
    ) -> Parsed<()> {
        if !scope.is_all() {
            return Err(OF_STEPS.into());
        }
        if table.allowed.is_some() || table.least.is_some() || table.hard.is_some() {
            return Err(
                "a memory rule accepts `limit`, but not `allowed`, `least` or `hard`".into()
            );
        }
        let limit = limit(table, severity)?;
        match (measure, limit) {
            (_, Limit::Percent(_))
            | (MemoryMeasure::PeakMemory, Limit::Bytes(_))
            | (MemoryMeasure::AllocationsPerStep, Limit::Count(_)) => {}
            (MemoryMeasure::PeakMemory, Limit::Micros(_) | Limit::Count(_)) => {
                return Err(
                    "`limit` must be a percentage or a size; write 5%, 200MB or 1.5GiB".into()
                );
            }
            (MemoryMeasure::AllocationsPerStep, Limit::Micros(_) | Limit::Bytes(_)) => {
                return Err("`limit` must be a percentage or a count; write 5% or 20".into());
            }
        }
        if self.memory.iter().any(|known| known.measure == measure) {
            return Err(TWICE.into());
        }
        self.memory.push(MemoryRule { measure, limit, severity });
        Ok(())
    }

    fn add_time(
        &mut self,
        measure: TimeMeasure,
        scope: Scope,
        severity: Severity,
        table: &RuleTable,
    ) -> Parsed<()> {
        if !measure.is_of_places() && !scope.is_all() {
            return Err(OF_STEPS.into());
        }
        if table.allowed.is_some() {
            return Err("a time rule accepts `limit`, but not `allowed`".into());
        }
        let limit = limit(table, severity)?;
        if matches!(limit, Limit::Count(_) | Limit::Bytes(_)) {
            return Err("`limit` needs a unit; write 5%, 200us, 1.5ms or 2s".into());
        }
        let least_us = match optional::<Limit>(&table.least)? {
            Some(Limit::Micros(micros)) => micros,
            Some(Limit::Percent(_) | Limit::Bytes(_) | Limit::Count(_)) => {
                return Err("`least` must be a time; write least = \"50us\"".into());
            }
            None => 0.0,
        };
        let hard = table.hard.unwrap_or(false);
        let rule = TimeRule { measure, scope, limit, least_us, hard, severity, is_asked: true };
        let is_same = |known: &TimeRule| known.measure == measure && known.scope == rule.scope;
        if self.time.iter().any(|known| known.is_asked && is_same(known)) {
            return Err(TWICE.into());
        }
        self.time.retain(|known| known.is_asked || !is_same(known));
        self.time.push(rule);
        Ok(())
    }
}

impl FromStr for Inconclusive {
    type Err = Error;

    /// Parses the setting for rules that cannot be decided: `fail` or `pass`.
    fn from_str(word: &str) -> Result<Inconclusive> {
        inconclusive(word).map_err(|message| Error::usage(word, message))
    }
}

fn inconclusive(word: &str) -> Parsed<Inconclusive> {
    match word {
        "fail" => Ok(Inconclusive::Fails),
        "pass" => Ok(Inconclusive::Passes),
        word => Err(unknown("value of inconclusive:", word, &["fail", "pass"])),
    }
}

fn names() -> Vec<&'static str> {
    let structure = StructureRule::every().map(StructureRule::label);
    structure
        .chain(TimeMeasure::ALL.iter().map(|measure| measure.label()))
        .chain(MemoryMeasure::ALL.iter().map(|measure| measure.label()))
        .collect()
}

fn severity(word: &str) -> Parsed<Severity> {
    let found = Severity::ALL.into_iter().find(|severity| severity.label() == word);
    found.ok_or_else(|| unknown("severity", word, &Severity::ALL.map(Severity::label)))
}

fn intermittent(word: &str) -> Parsed<Severity> {
    match severity(word) {
        Ok(severity @ (Severity::Error | Severity::Warning)) => Ok(severity),
        Ok(Severity::Off) | Err(_) => {
            Err(unknown("value of intermittent:", word, &["error", "warning"]))
        }
    }
}

fn timing(word: &str) -> Parsed<Timing> {
    let found = Timing::ALL.into_iter().find(|timing| timing.label() == word);
    found.ok_or_else(|| unknown("value of time:", word, &Timing::ALL.map(Timing::label)))
}

fn number(number: &Number) -> Parsed<Limit> {
    match number {
        Number::Whole(count) => Ok(Limit::Count(f64::from(*count))),
        Number::Text(text) => text.parse::<Limit>().map_err(|error| error.to_string()),
    }
}

/// The limit of a rule. A rule that is switched off needs none.
fn limit(table: &RuleTable, severity: Severity) -> Parsed<Limit> {
    match (&table.limit, severity) {
        (Some(limit), _) => number(limit),
        (None, Severity::Off) => Ok(Limit::Percent(0.0)),
        (None, _) => Err("has no limit; write limit = \"5%\"".into()),
    }
}

fn optional<T: FromStr<Err = Error>>(text: &Option<String>) -> Parsed<Option<T>> {
    text.as_deref().map(str::parse::<T>).transpose().map_err(|error| error.to_string())
}

fn scope(table: &RuleTable) -> Parsed<Scope> {
    Ok(Scope {
        path: optional(&table.path)?,
        phase: table.phase.as_deref().map(phase).transpose()?,
        category: table.category.clone(),
    })
}

fn allow(table: &AllowTable) -> Parsed<Allow> {
    let mut known = names();
    known.push("budget");
    if !known.contains(&table.rule.as_str()) {
        return Err(unknown("rule", &table.rule, &known));
    }
    if table.reason.trim().is_empty() {
        return Err("the reason is empty; say why the violation is allowed".into());
    }
    Ok(Allow {
        rule: table.rule.clone(),
        path: optional(&table.path)?,
        reason: table.reason.clone(),
        until: optional(&table.until)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_contains_rules_budgets_and_exceptions() {
        let rules = Rules::of_text(
            r#"
            inconclusive = "pass"
            budgets = ['gpu_time{phase="decode"} < 12 ms']
            allow = [{ rule = "new_op", path = 'module("Block_1")', reason = "RFC 12", until = "2027-01-31" }]
            [[rule]]
            rule = "new_kernel"
            severity = "warning"
            [[rule]]
            rule = "kernels_per_call"
            path = 'module("Block_*") / op("aten::linear")'
            allowed = 1
            [[rule]]
            rule = "gpu_time"
            category = "gemm"
            limit = "3%"
            least = "20us"
            hard = true
            "#,
        )
        .expect("rules");
        assert_eq!(rules.inconclusive, Inconclusive::Passes);
        assert_eq!((rules.structure.len(), rules.budgets.len(), rules.allow.len()), (2, 1, 1));
        assert_eq!(rules.structure[1].allowed, Some(Limit::Count(1.0)));
        let asked: Vec<&TimeRule> = rules.time.iter().filter(|rule| rule.is_asked).collect();
        assert!(asked[0].hard && asked[0].least_us == 20.0);
    }

    #[test]
    fn errors_in_a_file_suggest_the_nearest_known_word() {
        for (text, reason) in [
            ("[[rule]]\nrule = \"new_kernal\"", "did you mean `new_kernel`?"),
            ("[[rules]]\nrule = \"new_op\"", "unknown field `rules`"),
            ("[[rule]]\nrule = \"new_op\"\npth = 'op(\"a\")'", "unknown field `pth`"),
            ("[[rule]]\nrule = \"new_op\"\npath = 'ops(\"a\")'", "did you mean `op`?"),
            ("[[rule]]\nrule = \"new_op\"\nseverity = \"warn\"", "did you mean `warning`?"),
            ("[[rule]]\nrule = \"new_op\"\nphase = \"decod\"", "did you mean `decode`?"),
            ("[[rule]]\nrule = \"new_op\"\nlimit = \"5%\"", "accepts `allowed`"),
            ("[[rule]]\nrule = \"new_op\"\n[[rule]]\nrule = \"new_op\"", "given twice"),
            ("[[rule]]\nrule = \"gpu_time\"", "has no limit"),
            ("[[rule]]\nrule = \"gpu_time\"\nlimit = 5", "needs a unit"),
            ("[[rule]]\nrule = \"gpu_time\"\nlimit = \"5MB\"", "needs a unit"),
            ("[[rule]]\nrule = \"peak_memory\"\nlimit = \"5ms\"", "a percentage or a size"),
            (
                "[[rule]]\nrule = \"allocations_per_step\"\nlimit = \"5MB\"",
                "a percentage or a count",
            ),
            ("[[rule]]\nrule = \"peak_memory\"", "has no limit"),
            (
                "[[rule]]\nrule = \"peak_memory\"\nlimit = \"5%\"\nphase = \"decode\"",
                "whole steps only",
            ),
            ("[[rule]]\nrule = \"idle\"\nlimit = \"5%\"\nphase = \"decode\"", "whole steps only"),
            ("allow = [{ rule = \"new_op\", reason = \" \" }]", "the reason is empty"),
            ("allow = [{ rule = \"new_op\", reason = \"x\", until = \"soon\" }]", "is not a date"),
            ("inconclusive = \"ignore\"", "unknown value of inconclusive"),
            ("budgets = [\"gpu_tim < 3ms\"]", "did you mean `gpu_time`?"),
            ("rule = 3", "invalid type"),
        ] {
            let error = Rules::of_text(text).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
