//! What `--help` of each command ends with: three things that people do with it.

pub(super) const DIFF: &str = "\
Examples:
  tracetree diff before.json.gz after.json.gz -o report
          one screen, and a folder with the page, the tables and a summary
  tracetree diff --base a1.json a2.json a3.json --new b1.json b2.json b3.json
          several runs a side: verdicts rest on the runs
  tracetree diff before.json.gz after.json.gz --no-report --fail-on 5%
          write nothing; exit with 1 where a step takes longer by more than 5 %";

pub(super) const INFO: &str = "\
Examples:
  tracetree info trace.json.gz
          what was recorded, in one line
  tracetree info -v trace.json.gz
          all that is known: steps, phases, model, how far ops are from the roofline
  tracetree info runs/*.json.gz --format json
          a list of objects, one for each trace";

pub(super) const TREE: &str = "\
Examples:
  tracetree tree trace.json.gz --sort total --depth 8
          where the GPU time is, largest first
  tracetree tree trace.json.gz --find 'module(\"Block_*\") / op(\"aten::linear\")'
          the calls that a path query names
  tracetree tree trace.json.gz --uid 4711 --depth 2
          one call: its path from the thread down, and two levels below";

pub(super) const UID: &str = "\
Examples:
  tracetree uid report 38
          the partner of event 38 of the baseline, from a report folder
  tracetree uid report --candidate 41
          the same for an event of the candidate
  tracetree uid before.json.gz after.json.gz --baseline 38
          from the traces themselves, with the names of both events";

pub(super) const EXPLAIN: &str = "\
Examples:
  tracetree explain report 38
          why event 38 of the baseline has its partner; reads the traces of the report again
  tracetree explain before.json.gz after.json.gz --candidate 41
          the same for an event of the candidate, without a report
  tracetree explain before.json.gz after.json.gz --baseline 38 --alias names.toml
          under names that count as equal";

pub(super) const GATE: &str = "\
Examples:
  tracetree gate --baseline base.ttb new.json.gz
          one run against a recorded baseline
  tracetree gate --base 'main/*.json.gz' --new 'branch/*.json.gz'
          several runs a side, without a file
  tracetree gate --baseline base.ttb new.json.gz --rules tracetree.toml --format md
          by rules of your own, for a step summary";

pub(super) const BASELINE: &str = "\
Examples:
  tracetree baseline record runs/*.json.gz -o base.ttb
          take these runs as what is good
  tracetree baseline show base.ttb
          what is in a file
  tracetree baseline accept base.ttb new.json.gz
          show what is new, and take it from now on";

pub(super) const HISTORY: &str = "\
Examples:
  tracetree history baselines/
          where the times of a folder of baselines changed
  tracetree history monday.ttb tuesday.ttb wednesday.ttb --least 5%
          changes of at least 5 % alone
  tracetree history baselines/ --format json
          for programs";

pub(super) const COMPLETIONS: &str = "\
Examples:
  tracetree completions bash > ~/.local/share/bash-completion/completions/tracetree
  tracetree completions zsh > ~/.zfunc/_tracetree
  tracetree completions fish > ~/.config/fish/completions/tracetree.fish";

pub(super) const PROGRAM: &str = "\
Examples:
  tracetree diff before.json.gz after.json.gz -o report
  tracetree info trace.json.gz
  tracetree uid report 38

Exit codes: 0 done, 1 differences that you asked to be told of, 2 unreadable input or bad usage, 3 not comparable or inconclusive.";

pub(super) const FLEET: &str = "\
Examples:
  tracetree fleet run runs/before runs/after -o fleet
          all ranks of a job on this machine: what is common, which rank stands out
  tracetree fleet plan runs/before runs/after -o plan.json
          pair the ranks; then `map` compares pairs anywhere, a shard each
  tracetree fleet reduce plan.json -o fleet
          add up the shards that are there";

pub(super) const FLEET_PLAN: &str = "\
Examples:
  tracetree fleet plan runs/before runs/after
          pair the ranks of two folders; the plan is in plan.json
  tracetree fleet plan runs/before runs/after --steps 2.. -o plan.json
          compare all steps but the first two
  tracetree fleet plan runs/before runs/after --alias names.toml --reports
          under names that count as equal, with a report of each rank";

pub(super) const FLEET_MAP: &str = "\
Examples:
  tracetree fleet map plan.json -o fleet
          all pairs that have no shard yet, on all cores of this machine
  tracetree fleet map plan.json -o /shared/fleet --pair \"$SLURM_ARRAY_TASK_ID\"
          one pair: a task of an array of jobs
  tracetree fleet map plan.json -o fleet --pair 7 --json
          one pair; what became of it as a line of JSON";

pub(super) const FLEET_REDUCE: &str = "\
Examples:
  tracetree fleet reduce plan.json -o fleet
          add up the shards in the folder that `map` wrote to
  tracetree fleet reduce plan.json --shards /shared/fleet -o fleet
          shards from one place, tables and page in another
  tracetree fleet reduce plan.json -o fleet --min-coverage 95% --format json
          exit with 3 where less than 95 % of what was planned was compared";

pub(super) const FLEET_RUN: &str = "\
Examples:
  tracetree fleet run runs/before runs/after -o fleet
          all ranks of a job: what is common, which rank stands out
  tracetree fleet run runs/before runs/after --phase decode --tables csv
          decode steps alone; tables for a spreadsheet
  tracetree fleet run runs/before runs/after --format md --min-coverage 100%
          for an issue or a step summary; exit with 3 where a rank is missing";

pub(super) const MAN: &str = "\
Examples:
  tracetree man | man -l -
          read it now
  tracetree man > ~/.local/share/man/man1/tracetree.1
          where `man tracetree` finds it";
