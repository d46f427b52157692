//! Writes `folded.txt` and `flamegraph.svg`: attributed time by host stack, for both sides.
//!
//! Each line in the folded file is a stack with `;` between its calls, followed by the baseline time and the candidate
//! time in ns. `flamegraph.pl`, inferno and speedscope read this format as a differential profile.

mod stack_tree;

use super::text::one_line;
use crate::analysis::Analysis;
use inferno::flamegraph::{self, Options};
use stack_tree::StackTree;
use std::io::{self, Write};

/// Minimum width of a drawn frame, in percent of the image width.
const LEAST_WIDTH: f64 = 0.05;

pub(super) fn write_folded(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    for line in StackTree::new(analysis).folded_lines() {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Writes the differential flame graph. The width of each frame represents the frame's time in the candidate.
pub(super) fn write_svg(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let mut options = Options::default();
    "tracetree: red frames take more time in the candidate, blue frames less"
        .clone_into(&mut options.title);
    options.subtitle = Some(one_line(&super::text::sentence(analysis)).into_owned());
    "ns".clone_into(&mut options.count_name);
    options.min_width = LEAST_WIDTH;
    options.deterministic = true;
    let lines = StackTree::new(analysis).folded_lines();
    let drawable = lines.iter().any(|line| !line.ends_with(" 0"));
    if !drawable {
        return out.write_all(NOTHING.as_bytes());
    }
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), out)
        .map_err(io::Error::other)
}

/// The image that is written if the candidate has no attributed time.
const NOTHING: &str = "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" \
    width=\"600\" height=\"60\"><text x=\"10\" y=\"35\" font-family=\"sans-serif\">trace2 has no \
    attributed time</text></svg>\n";
