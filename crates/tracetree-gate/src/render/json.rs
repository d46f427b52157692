//! Renders a [`Gate`] as JSON for programs, following `docs/reference/schemas/gate.schema.json`.

use crate::check::{Check, Finding, Floor, Gate, Outcome};
use serde::Serialize;
use std::io::{self, Write};
use tracetree::escape::JsonWriter;
use tracetree::program::Evidence;
use tracetree::side::PerSide;

/// Version of the JSON output, incremented when a field changes its meaning.
const SCHEMA: u32 = 2;

#[derive(Serialize)]
struct GateJson<'g> {
    schema_version: u32,
    outcome: Outcome,
    exit_code: u8,
    headline: String,
    runs: PerSide<u64>,
    steps: PerSide<u64>,
    findings: Vec<FindingJson<'g>>,
    checks: &'g [Check],
    reasons: &'g [String],
    notes: &'g [String],
    noise: &'g [Floor],
    evidence: &'g PerSide<Vec<Evidence>>,
}

/// A finding, and the command that shows it.
#[derive(Serialize)]
struct FindingJson<'g> {
    #[serde(flatten)]
    finding: &'g Finding,
    command: String,
}

pub(super) fn write(gate: &Gate, out: &mut dyn Write) -> io::Result<()> {
    let finding = |finding| FindingJson { finding, command: gate.command(finding) };
    let json = GateJson {
        schema_version: SCHEMA,
        outcome: gate.outcome,
        exit_code: gate.outcome.exit_code(),
        headline: gate.headline(),
        runs: gate.runs,
        steps: gate.steps,
        findings: gate.findings.iter().map(finding).collect(),
        checks: &gate.checks,
        reasons: &gate.reasons,
        notes: &gate.notes,
        noise: &gate.floors,
        evidence: &gate.evidence,
    };
    serde_json::to_writer_pretty(JsonWriter(out), &json)?;
    writeln!(out)
}
