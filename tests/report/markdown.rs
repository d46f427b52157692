//! Tests for `report.md`: the content is complete, names stay plain text, and the file is small enough for a GitHub
//! issue.

use crate::support::reports::{HOSTILE, hostile_pair, model_pair, with_analysis};
use crate::support::trace_builder::{Op, TraceBuilder};
use tracetree::PerSide;
use tracetree::report::write_markdown;

fn markdown(pair: &PerSide<String>, top: usize) -> String {
    let mut out = Vec::new();
    with_analysis(pair, |analysis| {
        write_markdown(analysis, top, &mut out).expect("memory");
        Ok(())
    })
    .expect("readable traces");
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn it_starts_with_what_a_step_takes_and_lists_the_largest_difference() {
    let text = markdown(&model_pair(), 20);
    let headline = text.lines().next().unwrap_or_default();
    assert!(headline.starts_with("**") && headline.ends_with(" per step**"), "{text}");
    assert!(text.contains("\n\nH100 takes 1."), "{text}");
    let (_, names) = text.split_once("### Differences").expect("the section");
    let first = names.lines().find(|line| line.starts_with("| `")).expect("a row");
    assert!(
        first.starts_with("| `aten::addmm` | 6 | 6 | 126.000 | 85.998 | −40.002 | 0.68x |"),
        "{first}"
    );
    assert!(text.contains("By step") && text.contains("By module class"), "{text}");
    assert!(text.contains("### Totals") && text.contains("The rows add up exactly to "), "{text}");
    assert!(text.contains("`LAUNCH_NOT_CAPTURED` MI300X"), "{text}");
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
}

#[test]
fn top_bounds_the_table_of_names() {
    let names = |top| {
        let text = markdown(&model_pair(), top);
        let (_, rest) = text.split_once("### Differences").expect("the section");
        let (table, _) = rest.split_once("<details>").expect("the next section");
        table.lines().filter(|line| line.starts_with("| `")).count()
    };
    assert_eq!(names(1), 1);
    assert!(names(20) > 1);
}

/// The text outside of code spans, which is the text that Markdown interprets.
fn outside_of_code(text: &str) -> String {
    let mut outside = String::new();
    for line in text.lines() {
        // The summary of a details block is HTML, so names in the summary are HTML code elements.
        let line = &without_html_code(line);
        let mut rest = line.as_str();
        while let Some(start) = rest.find('`') {
            outside.push_str(&rest[..start]);
            let fence = rest[start..].chars().take_while(|&c| c == '`').count();
            let (ticks, body) = (&rest[start..start + fence], &rest[start + fence..]);
            let end = end_of_span(body, ticks).unwrap_or_else(|| panic!("open code span: {line}"));
            rest = &body[end + fence..];
        }
        outside.push_str(rest);
        outside.push('\n');
    }
    outside
}

fn without_html_code(line: &str) -> String {
    let (before, rest) = line.split_once("<code>").unwrap_or((line, ""));
    let after = rest.split_once("</code>").map_or("", |(_, after)| after);
    format!("{before}{after}")
}

/// The position in `body` at which the closing backticks of a code span start. A code span has exactly as many closing
/// backticks as opening backticks.
fn end_of_span(body: &str, ticks: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = body[at..].find('`') {
        let run = body[at + found..].chars().take_while(|&c| c == '`').count();
        if run == ticks.len() {
            return Some(at + found);
        }
        at += found + run;
    }
    None
}

#[test]
fn names_are_code_and_nothing_else() {
    let text = markdown(&hostile_pair(), 50);
    let outside = outside_of_code(&text);
    for markup in ["<script", "<img", "<svg", "](", "@someone", "hacked", "\u{1b}", "\u{202e}"] {
        assert!(!outside.contains(markup), "{markup} in {outside}");
    }
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
    assert!(text.contains("`</script><script>window.hacked = 1</script>`"));
}

#[test]
fn every_line_of_a_table_has_the_same_cells() {
    for pair in [model_pair(), hostile_pair()] {
        let text = markdown(&pair, 50);
        let mut columns = 0;
        for line in text.lines() {
            if !line.starts_with('|') {
                columns = 0;
                continue;
            }
            let cells = line.replace("\\|", "").matches('|').count();
            assert!(columns == 0 || columns == cells, "{line}");
            columns = cells;
        }
    }
}

#[test]
fn it_fits_into_an_issue_whatever_the_names() {
    let build = |factor: f64| {
        TraceBuilder::cuda()
            .thread("main", |t| {
                for at in 0..400_i64 {
                    let name = format!("{at}{}", HOSTILE[3].repeat(60));
                    t.module(&name, |t| {
                        t.op(Op::new(&name).dims(&[&[at; 40]]), |t| {
                            t.kernel(&name, factor * (1.0 + at as f64));
                        });
                    });
                }
            })
            .json()
    };
    let text = markdown(&PerSide::new(build(1.0), build(3.0)), 400);
    assert!(text.len() < 65_000, "{} bytes", text.len());
    assert!(text.contains("candidate takes 3.00x"));
    assert!(text.contains("are omitted"), "the report does not say what it omits");
}

#[test]
fn equal_traces_have_no_differences_to_list() {
    let pair = model_pair();
    let text = markdown(&PerSide::new(pair.baseline.clone(), pair.baseline), 20);
    assert!(text.starts_with("**Unchanged: ") && text.contains(" on both sides"), "{text}");
    assert!(text.contains("None: the times of all rows are equal."), "{text}");
}

/// The headings and the summaries of details blocks, in order.
fn parts(text: &str) -> Vec<&str> {
    let parts = text.lines().filter_map(|line| {
        let folded = line.strip_prefix("<details><summary>");
        line.strip_prefix("### ").or(folded).map(|part| part.trim_end_matches("</summary>"))
    });
    parts.collect()
}

#[test]
fn the_parts_are_in_the_order_of_the_page() {
    let text = markdown(&model_pair(), 20);
    let parts = parts(&text);
    let at = |wanted: &str| {
        let found = parts.iter().position(|part| part.starts_with(wanted));
        found.unwrap_or_else(|| panic!("no {wanted} in {parts:?}"))
    };
    let order = [
        "Changed for certain",
        "Same program, different speed",
        "What to do",
        "Inputs",
        "Warnings",
        "Differences",
        "<code>aten::addmm</code>",
        "Largest rows",
        "Points of difference",
        "By ",
        "Steps",
        "Idle time by call",
        "Same kernels",
        "Totals",
    ];
    let places: Vec<usize> = order.iter().map(|wanted| at(wanted)).collect();
    assert!(places.is_sorted(), "{parts:?}");
}

#[test]
fn traces_that_are_not_comparable_give_an_alert_that_names_the_notes() {
    let build = |rows: i64| {
        let of_step = |t: &mut crate::support::trace_builder::HostThread<'_>| {
            t.op(Op::new("aten::mm").dims(&[&[rows, 8], &[8, 4]]), |t| t.kernel("gemm", 5.0));
        };
        TraceBuilder::cuda().thread("main", of_step).json()
    };
    let text = markdown(&PerSide::new(build(16), build(64)), 20);
    let (_, alert) = text.split_once("> [!WARNING]\n").expect("an alert");
    let lines: Vec<&str> = alert.lines().take_while(|line| line.starts_with("> ")).collect();
    assert_eq!(lines[0], "> The traces do different work.");
    assert!(lines[1].starts_with("> - `DIFFERENT_SHAPES`: "), "{lines:?}");
    let same = markdown(&PerSide::new(build(16), build(16)), 20);
    assert!(!same.contains("[!WARNING]"), "{same}");
}

#[test]
fn an_alert_says_that_a_trace_is_incomplete_and_no_more() {
    let of_step = |t: &mut crate::support::trace_builder::HostThread<'_>| {
        t.op(Op::new("aten::mm"), |t| t.kernel("gemm", 5.0));
        t.op(Op::new("aten::add"), |t| t.kernel("add", 5.0));
    };
    let whole = TraceBuilder::cuda().thread("main", of_step).json();
    let lost: Vec<&str> = whole.lines().filter(|line| !line.contains(r#""name":"add""#)).collect();
    let lost = lost.join("\n");
    let text = markdown(&PerSide::new(whole, lost), 20);
    let (_, alert) = text.split_once("> [!WARNING]\n").expect("an alert");
    let lines: Vec<&str> = alert.lines().take_while(|line| line.starts_with("> ")).collect();
    assert_eq!(lines[0], "> A trace is incomplete.");
    assert!(lines[1].starts_with("> - `INCOMPLETE_TRACE`: "), "{lines:?}");
    assert!(!text.contains("traces do different work"), "{text}");
}

#[test]
fn the_largest_names_have_their_kernels_with_counts_and_their_shapes() {
    let text = markdown(&model_pair(), 20);
    let (_, rest) = text.split_once("Kernels and shapes of `aten::addmm`:").expect("the name");
    let (part, _) = rest.split_once("</details>").expect("its end");
    assert!(part.contains("- MI300X: 6 kernels\n  - 6 × `gemm_kernel`, 126.000 µs"), "{part}");
    assert!(part.contains("| `[[16], [8, 16]]` | 6 | 126.000 | 85.998 |"), "{part}");
}

#[test]
fn names_are_whole_where_markdown_wraps() {
    let long = format!("void kernel<{}end>", "long, ".repeat(100));
    let build = |factor: f64| {
        let body = |t: &mut crate::support::trace_builder::HostThread<'_>| {
            t.op("aten::add", |t| t.kernel(&long, factor));
        };
        TraceBuilder::cuda().thread("main", body).json()
    };
    let text = markdown(&PerSide::new(build(5.0), build(9.0)), 20);
    assert!(text.contains(&format!("1 × `{long}`")), "{text}");
}
