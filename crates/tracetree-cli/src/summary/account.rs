//! Formats the time of each side as a sum: matched + unmatched + launch not in trace = total. The sum is exact to the
//! nanosecond. Each side is one line of terms or, if the lines would be too wide, one column.

use super::super::columns::pad;
use tracetree::report::Width;

/// Labels of the three terms that add up to the time of a side, followed by the label of the total.
const PARTS: [&str; 4] = ["matched", "unmatched", "launch not in trace", "total"];

/// The sums of both sides: a title, and for each side its name, its three formatted terms and its total.
pub(super) struct Account {
    pub(super) title: String,
    pub(super) sides: [(String, [String; 4]); 2],
}

impl Account {
    /// The formatted lines, starting with the titles.
    pub(super) fn lines(&self, width: Width) -> Vec<String> {
        let beside = self.side_by_side();
        if beside.iter().all(|line| line.chars().count() <= width.columns()) {
            beside
        } else {
            self.one_below_the_other()
        }
    }

    fn side_by_side(&self) -> Vec<String> {
        let titles = (&self.title, &PARTS.map(str::to_owned));
        let mut lines = vec![titles];
        lines.extend(self.sides.iter().map(|(name, figures)| (name, figures)));
        let room = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
        let [w0, w1, w2, w3] = [0, 1, 2, 3]
            .map(|at| lines.iter().map(|(_, cells)| cells[at].len()).max().unwrap_or_default());
        let line = |at: usize, (name, cells): &(&String, &[String; 4])| {
            let [paired, only, unlinked, total] = cells;
            let (plus, equals) = if at == 0 { (" ", " ") } else { ("+", "=") };
            let name = pad(name, room);
            format!(
                "{name}  {paired:>w0$} {plus} {only:>w1$} {plus} {unlinked:>w2$} {equals} {total:>w3$}"
            )
        };
        lines.iter().enumerate().map(|(at, cells)| line(at, cells)).collect()
    }

    fn one_below_the_other(&self) -> Vec<String> {
        let titles = [self.title.as_str()].into_iter().chain(PARTS);
        let room = titles.map(|title| title.chars().count() + 2).max().unwrap_or_default();
        let widths = self.sides.each_ref().map(|(name, figures)| {
            let cells = figures.iter().map(String::len).chain([name.chars().count()]);
            cells.max().unwrap_or_default()
        });
        let line = |title: &str, cells: [&str; 2]| {
            let [w0, w1] = widths;
            format!("{}  {:>w0$}  {:>w1$}", pad(title, room), cells[0], cells[1])
        };
        let names = self.sides.each_ref().map(|(name, _)| name.as_str());
        let mut lines = vec![line(&self.title, names)];
        for (at, part) in PARTS.iter().enumerate() {
            let sign = ["  ", "+ ", "+ ", "= "][at];
            let cells = self.sides.each_ref().map(|(_, figures)| figures[at].as_str());
            lines.push(line(&format!("{sign}{part}"), cells));
        }
        lines
    }
}
