//! Tests for the verdicts in all tables of a report: two tables never contradict each other, and no table reports a
//! change that was not tested.

use crate::support::compared::compare_files;
use crate::support::traces;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tracetree::analysis::Analysis;
use tracetree::analysis::account::Tally;
use tracetree::analysis::kernels::{by_category, by_kernel, judge_tallies};
use tracetree::analysis::layers::layer_rows;
use tracetree::analysis::steps::phase_rows;
use tracetree::analysis::verdict::{Judgement, Site};
use tracetree::report::{Report, ReportOptions, TableSet, summarise};
use tracetree::tree::CallId;
use tracetree::{PerSide, Side};

/// For each side, the events whose time is attributed to one line of a table.
type Events = [Vec<CallId>; 2];

/// The name of a table, and the table's verdict on a set of events.
type Told = (&'static str, Judgement);

fn add(told: &mut BTreeMap<Events, Vec<Told>>, mut events: Events, told_by: Told) {
    events.iter_mut().for_each(|calls| calls.sort_unstable());
    told.entry(events).or_default().push(told_by);
}

/// For each set of events, the verdicts of all table lines that consist of exactly these events.
fn told(analysis: &Analysis) -> BTreeMap<Events, Vec<Told>> {
    let mut told = BTreeMap::new();
    let verdicts = analysis.judged();
    let mut all = Events::default();
    for site in &verdicts.sites {
        let rows = || site.rows.iter().map(|&row| &analysis.rows()[row]);
        let events =
            Side::BOTH.map(|side| rows().flat_map(|row| row.events[side].clone()).collect());
        add(&mut told, events, ("verdicts.csv", site.judgement));
    }
    for (table, tallies) in tallies(analysis) {
        let lines: Vec<&Tally> = tallies.iter().collect();
        for (line, judgement) in lines.iter().zip(judge_tallies(
            analysis.diff(),
            analysis.ledger(),
            &analysis.group_judge(),
            &lines,
        )) {
            let events = Side::BOTH.map(|side| line.events[side].clone());
            if table == "kernels.csv" {
                (0..2).for_each(|side| all[side].extend(&events[side]));
            }
            add(&mut told, events, (table, judgement));
        }
    }
    add(&mut told, all.clone(), ("summary.json", verdicts.total));
    let pick = |is_of: &dyn Fn(Side, CallId) -> bool| {
        Side::BOTH.map(|side| {
            let calls = all[side as usize].iter().copied();
            calls.filter(|&call| is_of(side, call)).collect::<Vec<CallId>>()
        })
    };
    for row in phase_rows(analysis.diff(), analysis.ledger(), &analysis.group_judge()) {
        let events = pick(&|side, call| analysis.diff().phases(side).phase(call) == row.phase);
        add(&mut told, events, ("phases.csv", row.judgement));
    }
    let pairs = analysis.layer_pairs();
    for row in layer_rows(
        analysis.diff(),
        analysis.ledger(),
        analysis.layer_pairs(),
        &analysis.group_judge(),
    ) {
        let events = pick(&|side, call| {
            pairs.places()[pairs.place_of(side, call)] == row.place
                && analysis.diff().phases(side).phase(call) == row.phase
        });
        add(&mut told, events, ("layers.csv", row.judgement));
    }
    told
}

fn tallies(analysis: &Analysis) -> [(&'static str, Vec<Tally>); 3] {
    [
        (
            "kernels.csv",
            by_kernel(analysis.diff(), analysis.ledger(), analysis.categories())
                .into_iter()
                .map(|row| row.tally)
                .collect(),
        ),
        ("same_kernels.csv", analysis.same_kernels().tallies().cloned().collect()),
        (
            "categories.csv",
            by_category(analysis.diff(), analysis.ledger(), analysis.categories())
                .into_iter()
                .map(|row| row.tally)
                .collect(),
        ),
    ]
}

fn assert_tables_agree(pair: &PerSide<PathBuf>) -> usize {
    compare_files(pair.as_ref(), |analysis| {
        let told = told(analysis);
        for tables in told.values() {
            let (first, judgement) = tables[0];
            for &(table, other) in tables {
                assert_eq!(judgement, other, "{first} and {table} of {pair:?}");
            }
        }
        told.values().filter(|tables| tables.len() > 1).count()
    })
}

#[test]
fn two_tables_give_the_same_verdict_on_the_same_events() {
    let shared: usize = traces::example_pairs().iter().map(assert_tables_agree).sum();
    assert!(shared > 20, "only {shared} sets of events stand in two tables");
}

#[test]
fn two_tables_give_the_same_verdict_on_the_same_events_of_real_traces() {
    traces::real_and_unlike_pairs().iter().for_each(|pair| {
        assert_tables_agree(pair);
    });
}

/// The report files whose lines have a verdict.
const TABLES: [&str; 6] = [
    "verdicts.csv",
    "kernels.csv",
    "same_kernels.csv",
    "categories.csv",
    "phases.csv",
    "layers.csv",
];

/// The verdicts in a table in a report folder.
fn verdicts(folder: &Path, table: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_path(folder.join(table)).expect("a table");
    let headers = reader.headers().expect("a header").clone();
    let at = headers.iter().position(|name| name == "verdict").expect("a verdict");
    reader.records().map(|record| record.expect("a line")[at].to_owned()).collect()
}

/// Number of call sites in verdicts.csv that are slower or faster by at least the minimum difference.
fn places_that_changed(folder: &Path, analysis: &Analysis) -> u64 {
    let is_change = |label: &str| ["slower", "faster"].contains(&label);
    let told = verdicts(folder, "verdicts.csv");
    let places = &analysis.judged().sites;
    assert_eq!(told.len(), places.len());
    let least = analysis.judged().least.as_micros();
    let is_told = |(label, place): &(&String, &Site)| {
        let means = place.judgement.mean_us;
        is_change(label) && (means.candidate - means.baseline).abs() >= least
    };
    told.iter().zip(places).filter(is_told).count() as u64
}

fn check_report(pair: &PerSide<PathBuf>) {
    compare_files(pair.as_ref(), |analysis| {
        let folder = tempfile::tempdir().expect("a folder");
        let options = ReportOptions { table_set: TableSet::All, ..ReportOptions::default() };
        let report = Report::with_options(analysis.clone(), options);
        report.write(folder.path().join("report")).expect("a report");
        let folder = folder.path().join("report");
        let verdict = summarise(analysis).verdict;
        assert_eq!(verdict.changes, places_that_changed(&folder, analysis), "{pair:?}");
        assert_eq!(verdict.largest_changes.len() as u64, verdict.changes.min(20), "{pair:?}");
        for table in TABLES {
            let told = verdicts(&folder, table);
            let is_honest = |told: &String| ["similar", "not_tested", ""].contains(&&**told);
            assert!(told.iter().all(is_honest), "{table} of {pair:?}: {told:?}");
        }
        assert!(verdict.words.contains("not tested ("), "{}", verdict.words);
    });
}

#[test]
fn with_one_run_per_side_no_table_says_slower_or_faster() {
    traces::example_pairs().iter().for_each(check_report);
}

#[test]
fn with_one_run_per_side_no_table_of_a_real_report_says_slower_or_faster() {
    traces::real_and_unlike_pairs().iter().for_each(check_report);
}
