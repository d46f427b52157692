//! [`Gate`] → JSON for programs; `docs/gate.schema.json` says what it holds.

use crate::gate::check::{Check, Finding, Floor, Gate, Outcome, State};
use crate::gate::compare::Site;
use crate::program::Evidence;
use serde::Serialize;
use std::io::{self, Write};

/// Raised when a field changes its meaning.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct GateJson<'g> {
    schema_version: u32,
    outcome: Outcome,
    exit_code: u8,
    headline: String,
    runs: Sides,
    steps: Sides,
    checks: Vec<CheckJson<'g>>,
    reasons: &'g [String],
    notes: &'g [String],
    noise: &'g [Floor],
    evidence: EvidenceJson<'g>,
}

#[derive(Serialize)]
struct Sides {
    baseline: u64,
    candidate: u64,
}

/// What each run of a side measured.
#[derive(Serialize)]
struct EvidenceJson<'g> {
    baseline: &'g [Evidence],
    candidate: &'g [Evidence],
}

#[derive(Serialize)]
struct CheckJson<'g> {
    rule: &'g str,
    scope: &'g str,
    severity: &'static str,
    state: State,
    message: &'g str,
    findings: Vec<FindingJson<'g>>,
}

#[derive(Serialize)]
struct FindingJson<'g> {
    state: State,
    place: String,
    path: Vec<PartJson<'g>>,
    phase: &'g str,
    what: &'g str,
    before: &'g str,
    after: &'g str,
    limit: &'g str,
    evidence: &'g [String],
    site: Option<SiteJson<'g>>,
    remark: &'g str,
    command: String,
}

#[derive(Serialize)]
struct PartJson<'g> {
    word: &'static str,
    name: &'g str,
}

#[derive(Serialize)]
struct SiteJson<'g> {
    file: &'g str,
    line: u64,
    function: &'g str,
}

pub(super) fn write(gate: &Gate, out: &mut dyn Write) -> io::Result<()> {
    let sides = |[baseline, candidate]: [u64; 2]| Sides { baseline, candidate };
    let json = GateJson {
        schema_version: SCHEMA,
        outcome: gate.outcome,
        exit_code: gate.outcome.exit_code(),
        headline: gate.headline(),
        runs: sides(gate.runs),
        steps: sides(gate.steps),
        checks: gate.checks.iter().map(|check| check_json(gate, check)).collect(),
        reasons: &gate.reasons,
        notes: &gate.notes,
        noise: &gate.floors,
        evidence: EvidenceJson {
            baseline: &gate.evidence.baseline,
            candidate: &gate.evidence.candidate,
        },
    };
    serde_json::to_writer_pretty(&mut *out, &json)?;
    writeln!(out)
}

fn check_json<'g>(gate: &'g Gate, check: &'g Check) -> CheckJson<'g> {
    CheckJson {
        rule: &check.rule,
        scope: &check.scope,
        severity: check.severity.label(),
        state: check.state,
        message: &check.message,
        findings: check.findings.iter().map(|finding| finding_json(gate, finding)).collect(),
    }
}

fn finding_json<'g>(gate: &Gate, finding: &'g Finding) -> FindingJson<'g> {
    let part =
        |(word, name): &'g (crate::program::Word, String)| PartJson { word: word.label(), name };
    FindingJson {
        state: finding.state,
        place: finding.place.words(),
        path: finding.place.path.iter().map(part).collect(),
        phase: &finding.place.phase,
        what: &finding.what,
        before: &finding.before,
        after: &finding.after,
        limit: &finding.limit,
        evidence: &finding.evidence,
        site: finding.site.as_ref().map(site_json),
        remark: &finding.remark,
        command: gate.command(finding),
    }
}

fn site_json(site: &Site) -> SiteJson<'_> {
    SiteJson { file: &site.file, line: site.line, function: &site.function }
}
