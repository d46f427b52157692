//! Tests for `report.html` and `fleet.html`: the text of the pages, and what the pages show and do in a real Chromium.

use crate::support::enter_root;
use crate::support::ranks::Ranks;
use crate::support::reports::{hostile_pair, model_pair, write};
use crate::support::trace_builder::{Op, TraceBuilder};
use crate::support::{root, skipped};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use tracetree::program::Query;
use tracetree::report::Emit;
use tracetree::trace::{ReadOptions, Trace};
use tracetree::{CallTree, PerSide};
use tracetree_fleet::{Fleet, FleetFiles, Mapping, Plan, PlanOptions, map_all};

/// Exit code of `tests/browser/run.sh` if no browser is available.
const SKIPPED: i32 = 77;

fn page_of(pair: &PerSide<String>) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = folder.path().join("report");
    write(pair, &target, &[Emit::Html]).expect("a report");
    fs::read_to_string(target.join("report.html")).expect("a page")
}

/// The JSON value embedded in a page.
fn data_of(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").expect("embedded data");
    let (json, _) = rest.split_once("</script>").expect("the end of the data");
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn a_page_is_complete_in_itself() {
    let page = page_of(&model_pair());
    // The page contains a link to Perfetto, but it loads nothing from other addresses.
    let loaded = page.replace("<a href=\"https://ui.perfetto.dev/\"", "");
    let loaded = loaded.replace("createElementNS(\"http://www.w3.org/2000/svg\"", "");
    for outside in ["http://", "https://", "@import", "src=\"", "url("] {
        assert!(!loaded.contains(outside), "the page holds {outside}");
    }
    assert!(page.contains("data-line=\"time\""), "no GPU time");
    let (head, _) = page.split_once("data-panel=\"differences\"").expect("the call sites");
    let opening = head.split_once("id=\"verdict\">").map_or("", |(_, rest)| rest);
    assert!(opening.contains(" → ") && opening.contains(" per step"), "it opens with the answer");
    assert!(head.contains("id=\"changes-card\""), "with what changed");
    assert!(head.contains("id=\"next\""), "and with what to do");
}

#[test]
fn the_page_lists_the_regions_that_the_programs_mark() {
    let text = |kernel: f64| {
        TraceBuilder::cuda()
            .thread("main", |t| {
                t.annotation("decode_4", |t| {
                    t.annotation("attention", |t| t.op("aten::mm", |t| t.kernel("gemm", kernel)));
                });
            })
            .json()
    };
    let page = page_of(&PerSide::new(text(10.0), text(30.0)));
    let (_, section) = page.split_once("<section id=\"marked-regions\">").expect("a section");
    let (section, _) = section.split_once("</section>").expect("the end");
    assert!(section.contains("decode_N / attention") && section.contains("GPU busy"), "{section}");
    assert!(section.contains("10.000 → 30.000"), "{section}");
    let without = page_of(&model_pair());
    assert!(!without.contains("<section id=\"marked-regions\">"));
}

#[test]
fn no_name_ends_the_script_that_contains_the_data() {
    let page = page_of(&hostile_pair());
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<img"));
    assert_eq!(page.matches("<svg").count(), page.matches("<svg class=\"lag\"").count());
    let texts = data_of(&page)["texts"].to_string();
    assert!(texts.contains("</script><script>window.hacked = 1</script>"), "{texts}");
}

#[test]
fn the_embedded_tree_adds_up_to_the_totals() {
    let data = data_of(&page_of(&model_pair()));
    let own = data["tree"]["own"].as_array().expect("own times");
    let total = |side: usize| -> i64 {
        own.iter().map(|entry| entry[side].as_i64().expect("nanoseconds")).sum()
    };
    let rows = |column: &str| -> i64 {
        let times = data["rows"][column].as_array().expect("a column");
        times.iter().map(|time| time.as_i64().expect("nanoseconds")).sum()
    };
    assert!(total(1) > 0 && total(1) == rows("time1"));
    assert!(total(2) > 0 && total(2) == rows("time2"));
}

/// Two traces with 60,000 ops each. Each op has a different name, and contains an inner op that launches a kernel.
fn huge_pair() -> PerSide<String> {
    let build = |factor: f64| {
        TraceBuilder::cuda()
            .thread("main", |t| {
                for at in 0..60_000_i64 {
                    let name = format!("op {at} {}", "of a long name ".repeat(8));
                    t.op(Op::new(&name).dims(&[&[at]]), |t| {
                        t.op("aten::inner", |t| t.kernel("kernel", factor + (at % 7) as f64));
                    });
                }
            })
            .json()
    };
    PerSide::new(build(1.0), build(2.0))
}

#[test]
fn a_large_pair_gives_a_page_below_10_mb_that_says_what_it_leaves_out() {
    let page = page_of(&huge_pair());
    assert!(page.len() < 10_000_000, "{} bytes", page.len());
    assert!(page.contains(", this page omits the "), "the page does not say what it omits");
    let data = data_of(&page);
    let sum = |side: usize| -> i64 {
        let own = data["tree"]["own"].as_array().expect("own times");
        own.iter().map(|entry| entry[side].as_i64().expect("nanoseconds")).sum()
    };
    let expected: i64 = (0..60_000).map(|at| 1_000 * (1 + at % 7)).sum();
    assert_eq!((sum(1), sum(2)), (expected, expected + 60_000_000));
    let hidden: i64 = data["tree"]["hidden"]
        .as_array()
        .expect("hidden counts")
        .iter()
        .map(|entry| entry[1].as_i64().expect("a count"))
        .sum();
    let kept = data["tree"]["depth"].as_array().expect("depths").len() as i64;
    // The nodes are the thread and, for each op, the op, the inner op, the launch and the kernel.
    assert_eq!(kept + hidden, 1 + 4 * 60_000);
    // The timeline shows up to 2,500 nodes for host calls, up to 2,500 nodes for GPU events, and the parts of the lag.
    let drawn = data["timeline"]["slices"]["node"].as_array().expect("slices").len();
    assert!((3_000..=10_100).contains(&drawn), "{drawn} slices");
    let (_, shown) = page.split_once("in one child; ").expect("what is omitted");
    let (left_out, rest) = shown.split_once(" of ").expect("a number");
    let all = rest.split_once(" events").expect("a number").0;
    let number = |text: &str| text.parse::<usize>().expect("a number");
    assert_eq!(number(left_out) + drawn, number(all));
}

/// The traces have two steps each. Checks that the timeline shows one step of each side, with the times from which the
/// traces were generated.
#[test]
fn the_timeline_has_one_step_of_both_sides_from_its_start() {
    let data = data_of(&page_of(&model_pair()));
    let timeline = &data["timeline"];
    let steps: Vec<&str> =
        timeline["steps"].as_array().expect("steps").iter().filter_map(Value::as_str).collect();
    assert!(["ProfilerStep#10", "ProfilerStep#11"].contains(&steps[0]), "{steps:?}");
    assert!(["ProfilerStep#3", "ProfilerStep#4"].contains(&steps[1]), "{steps:?}");
    assert_eq!(steps[0].ends_with("#10"), steps[1].ends_with("#3"), "paired by position");
    let column = |key: &str| -> Vec<i64> {
        let column = timeline["slices"][key].as_array().expect("a column");
        column.iter().map(|value| value.as_i64().expect("a number")).collect()
    };
    let mut last = 0;
    let nodes: Vec<i64> = column("node")
        .into_iter()
        .map(|step| {
            last += step;
            last
        })
        .collect();
    // The slices are listed by lane and row. The first gap of a row begins at the start of the step.
    let (gaps, times) = (column("gap"), column("time"));
    let (mut sides, mut starts) = (Vec::new(), Vec::new());
    for lane in timeline["lanes"].as_array().expect("lanes") {
        for count in lane["rows"].as_array().expect("rows") {
            let mut end = 0;
            for _ in 0..count.as_u64().expect("a count") {
                starts.push(end + gaps[starts.len()]);
                end = starts[starts.len() - 1] + times[starts.len() - 1];
                sides.push(lane["side"].as_u64().expect("a side"));
            }
        }
    }
    assert_eq!((starts.len(), sides.len()), (nodes.len(), nodes.len()));
    let outside = column("outside");
    // The timeline also shows and marks work that the previous step launched, if it runs in the selected step.
    let is_of_step = |at: usize| !outside.contains(&(at as i64));
    // The page's tree has the names; all nodes of this small tree are on the page.
    let name = |at: usize| {
        let text = data["tree"]["name"][nodes[at] as usize].as_u64().expect("a text");
        data["texts"][text as usize].as_str().expect("text").to_owned()
    };
    let times = |wanted: &str, side: u64| -> Vec<i64> {
        let of = (0..nodes.len()).filter(|&at| name(at) == wanted && sides[at] == side);
        of.filter(|&at| is_of_step(at)).map(|at| times[at]).collect()
    };
    assert!(times("gelu_kernel", 1).is_empty());
    assert_eq!(times("gelu_kernel", 2), [30]);
    assert_eq!(times("gemm_kernel", 1), [200, 210, 220]);
    // The slices of two matched events have the same node. The page uses the node to connect the two slices.
    let node = |wanted: &str, side: u64| {
        let at = (0..nodes.len()).find(|&at| name(at) == wanted && sides[at] == side);
        nodes[at.unwrap_or_else(|| panic!("no {wanted}"))]
    };
    assert_eq!(node("gemm_kernel", 1), node("gemm_kernel", 2));
    assert!((0..starts.len()).all(|at| starts[at] >= 0 || !is_of_step(at)), "{starts:?}");
    assert_eq!(!outside.is_empty(), steps[0].ends_with("#11"));
    // The anchors start at the same time as their calls.
    let anchors = &timeline["anchors"];
    let first = |key: &str| anchors[key][0].as_i64().expect("an anchor");
    assert!(starts.contains(&first("start1")) && starts.contains(&first("start2")), "{anchors}");
    assert_eq!(
        anchors["start1"].as_array().map(Vec::len),
        anchors["start2"].as_array().map(Vec::len)
    );
}

fn write_browser_reports(folder: &Path) {
    enter_root();
    let example = |name: &str| {
        let packed = fs::read(format!("examples/traces/{name}.json.gz")).expect("a trace");
        let mut text = String::new();
        let mut reader = flate2::read::GzDecoder::new(&packed[..]);
        std::io::Read::read_to_string(&mut reader, &mut text).expect("gzip");
        text
    };
    let cpu = PerSide::new(example("cnn.pt.trace"), example("cnn_extra_op.pt.trace"));
    let regions = PerSide::new(example("tfm_eager.pt.trace"), example("tfm_compiled.pt.trace"));
    let emits = [Emit::Html, Emit::Flamegraph];
    write(&regions, &folder.join("regions"), &emits).expect("a report");
    write(&cpu, &folder.join("cpu"), &emits).expect("a report");
    write_real_reports(folder);
    write(&model_pair(), &folder.join("model"), &emits).expect("a report");
    write(&hostile_pair(), &folder.join("hostile"), &emits).expect("a report");
    let pair = PerSide::new(example("resnet.rocm"), example("resnet.cuda"));
    write(&pair, &folder.join("example"), &emits).expect("a report");
    write_answers(&pair, &folder.join("example/answers.json"));
    write_fleets(folder);
}

/// Writes a report for a fleet with planted faults, and a report for a fleet whose file names contain no ranks.
fn write_fleets(folder: &Path) {
    let traces = tempfile::tempdir().expect("a temporary folder");
    Ranks(16).write(traces.path()).expect("traces");
    write_fleet(traces.path(), &folder.join("fleet"));
    let odd = tempfile::tempdir().expect("a temporary folder");
    for (place, is_after) in [("before", false), ("after", true)] {
        fs::create_dir(odd.path().join(place)).expect("a folder");
        for name in ["<img src=x onerror=hacked=1>", "100% ä?#\"'"] {
            let trace = Ranks(16).trace(0, is_after);
            let nameless = trace.replace("\"rank\"", "\"none\"");
            let file = odd.path().join(place).join(format!("{name}.json"));
            fs::write(file, nameless).expect("a trace");
        }
    }
    write_fleet(odd.path(), &folder.join("odd-fleet"));
}

fn write_fleet(traces: &Path, folder: &Path) {
    let (before, after) = (traces.join("before"), traces.join("after"));
    let plan = Plan::make(&before, &after, PlanOptions::default()).expect("a plan");
    let mapping = Mapping::new(&plan, folder).expect("options");
    let lost = map_all(&plan, &mapping, |_, _| ()).expect("shards");
    let fleet = Fleet::reduce(&plan, folder, &lost).expect("a fleet");
    let files = FleetFiles { has_reports: true, ..FleetFiles::default() };
    fleet.write(folder, &files).expect("a page");
}

/// Writes path queries with the uids that each query matches in both traces. The page has its own parser for path
/// queries, which must find the same uids as the library.
fn write_answers(pair: &PerSide<String>, file: &Path) {
    let queries = [
        r#"module("Conv2d_0") / op("aten::conv2d")"#,
        r#"module("Conv2d") / op("aten::_convolution")"#,
        r#"module("Sequential_?.BasicBlock_*")"#,
        r#"module("BasicBlock_*") / module("BatchNorm2d") / kernel("*batch*|*norm*")"#,
        r#"op("aten::*_convolution")"#,
        r#"op("aten::linear | aten::sum") / call("*Launch*")"#,
        r#"kernel("*")"#,
        r#"op("aten::cudnn_convolution") / kernel("Mem*")"#,
        r#"op("aten::addmm") / op("aten::linear")"#,
    ];
    let tree = |text: &String| {
        let trace = Trace::from_reader("trace.json", text.as_bytes(), &ReadOptions::default());
        CallTree::build(trace.expect("a trace"))
    };
    let trees = pair.as_ref().map(tree);
    let uids = |query: &Query, tree: &CallTree| -> Vec<u32> {
        let events = query.find(tree).into_iter().filter_map(|call| tree.event(call));
        events.map(|event| tree.trace().uid(event).0).collect()
    };
    let answer = |text: &&str| {
        let query: Query = text.parse().expect("a query");
        let found = trees.as_ref().map(|tree| uids(&query, tree));
        serde_json::json!({ "query": text, "found": [found.baseline, found.candidate] })
    };
    let answers: Vec<Value> = queries.iter().map(answer).collect();
    let found =
        |answer: &&Value| answer["found"][0].as_array().is_some_and(|uids| !uids.is_empty());
    assert!(answers.iter().filter(found).count() >= 6, "most queries name something: {answers:?}");
    fs::write(file, Value::from(answers).to_string()).expect("a writable folder");
}

/// Writes reports on two pairs of real traces, if the traces are available: one pair from different devices, and one
/// pair of eager mode and compiled mode.
fn write_real_reports(folder: &Path) {
    let pairs = [
        ("timesformer", "mi300_h100/timesformer.mi300", "mi300_h100/timesformer.h100"),
        ("compiled", "training/eager.a100", "training/compiled_graphs.v100"),
    ];
    for (name, baseline, candidate) in pairs {
        let path = |name: &str| crate::support::traces::real(&format!("{name}.json.gz"));
        let (Some(baseline), Some(candidate)) = (path(baseline), path(candidate)) else { return };
        let options = tracetree::ComparisonOptions::default();
        let comparison = tracetree::Comparison::open(baseline, candidate, &options);
        let report =
            comparison.expect("two traces").report(tracetree::report::ReportOptions::default());
        report.write(folder.join(name)).expect("a report");
    }
}

#[test]
fn the_page_works_in_a_browser() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write_browser_reports(folder.path());
    let script = root().join("tests/browser/run.sh");
    let run = match Command::new("sh").arg(script).arg(folder.path()).output() {
        Ok(run) => run,
        // The browser test cannot run without a shell.
        Err(error) => return skipped(&format!("no browser test: {error}")),
    };
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    match run.status.code() {
        Some(SKIPPED) if !is_required() => {
            return skipped(&format!("no browser test: {}", err.trim()));
        }
        code => assert_eq!(code, Some(0), "{out}\n{err}"),
    }
    if !is_required() {
        skipped("the slowest browser tests, which TRACETREE_BROWSER=all runs");
    }
}

/// Whether all browser tests run, as in CI. Then the test fails if no browser is available.
fn is_required() -> bool {
    std::env::var_os("TRACETREE_BROWSER").is_some_and(|value| value == "all")
}

#[test]
fn a_page_runs_only_its_own_script_and_has_no_inline_style_or_handler() {
    for page in [page_of(&model_pair()), page_of(&hostile_pair())] {
        let policy = page.split("Content-Security-Policy\" content=\"").nth(1).expect("a policy");
        let policy = &policy[..policy.find('"').expect("an end")];
        assert!(!policy.contains("unsafe") && policy.contains("default-src 'none'"), "{policy}");
        assert_eq!(policy.matches("'sha256-").count(), 2, "{policy}");
        // The JSON data in the page is skipped, because a browser parses it as text and not as markup.
        let (head, rest) = page.split_once("<script type=\"application/json\"").expect("data");
        let (_, tail) = rest.split_once("</script>").expect("an end");
        let (markup, _) = tail.split_once("<script>").expect("a script");
        for part in [head, markup] {
            assert!(!part.contains(" style=") && !part.contains(" onclick="), "{part}");
        }
    }
}

#[test]
fn the_roofline_shows_each_op_at_its_rate_and_intensity() {
    let text = |micros: f64| {
        let product = || Op::new("aten::mm").dims(&[&[1024, 1024], &[1024, 1024]]);
        let product = || product().types(&["float", "float"]);
        TraceBuilder::cuda()
            .thread("main", |t| t.op(product(), |t| t.kernel("gemm", micros)))
            .json()
    };
    let page = page_of(&PerSide::new(text(100.0), text(200.0)));
    let (_, picture) = page.split_once("viewBox=\"0 0 720 300\"").expect("a picture");
    let (picture, _) = picture.split_once("</svg>").expect("the end");
    let attribute = |tag: &str, name: &str| -> f64 {
        let (_, rest) = tag.split_once(&format!(" {name}=\"")).expect("an attribute");
        rest.split('"').next().and_then(|value| value.parse().ok()).expect("a number")
    };
    // The place of a value on an axis, from the labels of the powers of ten.
    let axis = |anchor: &str, name: &str, value: f64| {
        let labels = picture.split("<text").skip(1).filter(|tag| tag.contains(anchor));
        let labels = labels.filter_map(|tag| {
            let power: f64 = tag.split(['>', '<']).nth(1)?.parse().ok()?;
            Some((power.log10(), attribute(tag, name)))
        });
        let labels: Vec<(f64, f64)> = labels.collect();
        let [(one, from), (two, to)] = labels[..2] else { panic!("{labels:?}") };
        from + (value.log10() - one) / (two - one) * (to - from)
    };
    let (operations, bytes) = (2.0 * 1024_f64.powi(3), 3.0 * 1024.0 * 1024.0 * 4.0);
    for (class, micros) in [("roof-one", 100.0), ("roof-two", 200.0)] {
        let (_, circle) = picture.split_once(&format!("<circle class=\"{class}\"")).expect("an op");
        let x = axis("middle", "x", operations / bytes);
        // A label is 4 below its line.
        let y = axis("text-anchor=\"end\"", "y", operations / micros / 1e6) - 4.0;
        let (left, top) = (attribute(circle, "cx"), attribute(circle, "cy"));
        assert!((left - x).abs() < 0.3 && (top - y).abs() < 0.3, "{left} {top}, not {x} {y}");
    }
    assert!(picture.contains("roof-move lag-more"), "the product got slower");
}
