//! Checks the files in the folders of `tests/fixtures` against the generator's output and the snapshots. Each folder
//! demonstrates a phenomenon.

use crate::support::compared::compare_files;
use crate::support::fixtures::FIXTURES;
use crate::support::phenomena::{self, Phenomenon};
use crate::support::root;
use crate::support::screen::screen;
use crate::support::snapshot::assert_snapshot;
use std::collections::BTreeSet;
use std::fs;
use tracetree::{PerSide, Side};

/// Maximum number of lines that fit on a terminal screen.
const SCREEN: usize = 60;

#[test]
fn every_phenomenon_matches_its_snapshot() {
    for phenomenon in phenomena::ALL {
        let text = compare_files(phenomenon.files(), screen);
        assert!(text.lines().count() <= SCREEN, "{} is longer than a screen", phenomenon.name);
        assert_snapshot("", phenomenon.name, &text);
    }
}

#[test]
fn the_files_match_what_the_closures_write() {
    for phenomenon in phenomena::ALL {
        let (texts, files) = (phenomenon.texts(), phenomenon.files());
        for side in Side::BOTH {
            let file = fs::read_to_string(&files[side]).expect("a committed trace");
            assert!(
                file == texts[side],
                "run `cargo run --example make_fixtures`: {:?}",
                files[side]
            );
        }
    }
}

#[test]
fn every_fixture_pair_is_a_phenomenon_with_a_readme() {
    let root = root().join("tests/fixtures");
    let folders: BTreeSet<String> = fs::read_dir(root)
        .expect("the fixtures")
        .map(|entry| entry.expect("a folder"))
        .filter(|entry| entry.path().join("baseline.json").exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| FIXTURES.iter().all(|lowering| lowering.folder != name))
        .collect();
    assert_eq!(folders, phenomena::ALL.map(|known| known.name.to_owned()).into());
    for phenomenon in phenomena::ALL {
        let readme = fs::read_to_string(phenomenon.folder().join("README.md")).expect("a README");
        assert!(readme.starts_with("# ") && readme.lines().count() >= 3, "{}", phenomenon.name);
    }
}

/// Traces of the same program have no differences, even if the traces were recorded by profilers from different years.
#[test]
fn recorders_of_different_years_show_no_differences() {
    for name in ["format_2021", "external_id_era"] {
        let phenomenon = Phenomenon::of(name);
        compare_files(phenomenon.files(), |analysis| {
            assert_eq!(analysis.diff().differences(), vec![], "{name}");
            let owners = PerSide::from_fn(|side| {
                analysis.rows().iter().map(|row| row.event_names(analysis.diff(), side)).collect()
            });
            let expected: Vec<Vec<&str>> = vec![vec!["relu_kernel"], vec!["reduce_kernel"]];
            assert_eq!(owners, PerSide::new(expected.clone(), expected), "{name}");
        });
    }
}
