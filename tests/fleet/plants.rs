//! Tests for `tracetree fleet` on ranks with planted faults: exactly these faults must be found, even if the work is
//! split or interrupted.

use crate::support::ranks::Ranks;
use crate::support::tracetree;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::LazyLock;
use tempfile::TempDir;

const RANKS: Ranks = Ranks(64);

/// The folder with the generated traces. The traces are written only once and used by all tests.
static PLACE: LazyLock<TempDir> = LazyLock::new(|| {
    let place = tempfile::tempdir().expect("a temporary folder");
    RANKS.write(place.path()).expect("traces");
    place
});

fn fleet(arguments: &[&str]) -> Output {
    let mut command = tracetree();
    command.current_dir(PLACE.path()).arg("fleet").args(arguments);
    command.output().expect("the program runs")
}

fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("a file");
    serde_json::from_str(&text).expect("JSON")
}

fn findings(folder: &Path) -> Vec<(String, String)> {
    let document = json(&folder.join("fleet.json"));
    let text = |finding: &Value, key: &str| finding[key].as_str().expect("a text").to_owned();
    let findings = document["findings"].as_array().expect("findings");
    findings.iter().map(|one| (text(one, "code"), text(one, "ranks"))).collect()
}

/// Names and contents of the files directly in a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let files = entries.filter(|path| path.is_file());
    files
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, fs::read(&path).expect("a file"))
        })
        .collect()
}

#[test]
fn the_brief_of_a_fleet_has_the_headline_the_counts_and_the_first_findings() {
    let out = tempfile::tempdir().expect("a folder");
    let at = out.path().to_str().expect("UTF-8");
    let run = fleet(&["run", "before", "after", "-o", at, "--format", "brief"]);
    let text = String::from_utf8(run.stdout).expect("UTF-8");
    assert!(text.len() <= tracetree::report::LONGEST_BRIEF, "{} bytes", text.len());
    let value = |key: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(&format!("{key}: ")));
        found.unwrap_or_else(|| panic!("no {key} in\n{text}")).to_owned()
    };
    let document = json(&out.path().join("fleet.json"));
    let listed = document["findings"].as_array().expect("findings");
    assert_eq!(value("findings"), listed.len().to_string());
    assert_eq!(value("ranks_compared"), document["ok"].to_string());
    assert!(value("headline").starts_with("Rank "), "{text}");
    let code = listed[0]["code"].as_str().expect("a code");
    assert!(value("finding_1").starts_with(code), "{text}");
}

#[test]
fn all_planted_faults_are_found_and_nothing_else() {
    let out = tempfile::tempdir().expect("a folder");
    let folder = out.path().to_str().expect("UTF-8");
    let output = fleet(&["run", "before", "after", "-o", folder, "--tables", "both"]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let text = |number: usize| number.to_string();
    let expected = [
        ("TRUNCATED".to_owned(), text(RANKS.truncated())),
        ("NO_PARTNER".to_owned(), text(RANKS.missing())),
        ("SAME_PROGRAM".to_owned(), RANKS.unchanged()),
        ("STRAGGLER".to_owned(), text(RANKS.straggler())),
        ("COLLECTIVE_MISSING".to_owned(), text(RANKS.without_collective())),
        ("SPEED".to_owned(), RANKS.of_role(RANKS.slow_role())),
    ];
    assert_eq!(findings(out.path()), expected, "{}", String::from_utf8_lossy(&output.stdout));
    let screen = String::from_utf8_lossy(&output.stdout).into_owned();
    let headline = screen.lines().next().expect("a headline");
    let about = format!("Rank {} got slower: 1.50× its baseline (+", RANKS.straggler());
    let more = headline.strip_prefix(&about);
    let more = more.and_then(|rest| rest.strip_suffix(" ms per step), most of it in aten::mm"));
    let more: f64 = more.and_then(|more| more.parse().ok()).expect(headline);
    // The product takes 200 instead of 100 µs, twice per step; it varies by up to 0.4 µs.
    assert!((more - 0.2).abs() < 0.002, "{headline}");
    let document = json(&out.path().join("fleet.json"));
    assert_eq!(document["roles"].as_array().map(Vec::len), Some(4));
    assert_eq!(document["planned"], 64);
    assert_eq!(
        (&document["ok"], &document["failed"], &document["unmatched"]),
        (&62.into(), &1.into(), &1.into())
    );
    assert!(
        shown(&output).contains("64 planned = 62 ok + 1 failed + 1 unmatched"),
        "{}",
        shown(&output)
    );
    let bill = document["bill"].as_array().expect("a bill");
    let line = bill.iter().find(|line| line["where"] == "aten::bmm" && line["spread"] == "role");
    let difference = line.expect("a role")["median_difference_us"].as_f64().expect("a number");
    // The kernel takes 50 µs longer; a price by replay is off by at most 20 µs.
    assert!((difference - 50.0).abs() < 20.0, "{difference}");
    assert!(
        out.path().join("fleet.html").is_file() && out.path().join("fleet_parts.parquet").is_file()
    );
}

#[test]
fn coverage_below_the_minimum_exits_with_3() {
    let out = tempfile::tempdir().expect("a folder");
    let folder = out.path().to_str().expect("UTF-8");
    let run =
        |least: &str| fleet(&["run", "before", "after", "-o", folder, "--min-coverage", least]);
    assert_eq!(run("0.96").status.code(), Some(0));
    assert_eq!(run("0.97").status.code(), Some(3));
    assert_eq!((run("96%").status.code(), run("97%").status.code()), (Some(0), Some(3)));
}

#[test]
fn plan_map_and_reduce_write_the_bytes_of_run_and_compare_no_pair_twice() {
    let (one, other) =
        (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let (run, parts) = (one.path().to_str().expect("UTF-8"), other.path().to_str().expect("UTF-8"));
    assert_eq!(fleet(&["run", "before", "after", "-o", run]).status.code(), Some(0));
    let plan = other.path().join("plan.json");
    let plan = plan.to_str().expect("UTF-8");
    assert_eq!(fleet(&["plan", "before", "after", "-o", plan]).status.code(), Some(0));
    // Maps pairs 3 and 0 by hand, pair 3 twice. Then truncates one of the two shards, and maps all remaining pairs.
    for pair in ["3", "0", "3"] {
        let output = fleet(&["map", plan, "-o", parts, "--pair", pair]);
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    }
    let shard = fs::read_dir(other.path().join("shards"))
        .expect("shards")
        .next()
        .expect("one")
        .expect("one");
    let bytes = fs::read(shard.path()).expect("a shard");
    fs::write(shard.path(), &bytes[..bytes.len() / 2]).expect("half a shard");
    let output = fleet(&["map", plan, "-o", parts]);
    assert!(
        shown(&output).contains("62 pairs compared, 1 skipped (shard exists)"),
        "{}",
        shown(&output)
    );
    assert_eq!(fleet(&["reduce", plan, "-o", parts]).status.code(), Some(0));
    fs::remove_file(plan).expect("the plan");
    assert_eq!(files(&one.path().join("shards")), files(&other.path().join("shards")));
    let (run, parts) = (files(one.path()), files(other.path()));
    assert_eq!(run.keys().collect::<Vec<_>>(), parts.keys().collect::<Vec<_>>());
    for (name, bytes) in &run {
        assert!(parts[name] == *bytes, "{name} differs");
    }
}

#[test]
fn missing_and_foreign_shards_are_reported() {
    let out = tempfile::tempdir().expect("a folder");
    let folder = out.path().to_str().expect("UTF-8");
    let plan = out.path().join("plan.json");
    let plan = plan.to_str().expect("UTF-8");
    fleet(&["plan", "before", "after", "-o", plan]);
    fleet(&["map", plan, "-o", folder, "--pair", "0"]);
    let shards = out.path().join("shards");
    let shard = fs::read_dir(&shards).expect("shards").next().expect("one").expect("one").path();
    fs::copy(&shard, shards.join("0123.parquet")).expect("a copy");
    let output = fleet(&["reduce", plan, "-o", folder]);
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    let text = shown(&output);
    assert!(text.contains("64 planned = 1 ok + 62 failed + 1 unmatched"), "{text}");
    assert!(text.contains("NO_SHARD") && text.contains("1 shard in"), "{text}");
}

#[test]
fn a_trace_that_changed_since_the_plan_is_reported_and_gets_no_shard() {
    let place = tempfile::tempdir().expect("a folder");
    let small = Ranks(16);
    small.write(place.path()).expect("traces");
    let run = |arguments: &[&str]| {
        let mut command = tracetree();
        let command = command.current_dir(place.path()).arg("fleet").args(arguments);
        command.output().expect("the program runs")
    };
    run(&["plan", "before", "after", "-o", "plan.json"]);
    fs::write(place.path().join("after/rank_0.json"), small.trace(0, false) + " ")
        .expect("a trace");
    let output = run(&["map", "plan.json", "-o", "out", "--pair", "0"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("failed") && text.contains("CHANGED"), "{text}");
    assert!(!place.path().join("out/shards").exists());
}

#[test]
fn compared_pairs_whose_shards_are_elsewhere_are_not_reported_as_not_compared() {
    let out = tempfile::tempdir().expect("a folder");
    let folder = out.path().to_str().expect("UTF-8");
    let at = |name: &str| out.path().join(name).to_str().expect("UTF-8").to_owned();
    fleet(&["plan", "before", "after", "-o", &at("plan.json")]);
    fleet(&["map", &at("plan.json"), "-o", folder, "--pair", "0"]);
    let plan = json(Path::new(&at("plan.json")));
    let keys = plan["pairs"].as_array().expect("pairs").iter().map(|pair| pair["key"].as_str());
    let lost: BTreeMap<&str, [&str; 2]> = keys
        .map(|key| (key.expect("a key"), ["SHARD_NOT_VISIBLE", "is this folder shared?"]))
        .collect();
    fs::write(at("lost.json"), serde_json::to_vec(&lost).expect("JSON")).expect("a file");
    let output = fleet(&["reduce", &at("plan.json"), "-o", folder, "--lost", &at("lost.json")]);
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert!(shown(&output).contains("64 planned = 1 ok + 62 failed + 1 unmatched"));
    let screen = String::from_utf8_lossy(&output.stdout).into_owned();
    let headline = "The results of 62 compared ranks are not in this folder";
    assert_eq!(screen.lines().next(), Some(headline), "{screen}");
    let document = json(&out.path().join("fleet.json"));
    let finding = &document["findings"][0];
    assert_eq!((&finding["code"], &finding["count"]), (&"SHARD_NOT_VISIBLE".into(), &62.into()));
    let message = "62 rows of fleet_pairs are failed; is this folder shared?";
    assert_eq!(finding["message"], message);
}

#[test]
fn reduce_removes_what_killed_workers_left() {
    let out = tempfile::tempdir().expect("a folder");
    let folder = out.path().to_str().expect("UTF-8");
    let plan = out.path().join("plan.json").to_str().expect("UTF-8").to_owned();
    fleet(&["plan", "before", "after", "-o", &plan]);
    fleet(&["map", &plan, "-o", folder, "--pair", "0"]);
    let shards = out.path().join("shards");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    let left = shards.join(".tracetree-1-1-a.part");
    fs::write(&left, "half").expect("a file");
    fs::File::options()
        .append(true)
        .open(&left)
        .and_then(|file| file.set_modified(long_ago))
        .expect("a time");
    fleet(&["reduce", &plan, "-o", folder]);
    assert_eq!(fs::read_dir(&shards).expect("shards").count(), 1);
}
