//! Tests with runs that are killed while they replace a report. If a run is killed, the folder must contain either a
//! complete report or one that every command refuses to read.
#![cfg(unix)]

use super::interrupted::{CNN, OTHER, assert_refused, error, run, tracetree, write_report};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const KILLS: u32 = 200;
/// Renaming all files in a report takes less than this time.
const RENAMES: Duration = Duration::from_millis(3);

type Files = BTreeMap<String, Vec<u8>>;

/// Generates random delays that are the same each time the test runs.
struct Moments(u64);

impl Moments {
    /// A random delay of at most `longest`.
    fn next(&mut self, longest: Duration) -> Duration {
        // xorshift64.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        longest.mul_f64((self.0 >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

/// Removes the staging folders that killed runs did not remove, and returns the files in `folder`.
fn files(folder: &Path) -> Files {
    let mut files = Files::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            fs::remove_dir_all(&path).expect("removed")
        } else {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            drop(files.insert(name, fs::read(&path).expect("read")));
        }
    }
    files
}

/// A folder with a report, and the files of the two reports that replace each other in this folder.
struct Place {
    home: TempDir,
    generations: [Files; 2],
    /// Duration of a run that is not killed.
    run: Duration,
}

impl Place {
    fn new() -> Place {
        let home = tempfile::tempdir().expect("a folder");
        let mut run = Duration::ZERO;
        let generations = [CNN, OTHER].map(|candidate| {
            let (folder, start) = (home.path().join("whole"), Instant::now());
            assert!(write_report(candidate, &folder, &["-q"]).status.success());
            run = start.elapsed();
            files(&folder)
        });
        assert_ne!(generations[0], generations[1]);
        let place = Place { home, generations, run };
        assert!(write_report(CNN, &place.report(), &["-q"]).status.success());
        place
    }

    fn report(&self) -> PathBuf {
        self.home.path().join("report")
    }

    /// Starts a run that replaces the report, and kills the run after a random delay. The delay begins when the run
    /// starts or, with `is_in_renames`, when the run replaces the manifest. Returns whether the run was still in
    /// progress when it was killed.
    fn kill(&self, candidate: &str, is_in_renames: bool, moments: &mut Moments) -> bool {
        let manifest = self.report().join("manifest.json");
        let before = fs::read(&manifest).expect("a manifest");
        let mut child = tracetree(&["diff", CNN, candidate, "-q", "-o"])
            .arg(self.report())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut start = Instant::now();
        let wait = moments.next(if is_in_renames { RENAMES } else { self.run });
        if is_in_renames {
            let is_unchanged = || fs::read(&manifest).is_ok_and(|now| now == before);
            while child.try_wait().expect("a child").is_none() && is_unchanged() {}
            start = Instant::now();
        }
        // The test busy-waits, because sleeping takes longer than a rename.
        while start.elapsed() < wait {
            std::hint::spin_loop();
        }
        let is_running = child.try_wait().expect("a child").is_none();
        if is_running {
            kill_process(Pid::from_child(&child), Signal::KILL).expect("the program runs");
        }
        child.wait().expect("a status");
        is_running
    }

    /// Runs `uid` on the folder, and returns which of the two reports the folder contains; `None` if `uid` rejects the
    /// folder.
    fn generation(&self) -> Option<usize> {
        let report = self.report();
        let found = files(&report);
        let uid = run(&["uid", &report.to_string_lossy(), "5"]);
        if uid.status.success() {
            let whole = self.generations.iter().position(|generation| *generation == found);
            return Some(whole.expect("uid answers from a whole report alone"));
        }
        assert_refused(&report, "the run that wrote it was interrupted");
        None
    }
}

#[test]
#[ignore = "takes minutes"]
fn two_hundred_killed_runs_leave_one_whole_report_or_one_that_is_refused() {
    let place = Place::new();
    let (mut moments, mut at) = (Moments(0x9e37_79b9_7f4a_7c15), 0);
    let (mut killed, mut old, mut new, mut refused) = (0, 0, 0, 0);
    for kill in 0..KILLS {
        let next = 1 - at;
        let candidate = [CNN, OTHER][next];
        killed += u32::from(place.kill(candidate, kill % 2 == 0, &mut moments));
        match place.generation() {
            Some(found) if found == at => old += 1,
            Some(_) => {
                new += 1;
                at = next;
            }
            None => {
                refused += 1;
                let repair = write_report(candidate, &place.report(), &[]);
                assert!(repair.status.success(), "{}", error(&repair));
                assert!(error(&repair).contains("was stopped before all files"));
                assert_eq!(place.generation(), Some(next), "repaired");
                at = next;
            }
        }
    }
    let shown = format!(
        "{KILLS} runs, {killed} killed before they ended: {old} left the old report, {new} the new one, \
         {refused} a folder that is refused"
    );
    let _ = writeln!(std::io::stderr(), "{shown}");
    assert!(killed > KILLS / 2 && old > 0 && new > 0, "{shown}");
}
