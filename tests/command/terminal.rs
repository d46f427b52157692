//! Tests for the output of `tracetree diff` at widths of 60, 80, 100 and 200 columns, with all details, and through a
//! pipe.

use crate::support::enter_root;
use crate::support::snapshot::assert_snapshot;
use crate::support::tracetree;
use tracetree::program::CaptureSource;
use tracetree::report::LONGEST_BRIEF;
use tracetree::{Comparison, ComparisonOptions};
use tracetree_cli::{answer_text, summary_text};

const BUNDLED: [&str; 2] =
    ["examples/traces/resnet.rocm.json.gz", "examples/traces/resnet.cuda.json.gz"];
const CPU: [&str; 2] =
    ["examples/traces/cnn.pt.trace.json.gz", "examples/traces/cnn_extra_op.pt.trace.json.gz"];

const WIDTHS: [usize; 4] = [60, 80, 100, 200];
const H100: [[&str; 2]; 4] = [
    ["resnet_eager", "resnet_tf32_off"],
    ["train_base", "train_again"],
    ["decode_eager", "decode_eager_streams"],
    ["train_base", "train_clip"],
];

/// Whether a line contains only one word of a longer command. The output never shortens such a word, even if it exceeds
/// the width.
fn is_whole_word(line: &str) -> bool {
    let word = line.trim_start().trim_end_matches(" \\");
    line.starts_with("   ") && !word.contains([' ', '…'])
}

/// The default terminal output for the bundled pairs and for pairs recorded on an H100.
fn answers() -> Vec<(usize, String)> {
    enter_root();
    let pair = |[one, two]: [&str; 2]| {
        [one, two].map(|name| format!("examples/traces/h100/{name}.pt.trace.json.gz"))
    };
    let bundled = [BUNDLED, CPU].map(|pair| pair.map(str::to_owned));
    bundled
        .into_iter()
        .chain(H100.map(pair))
        .flat_map(|[baseline, candidate]| {
            let options = ComparisonOptions::default();
            let comparison = Comparison::open(baseline.as_str(), candidate.as_str(), &options);
            let comparison = comparison.expect("two traces");
            WIDTHS.map(|width| (width, answer_text(&comparison, width)))
        })
        .collect()
}

#[test]
fn the_answer_at_four_widths() {
    enter_root();
    let options = ComparisonOptions::default();
    let [baseline, candidate] =
        H100[0].map(|name| format!("examples/traces/h100/{name}.pt.trace.json.gz"));
    let comparison = Comparison::open(baseline.as_str(), candidate.as_str(), &options);
    let comparison = comparison.expect("two traces");
    for width in WIDTHS {
        assert_snapshot("", &format!("answer_{width}"), &answer_text(&comparison, width));
    }
}

#[test]
fn the_answer_fits_a_screen_and_has_the_three_parts() {
    for (width, text) in answers() {
        assert!(width < 100 || text.lines().count() <= 24, "{width}:\n{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= width || is_whole_word(line), "{width}: {line}");
        }
        // The text names the changes or says that there are none. The text also states what the changes cost, and
        // recommends what to do.
        let titles = ["Changed for certain", "Price per step", "are identical"];
        assert!(titles.iter().any(|title| text.contains(title)), "{text}");
        assert!(text.contains(" per step") && text.contains("What to do\n1. "), "{text}");
    }
}

/// The number at the start of a text such as `−0.368 ms  Software`.
fn figure(text: &str) -> Option<f64> {
    let number = text.split_whitespace().next()?;
    let sign = if number.starts_with('−') { -1.0 } else { 1.0 };
    let size: f64 = number.strip_prefix(['+', '−', '±'])?.parse().ok()?;
    Some(sign * size)
}

#[test]
fn the_lines_of_the_answer_add_up_to_its_total() {
    let mut count = 0;
    for (width, text) in answers() {
        let Some((above, below)) = text.split_once("\n= ") else { continue };
        let lines = above.lines().skip_while(|line| !line.is_empty());
        let sum: f64 = lines
            .filter(|line| line.starts_with("  "))
            .filter_map(|line| match line.split_once("together ") {
                Some((before, rest)) if before.starts_with("  and ") => figure(rest),
                Some(_) | None => figure(line).filter(|_| line.contains("s  ")),
            })
            .sum();
        let last = below.lines().next().and_then(|line| figure(line.split_once("together ")?.1));
        let (sum, total) = (sum + last.unwrap_or_default(), figure(below).expect("a number"));
        count += 1;
        assert!((sum - total).abs() < 0.01 * total.abs().max(2.0), "{width}: {sum}\n{text}");
    }
    assert!(count > 0);
}

/// Each `tracetree` command in the output as one line, without the program name.
fn commands(text: &str) -> Vec<String> {
    let joined = text.replace(" \\\n", " ");
    let commands = joined.lines().filter_map(|line| line.split_once("tracetree "));
    commands.map(|(_, rest)| rest.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn a_command_of_several_lines_can_be_pasted_and_compares_the_same() {
    enter_root();
    let [one, two, capture] = ["decode_eager", "decode_graph", "decode_graph.capture"]
        .map(|name| format!("examples/traces/h100/{name}.pt.trace.json.gz"));
    let captures = CaptureSource::Files(vec![capture.clone().into()]);
    let options = ComparisonOptions::default().captures(CaptureSource::Nowhere, captures);
    let comparison = Comparison::open(one.as_str(), two.as_str(), &options).expect("two traces");
    let expected = [
        format!("diff --base {one} BASE2 BASE3 --new {two} NEW2 NEW3 --new-capture {capture}"),
        format!("diff {one} {two} --new-capture {capture} -o report --open"),
    ];
    for width in WIDTHS {
        let text = answer_text(&comparison, width);
        assert_eq!(commands(&text), expected, "{width}:\n{text}");
    }
}

#[test]
fn runs_that_vary_more_than_the_sides_differ_call_for_less_noise() {
    let screen = |base: &[&str], new: &[&str]| {
        let path = |name: &&str| format!("examples/traces/{name}.pt.trace.json.gz");
        let mut command = tracetree();
        command.args(["diff", "--no-report", "-q", "--base"]).args(base.iter().map(path));
        let out = command.arg("--new").args(new.iter().map(path)).output();
        String::from_utf8(out.expect("the program runs").stdout).expect("UTF-8")
    };
    let text =
        screen(&["known/host_base", "known/host_again"], &["known/host_third", "known/host_again"]);
    let advice = "1. record more steps on an idle machine: the runs vary by 2.52 ms, the sides differ by 0.77 ms";
    assert!(text.contains(advice), "{text}");
    let text = screen(
        &["h100/resnet_eager", "h100/resnet_eager_again", "h100/resnet_eager_third"],
        &["h100/resnet_tf32_off", "h100/resnet_tf32_off_again"],
    );
    assert!(text.contains("29% slower") && !text.contains("idle machine"), "{text}");
}

/// The keys and values that `--format brief` prints, and the size of the output in bytes.
fn brief(pair: [&str; 2]) -> (Vec<(String, String)>, usize) {
    let mut command = tracetree();
    command.args(["diff", "--no-report", "-q", "--format", "brief"]).args(pair);
    let out = command.output().expect("the program runs").stdout;
    let text = String::from_utf8(out).expect("UTF-8");
    let line = |line: &str| {
        let (key, value) = line.split_once(": ").expect("key: value");
        (key.to_owned(), value.to_owned())
    };
    (text.lines().map(line).collect(), text.len())
}

#[test]
fn a_brief_has_the_figures_of_the_summary_and_the_next_commands() {
    enter_root();
    for [one, two] in H100 {
        let paths = [one, two].map(|name| format!("examples/traces/h100/{name}.pt.trace.json.gz"));
        let (lines, size) = brief([&paths[0], &paths[1]]);
        assert!(size <= LONGEST_BRIEF, "{size} bytes");
        let value = |key: &str| {
            let found = lines.iter().find(|(own, _)| own == key);
            found.map(|(_, value)| value.as_str())
        };
        let number = |key: &str| value(key).and_then(|text| text.parse::<f64>().ok());
        let comparison =
            Comparison::open(paths[0].as_str(), paths[1].as_str(), &ComparisonOptions::default());
        let summary = tracetree::report::summarise(comparison.expect("two traces").analysis());
        let step = summary.wall.trace2.step_wall_us / 1e3;
        assert!((number("step_candidate_ms").expect("a time") - step).abs() < 1e-3);
        assert_eq!(value("changes"), Some(summary.changes.len().to_string().as_str()));
        // The costs of the changes, the time that is not attributed to a change, and the noise add up to the step-time
        // difference.
        let costs: f64 = (1..).map_while(|at| number(&format!("change_{at}_cost_ms"))).sum();
        let all = costs
            + number("together_ms").unwrap_or_default()
            + number("other_speed_ms").expect("a sum")
            + number("noise_or_not_tested_ms").expect("a sum");
        let difference = number("step_difference_ms").expect("a difference");
        assert!((all - difference).abs() < 0.01, "{all} of {difference}: {lines:?}");
        let known = lines.iter().any(|(_, value)| value.starts_with("tracetree diff "));
        assert!(known, "a command: {lines:?}");
    }
}

fn screens([baseline, candidate]: [&str; 2]) -> Vec<(usize, String)> {
    enter_root();
    let options = ComparisonOptions::default();
    let comparison = Comparison::open(baseline, candidate, &options).expect("two traces");
    WIDTHS.map(|width| (width, summary_text(&comparison, 6, width))).into()
}

#[test]
fn all_details_at_four_widths() {
    for (width, text) in screens(BUNDLED) {
        assert_snapshot("", &format!("terminal_{width}"), &text);
    }
}

#[test]
fn no_line_is_wider_than_the_terminal_and_no_figure_is_broken() {
    for (width, text) in [screens(BUNDLED), screens(CPU), answers()].concat() {
        for (line, next) in text.lines().zip(text.lines().skip(1)) {
            assert!(line.chars().count() <= width || is_whole_word(line), "{width}: {line}");
            let ends_in_digit = line.ends_with(|c: char| c.is_ascii_digit());
            let next = next.split_whitespace().next().unwrap_or_default();
            let breaks = ["%", "ms", "us", "µs", "→", "TB/s", "TFLOP/s"]
                .contains(&next.trim_end_matches([',', ';', ')']));
            assert!(!(ends_in_digit && breaks), "{width}: {line} / {next}");
        }
    }
}

#[test]
fn a_wide_screen_uses_its_full_width() {
    let screens = screens(BUNDLED);
    let widest = |at: usize| screens[at].1.lines().map(|line| line.chars().count()).max();
    assert!(widest(3) > Some(150), "{}", screens[3].1);
    let elided = |at: usize| screens[at].1.matches('…').count();
    assert!(elided(3) < elided(1) && elided(1) <= elided(0));
}

/// The stdout of a `tracetree diff` run that writes to a pipe, with the environment variable `COLUMNS` set to
/// `columns`.
fn piped(columns: Option<&str>) -> String {
    let mut command = tracetree();
    command
        .args(["diff", "--no-report", "-q", "-v", "--top", "100"])
        .args(BUNDLED)
        .env_remove("COLUMNS");
    if let Some(columns) = columns {
        command.env("COLUMNS", columns);
    }
    String::from_utf8(command.output().expect("the program runs").stdout).expect("UTF-8")
}

#[test]
fn a_pipe_honours_columns_and_elides_nothing() {
    enter_root();
    let words = |text: &str| -> Vec<String> {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        words.sort();
        words
    };
    let (narrow, wide) = (piped(Some("60")), piped(Some("200")));
    assert_eq!(narrow.matches('…').count(), 0, "{narrow}");
    assert_eq!(wide.matches('…').count(), 0, "{wide}");
    // On a narrow terminal, the table of totals is transposed and has no kernel counts, but all names and reasons are
    // shown.
    for word in words(&wide).iter().filter(|word| word.contains("::")) {
        assert!(narrow.contains(word.as_str()), "{word}");
    }
    let long = |text: &str| {
        let lines = text.lines().filter(|line| line.chars().count() > 60);
        lines.filter(|line| line.trim().contains("ms, ")).count()
    };
    assert_eq!(long(&narrow), 0, "{narrow}");
    assert!(long(&wide) > 0);
    assert_eq!(piped(None), piped(Some("100")));
}
