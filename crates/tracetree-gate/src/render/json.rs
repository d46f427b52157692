//! Renders a [`Gate`] as JSON for programs, following `docs/reference/schemas/gate.schema.json`.

use crate::check::{Check, Finding, FindingSite, Floor, Gate, Outcome, State};
use crate::place::Site;
use serde::Serialize;
use std::io::{self, Write};
use tracetree::escape::JsonWriter;
use tracetree::program::Evidence;

/// Version of the JSON output, incremented when a field changes its meaning.
const SCHEMA: u32 = 2;

#[derive(Serialize)]
struct GateJson<'g> {
    schema_version: u32,
    outcome: Outcome,
    exit_code: u8,
    headline: String,
    runs: Sides,
    steps: Sides,
    findings: Vec<FindingJson<'g>>,
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
    findings: &'g [usize],
}

#[derive(Serialize)]
struct FindingJson<'g> {
    state: State,
    kind: &'g str,
    rules: &'g [String],
    what: &'g str,
    before: &'g str,
    after: &'g str,
    limit: &'g str,
    evidence: &'g [String],
    sites: Vec<PlaceJson<'g>>,
    remark: &'g str,
    command: String,
}

#[derive(Serialize)]
struct PlaceJson<'g> {
    place: String,
    path: Vec<PartJson<'g>>,
    phase: &'g str,
    what: &'g str,
    calls: u64,
    site: Option<SiteJson<'g>>,
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
        findings: gate.findings.iter().map(|finding| finding_json(gate, finding)).collect(),
        checks: gate.checks.iter().map(check_json).collect(),
        reasons: &gate.reasons,
        notes: &gate.notes,
        noise: &gate.floors,
        evidence: EvidenceJson {
            baseline: &gate.evidence.baseline,
            candidate: &gate.evidence.candidate,
        },
    };
    serde_json::to_writer_pretty(JsonWriter(out), &json)?;
    writeln!(out)
}

fn check_json(check: &Check) -> CheckJson<'_> {
    CheckJson {
        rule: &check.rule,
        scope: &check.scope,
        severity: check.severity.label(),
        state: check.state,
        message: &check.message,
        findings: &check.findings,
    }
}

fn finding_json<'g>(gate: &'g Gate, finding: &'g Finding) -> FindingJson<'g> {
    FindingJson {
        state: finding.state,
        kind: &finding.kind,
        rules: &finding.rules,
        what: &finding.what,
        before: &finding.before,
        after: &finding.after,
        limit: &finding.limit,
        evidence: &finding.evidence,
        sites: finding.sites.iter().map(place_json).collect(),
        remark: &finding.remark,
        command: gate.command(finding),
    }
}

fn place_json(site: &FindingSite) -> PlaceJson<'_> {
    let part = |(word, name)| PartJson { word, name };
    let path = site.place.path.iter().map(|(word, name)| (word.label(), name.as_str()));
    PlaceJson {
        place: site.place.words(),
        path: path.map(part).collect(),
        phase: &site.place.phase,
        what: &site.what,
        calls: site.calls,
        site: site.line.as_ref().map(site_json),
    }
}

fn site_json(site: &Site) -> SiteJson<'_> {
    SiteJson { file: &site.file, line: site.line, function: &site.function }
}
