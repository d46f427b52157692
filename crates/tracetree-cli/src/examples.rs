//! The examples at the end of each command's `--help`.

pub(super) const DIFF: &str = "\
Examples:
  tracetree diff before.json.gz after.json.gz -o report
          print a summary; write a report folder with a page, tables and the summary
  tracetree diff --base a1.json a2.json a3.json --new b1.json b2.json b3.json
          compare several runs per side; significance is tested across runs
  tracetree diff before.json.gz after.json.gz --no-report --fail-on 5%
          write no report; exit with 1 if a step takes more than 5% longer";

pub(super) const INFO: &str = "\
Examples:
  tracetree info trace.json.gz
          describe the recording in one line
  tracetree info -v trace.json.gz
          print all details: steps, phases, model, and how far ops are from the roofline
  tracetree info runs/*.json.gz --format json
          print a JSON list with one object per trace";

pub(super) const TREE: &str = "\
Examples:
  tracetree tree trace.json.gz --sort total --depth 8
          show where GPU time is spent, largest first
  tracetree tree trace.json.gz --find 'module(\"Block_*\") / op(\"aten::linear\")'
          show the calls that match a path query
  tracetree tree trace.json.gz --uid 4711 --depth 2
          show one call, the path from the thread to it, and two levels below it";

pub(super) const MEMORY: &str = "\
Examples:
  tracetree memory before.pickle after.pickle
          compare live memory at the peak and at the end, by Python stack
  tracetree memory before.pickle after.pickle --format csv
          print every stack as a table

Record a snapshot of each side:
  torch.cuda.memory._record_memory_history(); step(); torch.cuda.memory._dump_snapshot('before.pickle')";

pub(super) const UID: &str = "\
Examples:
  tracetree uid report 38
          find the match of baseline event 38 in a report folder
  tracetree uid report --candidate 41
          find the match of candidate event 41
  tracetree uid before.json.gz after.json.gz --baseline 38
          look up the event in the traces and print both names";

pub(super) const REPRO: &str = "\
Examples:
  tracetree repro report 17 -o call.py
          write a script for row 17 of the report's diff_stats.csv; reads the report's traces again
  tracetree repro before.json.gz after.json.gz --candidate 41 | python - --side candidate
          run a call with the candidate's arguments, without a report
  tracetree repro report --bill-line 0 --inner -o call.py
          the call with the largest difference of change 0, even if it exists only in one backend";

pub(super) const WHAT_IF: &str = "\
Examples:
  tracetree what-if before.json.gz after.json.gz
          print bounds, critical paths, and the effect of each change on the step time
  tracetree what-if trace.json.gz --scale 'kernel(\"*softmax*\")=0.5'
          print what the step time would be if these kernels took half as long
  tracetree what-if trace.json.gz --host 0
          print a lower bound on the step time that graph capture can reach";

pub(super) const EXPLAIN: &str = "\
Examples:
  tracetree explain report 38
          explain the match of baseline event 38; reads the report's traces again
  tracetree explain before.json.gz after.json.gz --candidate 41
          explain the match of candidate event 41, without a report
  tracetree explain before.json.gz after.json.gz --baseline 38 --alias names.toml
          treat the names in the alias file as equal";

pub(super) const GATE: &str = "\
Examples:
  tracetree gate --baseline base.ttb new.json.gz
          check one run against a recorded baseline
  tracetree gate --base 'main/*.json.gz' --new 'branch/*.json.gz'
          compare several runs per side, without a baseline file
  tracetree gate --baseline base.ttb new.json.gz --rules tracetree.toml --format md
          use your own rules; print Markdown for a CI step summary";

pub(super) const BASELINE: &str = "\
Examples:
  tracetree baseline record runs/*.json.gz -o base.ttb
          record these runs as the baseline
  tracetree baseline show base.ttb
          print the contents of a baseline file
  tracetree baseline accept base.ttb new.json.gz
          show the changes and accept the new runs as the baseline";

pub(super) const HISTORY: &str = "\
Examples:
  tracetree history baselines/
          find where times changed in a folder of baselines
  tracetree history monday.ttb tuesday.ttb wednesday.ttb --least 5%
          ignore changes below 5%
  tracetree history baselines/ --format json
          print JSON";

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

Exit codes: 0 done, 1 differences found (with --exit-code or a limit), 2 unreadable input or bad usage, 3 not comparable or inconclusive.";

pub(super) const FLEET: &str = "\
Examples:
  tracetree fleet run runs/before runs/after -o fleet
          compare all ranks of a job; list shared changes and deviating ranks
  tracetree fleet plan runs/before runs/after -o plan.json
          match the ranks; `map` then compares the pairs on any machine
  tracetree fleet reduce plan.json -o fleet
          combine the existing shards";

pub(super) const FLEET_PLAN: &str = "\
Examples:
  tracetree fleet plan runs/before runs/after
          match the ranks of two folders and write plan.json
  tracetree fleet plan runs/before runs/after --steps 2.. -o plan.json
          skip the first two steps
  tracetree fleet plan runs/before runs/after --alias names.toml --reports
          treat aliased names as equal; write a report for each rank";

pub(super) const FLEET_MAP: &str = "\
Examples:
  tracetree fleet map plan.json -o fleet
          compare every pair that has no shard yet, on all cores of this machine
  tracetree fleet map plan.json -o /shared/fleet --pair \"$SLURM_ARRAY_TASK_ID\"
          compare one pair, as one task of a job array
  tracetree fleet map plan.json -o fleet --pair 7 --json
          compare one pair and print the result as a line of JSON";

pub(super) const FLEET_REDUCE: &str = "\
Examples:
  tracetree fleet reduce plan.json -o fleet
          combine the shards in the folder that `map` wrote to
  tracetree fleet reduce plan.json --shards /shared/fleet -o fleet
          read shards from one folder, write the tables and the page to another folder
  tracetree fleet reduce plan.json -o fleet --min-coverage 95% --format json
          exit with 3 if less than 95% of the planned pairs were compared";

pub(super) const FLEET_RUN: &str = "\
Examples:
  tracetree fleet run runs/before runs/after -o fleet
          compare all ranks of a job; list shared changes and deviating ranks
  tracetree fleet run runs/before runs/after --phase decode --tables csv
          compare decode work only; write tables for a spreadsheet
  tracetree fleet run runs/before runs/after --format md --min-coverage 100%
          print Markdown for an issue; exit with 3 if a rank is missing";

pub(super) const MAN: &str = "\
Examples:
  tracetree man | man -l -
          read the manual page
  tracetree man > ~/.local/share/man/man1/tracetree.1
          install it for `man tracetree`";
