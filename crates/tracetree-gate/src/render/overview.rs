//! Writes an overview of a [`Recording`], which `tracetree baseline show` prints.

use crate::recording::{Captured, Recording};
use std::io::{self, Write};
use tracetree::escape::one_line;
use tracetree::program::counted;

/// Maximum number of modules in the overview.
const LISTED: usize = 12;

impl Recording {
    /// Writes an overview of the recording for people.
    ///
    /// # Errors
    /// Fails if `out` cannot be written to.
    pub fn write_overview(&self, out: &mut dyn Write) -> io::Result<()> {
        let device = match self.facts.devices.join(", ").as_str() {
            "" => self.facts.vendor.clone(),
            names => names.to_owned(),
        };
        writeln!(
            out,
            "{}, {}, on {}",
            counted(self.runs.len() as u64, "run"),
            counted(self.steps(), "step"),
            one_line(&device)
        )?;
        for (name, version) in &self.setup.versions {
            writeln!(out, "  {} {}", one_line(name), one_line(version))?;
        }
        let yes = |has: bool, what: &'static str| has.then_some(what);
        let has: Vec<&str> = [
            yes(self.facts.has_gpu, "GPU events"),
            yes(self.setup.has_modules, "modules"),
            yes(self.setup.has_shapes, "shapes"),
            match self.setup.captured {
                Captured::No => None,
                Captured::Partly => Some("captures for some graph launches"),
                Captured::Wholly => Some("captures for all graph launches"),
            },
        ]
        .into_iter()
        .flatten()
        .collect();
        writeln!(
            out,
            "contains {}",
            if has.is_empty() { "ops only".to_owned() } else { has.join(", ") }
        )?;
        writeln!(out, "\nper step:")?;
        for (measure, times) in &self.times {
            let (least, most) = times
                .iter()
                .fold((f64::INFINITY, 0.0_f64), |(least, most), &t| (least.min(t), most.max(t)));
            let middle = tracetree::analysis::robust::median(times);
            let measure = one_line(measure);
            writeln!(out, "  {measure:<32} {middle:>14.1} µs  ({least:.1} to {most:.1})")?;
        }
        for (name, count) in
            self.counts.iter().chain(&self.memory).filter(|(_, count)| count.most > 0)
        {
            writeln!(out, "  {:<32} {count:>14}", one_line(name))?;
        }
        let variable = self.ops.values().filter(|range| range.is_variable()).count();
        let ops = match self.ops.len() {
            1 => "1 kind of op".to_owned(),
            count => format!("{count} kinds of ops"),
        };
        writeln!(out, "\n{ops}; the number of calls varies between steps for {variable}")?;
        let mut chains = self.places.chains();
        chains.retain(|chain| !chain.is_empty());
        chains.sort();
        chains.dedup();
        for chain in chains.iter().filter(|chain| chain.matches('.').count() < 3).take(LISTED) {
            writeln!(out, "  {}", one_line(chain))?;
        }
        Ok(())
    }
}
