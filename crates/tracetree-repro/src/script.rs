//! Assembles a script: assignments of literals, followed by the template.

use crate::arguments::Refused;
use crate::choose::Chosen;
use crate::grammar;
use crate::options::{Printed, ScriptOptions};
use crate::recorded::Recorded;
use std::fmt;
use tracetree::diff::TraceDiff;
use tracetree::tree::{CallId, CallTree};
use tracetree::{PerSide, Side};

/// The part that is the same in every script.
const TEMPLATE: &str = include_str!("template.py");

/// One side of the comparison.
struct Case {
    /// `None` if the side's call cannot be repeated, or is a different op.
    chosen: Option<Chosen>,
    recorded: Recorded,
}

/// A script, ready to be written.
pub(crate) struct Script<'a> {
    op: String,
    note: String,
    cases: PerSide<Option<Case>>,
    options: &'a ScriptOptions,
}

impl<'a> Script<'a> {
    /// The script that repeats a call, or the nearest call around it that can be repeated.
    pub(crate) fn of(
        diff: &TraceDiff,
        side: Side,
        call: CallId,
        options: &'a ScriptOptions,
    ) -> Result<Script<'a>, Refused> {
        let given = options.list_dtype.map(|dtype| dtype.0);
        let tree = diff.tree(side);
        let chosen = Chosen::near(tree, call, options.reach, given)?;
        let op = tree.name(chosen.call).to_owned();
        let other = diff.counterpart(side, chosen.call);
        let note = note(tree, side, call, chosen.call);
        let mut cases = PerSide::default();
        if let Some(other_call) = other {
            let other_tree = diff.tree(side.other());
            let is_same = other_tree.name(other_call) == op;
            let chosen = Chosen::exactly(other_tree, other_call, given).ok();
            let recorded = Recorded::of(other_tree, other_call);
            cases[side.other()] = Some(Case { chosen: chosen.filter(|_| is_same), recorded });
        }
        let recorded = Recorded::of(tree, chosen.call);
        cases[side] = Some(Case { chosen: Some(chosen), recorded });
        Ok(Script { op, note, cases, options })
    }
}

/// Which call of the trace the script repeats.
fn note(tree: &CallTree, side: Side, asked: CallId, chosen: CallId) -> String {
    let label = |call: CallId| {
        let event = tree.event(call).map(|event| tree.trace().uid_label(event)).unwrap_or_default();
        format!("event {event} of the {}", side.word())
    };
    let module = tree
        .module(chosen)
        .map_or_else(String::new, |module| format!(", in {}", tree.name(module)));
    if asked == chosen {
        format!("{}{module}", label(chosen))
    } else {
        format!("{}{module}; around {}, {}", label(chosen), tree.name(asked), label(asked))
    }
}

impl fmt::Display for Script<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Script { op, note, options, .. } = self;
        let settings = options.settings.iter().map(|setting| {
            format!("\"{}\": {}", setting.name, grammar::quoted(setting.value.chars()))
        });
        let settings: Vec<String> = settings.collect();
        let imports = options.imports.iter().map(|module| format!("\"{}\"", module.0));
        let json = match options.printed {
            Printed::Text => "False",
            Printed::Json => "True",
        };
        writeln!(f, "#!/usr/bin/env python3")?;
        writeln!(
            f,
            "\"\"\"Repeats one recorded call of {op}. Written by `tracetree repro`; needs only PyTorch.\"\"\""
        )?;
        writeln!(f, "OP = {}", grammar::text(op))?;
        writeln!(f, "NOTE = {}", grammar::text(note))?;
        writeln!(f, "SET = {{{}}}", settings.join(", "))?;
        writeln!(f, "IMPORTS = {}", grammar::list(imports))?;
        writeln!(f, "JSON = {json}")?;
        writeln!(f, "CASES = {{")?;
        for side in Side::BOTH {
            if let Some(case) = &self.cases[side] {
                writeln!(f, "    \"{}\": {{\n{case}    }},", side.word())?;
            }
        }
        write!(f, "}}\n{TEMPLATE}")
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.chosen {
            Some(chosen) => {
                writeln!(f, "        \"args\": [")?;
                for argument in &chosen.arguments {
                    writeln!(f, "            {argument},")?;
                }
                writeln!(f, "        ],")?;
            }
            None => writeln!(f, "        \"args\": None,")?,
        }
        let assumed = self.chosen.as_ref().and_then(Chosen::assumption);
        writeln!(
            f,
            "        \"assumed\": {},",
            grammar::list(assumed.map(|text| grammar::text(&text)))
        )?;
        writeln!(f, "        \"recorded\": {},", self.recorded)
    }
}
