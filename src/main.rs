//! The command line of tracetree.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
