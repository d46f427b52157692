//! Commands that this build does not include.

use std::ffi::OsString;

/// Any arguments, so that the command's own error names the reason.
#[derive(clap::Args)]
pub(super) struct AnyArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<OsString>,
}
