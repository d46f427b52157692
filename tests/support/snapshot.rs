//! Compares texts with their files in `snapshots`.

use std::path::Path;

/// Checks a text against `NAME.snap` in a folder below `snapshots`, or in `snapshots` itself
/// (`""`).
///
/// # Panics
/// Panics if the text differs from the snapshot.
pub fn assert_snapshot(folder: &str, name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new("../../snapshots").join(folder));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}
