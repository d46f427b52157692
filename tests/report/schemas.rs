//! Tests that the published schemas in `docs/reference/schemas` describe the written files. The schema for a gate
//! report is checked in `tests/gate`.

use crate::support::root;
use crate::support::tracetree;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tracetree::report::{Report, SCHEMA_VERSION};
use tracetree::{Comparison, ComparisonOptions};

/// Pairs of traces with different contents: changes, no changes, warnings, no GPU, a compiled
/// region, a graph.
const PAIRS: [(&str, &str); 6] = [
    ("h100/resnet_eager.pt.trace", "h100/resnet_tf32_off.pt.trace"),
    ("h100/train_base.pt.trace", "h100/train_again.pt.trace"),
    ("resnet.rocm", "resnet.cuda"),
    ("cnn.pt.trace", "cnn_extra_op.pt.trace"),
    ("h100/tfm_flash.pt.trace", "h100/tfm_compiled.pt.trace"),
    ("h100/decode_eager.pt.trace", "h100/decode_graph.pt.trace"),
];

fn trace(name: &str) -> PathBuf {
    root().join(format!("examples/traces/{name}.json.gz"))
}

fn schema(name: &str) -> Value {
    let text = fs::read_to_string(root().join("docs/reference/schemas").join(name));
    serde_json::from_str(&text.expect("a published schema")).expect("JSON")
}

/// Checks that a JSON Schema accepts the values, and rejects copies of the values with a different version.
fn check(name: &str, values: &[Value]) {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource(name, schema(name)).expect("a schema");
    let id = compiler.compile(name, &mut schemas).expect("a schema");
    for value in values {
        if let Err(error) = schemas.validate(value, id) {
            panic!("{name}: {error:#}");
        }
        let mut wrong = value.clone();
        wrong["schema_version"] = Value::from(0);
        assert!(schemas.validate(&wrong, id).is_err(), "{name} accepts another version");
        let mut wrong = value.clone();
        wrong["unknown"] = Value::from(0);
        assert!(schemas.validate(&wrong, id).is_err(), "{name} accepts an unknown field");
    }
}

/// Report folders for all pairs, and for several runs per side.
fn reports() -> Vec<TempDir> {
    let of = |comparison: tracetree::Result<Comparison>| {
        let folder = TempDir::new().expect("a temporary folder");
        let comparison = comparison.expect("two traces");
        Report::new(comparison.analysis().clone()).write(folder.path()).expect("a report");
        folder
    };
    let options = ComparisonOptions::default();
    PAIRS.iter().map(|(a, b)| of(Comparison::open(trace(a), trace(b), &options))).collect()
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON")
}

#[test]
fn summaries_match_their_schema() {
    let folders = reports();
    let mut all: Vec<Value> =
        folders.iter().map(|folder| json(&folder.path().join("summary.json"))).collect();
    let mut runs = tracetree();
    let (a, b) = (trace("h100/resnet_eager.pt.trace"), trace("h100/resnet_tf32_off.pt.trace"));
    let [again, third] =
        ["eager", "tf32_off"].map(|name| trace(&format!("h100/resnet_{name}_again.pt.trace")));
    runs.args(["diff", "--base"]).args([&a, &again]).arg("--new").args([&b, &third]);
    runs.args(["--no-report", "--format", "json"]);
    let output = runs.output().expect("the program runs");
    let several: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(several["trace1"]["runs"].is_object() && several["verdict"]["step"].is_object());
    all.push(several);
    assert!(all.iter().any(|summary| summary["changes"][0].is_object()));
    assert!(all.iter().any(|summary| summary["notes"][0].is_object()));
    check("summary.schema.json", &all);
    assert_eq!(all[0]["schema_version"], SCHEMA_VERSION);
}

#[test]
fn fleets_match_their_schema() {
    let folder = TempDir::new().expect("a temporary folder");
    let at = |path: &str| folder.path().join(path);
    for (side, name) in [("before", "train_base"), ("after", "train_item")] {
        fs::create_dir(at(side)).expect("a folder");
        for rank in 0..2 {
            let to = at(side).join(format!("rank_{rank}.json.gz"));
            fs::copy(trace(&format!("h100/{name}.pt.trace")), to).expect("a trace");
        }
    }
    let mut fleet = tracetree();
    fleet.args(["fleet", "run"]).args([at("before"), at("after")]).arg("-o").arg(at("fleet"));
    assert!(fleet.output().expect("the program runs").status.success());
    let document = json(&at("fleet/fleet.json"));
    assert!(document["bill"][0].is_object());
    check("fleet.schema.json", &[document]);
}

/// The schema for a table lists its columns in order, and each cell has the type of its column.
#[test]
fn bills_match_their_table_schema() {
    let schema = schema("bill.table.json");
    let fields = schema["fields"].as_array().expect("fields");
    let names: Vec<&str> = fields.iter().map(|f| f["name"].as_str().expect("a name")).collect();
    let mut rows = 0;
    for folder in reports() {
        let mut table = csv::Reader::from_path(folder.path().join("bill.csv")).expect("bill.csv");
        let header: Vec<String> =
            table.headers().expect("a header").iter().map(str::to_owned).collect();
        assert_eq!(header, names);
        for row in table.records() {
            for (cell, field) in row.expect("a row").iter().zip(fields) {
                rows += 1;
                let is_right = match field["type"].as_str().expect("a type") {
                    "integer" => cell.is_empty() || cell.parse::<i64>().is_ok(),
                    "number" => cell.is_empty() || cell.parse::<f64>().is_ok(),
                    "string" => true,
                    other => panic!("{other} is not a type of the table schema"),
                };
                let is_missing = cell.is_empty() && field["constraints"]["required"] == true;
                assert!(is_right && !is_missing, "{}: {cell:?}", field["name"]);
            }
        }
    }
    assert!(rows > 100, "{rows} cells");
}
