//! Commands that this build does not include.

use std::ffi::OsString;

/// Accepts any arguments, so that the command is parsed and can report that this build does not
/// include it.
#[derive(clap::Args)]
pub(super) struct AnyArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<OsString>,
}
