//! Compares texts with the files in `snapshots`.

use std::path::Path;

/// Compares a text with `NAME.snap` in a folder below `snapshots`, or in `snapshots` itself if the folder name is
/// `""`.
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
