//! Tests that the seeds for the fuzz targets, and the cases found by fuzzing, have the required properties.

use crate::support::laws;
use crate::support::root;

/// Checks every case in a folder in `fuzz/seeds`.
fn check(folder: &str, law: impl Fn(&[u8])) {
    let folder = root().join("fuzz/seeds").join(folder);
    let entries = std::fs::read_dir(&folder).expect("a folder of cases");
    let mut cases: Vec<_> = entries.map(|entry| entry.expect("a case").path()).collect();
    cases.sort();
    assert!(cases.len() >= 10, "{} is incomplete", folder.display());
    for case in cases {
        let bytes = std::fs::read(&case).expect("a readable case");
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| law(&bytes)));
        assert!(outcome.is_ok(), "{} violates a law", case.display());
    }
}

#[test]
fn reading_satisfies_its_laws_on_every_case() {
    check("read", laws::hold_for_reading);
}

#[test]
fn comparing_satisfies_its_laws_on_every_case() {
    check("compare", laws::hold_for_comparing);
}

#[test]
fn damage_of_every_kind_is_reported() {
    check("damage", crate::support::damage::hold_for_choices);
}
