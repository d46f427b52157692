//! [`Digest`] → what `tracetree baseline show` prints.

use crate::escape::one_line;
use crate::gate::digest::{Captured, Digest, NodeKind};
use std::io::{self, Write};

/// How many modules or ops are listed.
const LISTED: usize = 12;

impl Digest {
    /// Writes what is in a digest, for people.
    ///
    /// # Errors
    /// If `out` cannot be written to.
    pub fn write_overview(&self, out: &mut dyn Write) -> io::Result<()> {
        let device = match self.setup.devices.join(", ").as_str() {
            "" => self.setup.vendor.clone(),
            names => names.to_owned(),
        };
        writeln!(
            out,
            "{} runs, {} steps, on {}",
            self.runs.len(),
            self.steps(),
            one_line(&device)
        )?;
        for (name, version) in &self.setup.versions {
            writeln!(out, "  {} {}", one_line(name), one_line(version))?;
        }
        let yes = |has: bool, what: &'static str| has.then_some(what);
        let has: Vec<&str> = [
            yes(self.setup.has_gpu, "GPU events"),
            yes(self.setup.has_modules, "modules"),
            yes(self.setup.has_shapes, "shapes"),
            match self.setup.captured {
                Captured::No => None,
                Captured::Partly => Some("captures of some graph launches"),
                Captured::Wholly => Some("captures of its graphs"),
            },
        ]
        .into_iter()
        .flatten()
        .collect();
        writeln!(
            out,
            "has {}",
            if has.is_empty() { "ops alone".to_owned() } else { has.join(", ") }
        )?;
        writeln!(out, "\na step:")?;
        for (measure, times) in &self.times {
            let (least, most) = times
                .iter()
                .fold((f64::INFINITY, 0.0_f64), |(least, most), &t| (least.min(t), most.max(t)));
            let middle = crate::analysis::robust::median(times);
            let measure = one_line(measure);
            writeln!(out, "  {measure:<32} {middle:>14.1} us  ({least:.1} to {most:.1})")?;
        }
        for (name, count) in self.counts.iter().filter(|(_, count)| count.most > 0) {
            writeln!(out, "  {:<32} {count:>14}", one_line(name))?;
        }
        let variable = self.nodes().filter(|(_, node)| node.calls.is_variable()).count();
        writeln!(out, "\n{} places, {variable} of them vary among the steps", self.len())?;
        let listed = self
            .nodes()
            .filter(|(depth, node)| *depth <= 3 && matches!(node.kind, NodeKind::Module))
            .take(LISTED);
        for (depth, node) in listed {
            writeln!(out, "{:indent$}{}", "", one_line(&node.name), indent = 2 * depth)?;
        }
        Ok(())
    }
}
