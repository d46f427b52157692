//! Tests for `folded.txt` and `flamegraph.svg`: the files are parsed as other tools parse them, and the time attributed
//! to each stack is checked.

use crate::support::reports::{hostile_pair, model_pair, with_analysis, write};
use crate::support::trace_builder::TraceBuilder;
use std::fs;
use tracetree::PerSide;
use tracetree::report::Emit;

/// Both flame graph files for a pair: the text of `folded.txt`, and the SVG.
fn files(pair: &PerSide<String>) -> (String, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = folder.path().join("report");
    write(pair, &target, &[Emit::Flamegraph]).expect("a report");
    let read = |name: &str| fs::read_to_string(target.join(name)).expect("a file");
    (read("folded.txt"), read("flamegraph.svg"))
}

/// Splits a line of `folded.txt` into the calls and the two times.
fn parse(line: &str) -> (Vec<&str>, [i64; 2]) {
    let mut parts = line.rsplitn(3, ' ');
    let candidate = parts.next().expect("trace2").parse().expect("a number");
    let baseline = parts.next().expect("trace1").parse().expect("a number");
    (parts.next().expect("a stack").split(';').collect(), [baseline, candidate])
}

#[test]
fn the_columns_add_up_to_the_totals() {
    for pair in [model_pair(), hostile_pair()] {
        let (folded, _) = files(&pair);
        let sums = folded
            .lines()
            .map(parse)
            .fold([0, 0], |sum, (_, time)| [sum[0] + time[0], sum[1] + time[1]]);
        with_analysis(&pair, |analysis| {
            let totals = &analysis.account().totals;
            assert_eq!(sums, [totals.baseline.time.0, totals.candidate.time.0]);
            Ok(())
        })
        .expect("readable traces");
    }
}

#[test]
fn equal_stacks_are_one_line_from_the_thread_to_the_kernel() {
    let (folded, _) = files(&model_pair());
    let lines: Vec<_> = folded.lines().map(parse).collect();
    let of_add: Vec<_> =
        lines.iter().filter(|(stack, _)| stack.last() == Some(&"add_kernel")).collect();
    let [(stack, time)] = of_add[..] else { panic!("{} lines of one stack", of_add.len()) };
    assert_eq!(*time, [8_000, 8_000], "two steps of 4 us");
    let tail =
        ["train.py(3): step", "nn.Module: Net_0", "nn.Module: Conv2d_0", "aten::_convolution"];
    assert_eq!(stack[1..5], tail);
    let mut sorted: Vec<&str> = folded.lines().collect();
    sorted.sort_unstable();
    let stacks: std::collections::BTreeSet<_> = lines.iter().map(|(stack, _)| stack).collect();
    assert_eq!(stacks.len(), sorted.len(), "a stack stands twice");
}

#[test]
fn no_name_breaks_a_line_or_a_stack() {
    let (folded, picture) = files(&hostile_pair());
    assert!(folded.lines().all(|line| parse(line).0.len() <= 5), "{folded}");
    assert!(!folded.contains('\u{1b}') && !folded.contains('\t'));
    assert!(folded.contains("two\\nlines\\tand,semicolons,0 0"));
    assert!(!picture.contains("<img") && !picture.contains("<script>window"));
    assert!(picture.contains("&lt;script&gt;window.hacked"));
}

#[test]
fn red_frames_take_longer_and_blue_ones_less() {
    let (_, picture) = files(&model_pair());
    let fill = |name: &str| -> Vec<u8> {
        let at = picture.find(&format!("<title>{name} (")).expect("the frame");
        let (_, rest) = picture[at..].split_once("fill=\"rgb(").expect("a colour");
        let (numbers, _) = rest.split_once(')').expect("three numbers");
        numbers.split(',').map(|number| number.parse().expect("0 to 255")).collect()
    };
    let (slower, faster) = (
        fill("aten::miopen_convolution_kernel | aten::cudnn_convolution_kernel"),
        fill("gemm_kernel"),
    );
    assert!(slower[0] > slower[2], "{slower:?}");
    assert!(faster[0] < faster[2], "{faster:?}");
}

#[test]
fn a_candidate_without_time_gives_a_picture_that_says_so() {
    let idle = TraceBuilder::cuda().thread("python3", |t| t.leaf("aten::relu")).json();
    let (folded, picture) = files(&PerSide::new(model_pair().baseline, idle));
    assert!(folded.lines().all(|line| parse(line).1[1] == 0));
    assert!(picture.contains("trace2 has no attributed time"));
}
