//! Prints how much of the GPU time of each trace is in calls that `tracetree repro` can repeat, by their recorded
//! arguments. Traces without GPU events are measured by the host self time of their ops.
//!
//! ```sh
//! cargo run --release -p tracetree-repro --example replayable_share -- examples/traces/h100/*.json.gz
//! ```

#![allow(clippy::print_stdout, reason = "an example prints its result")]

use tracetree::trace::Nanos;
use tracetree::{CallTree, Trace};
use tracetree_repro::replayable_share;

fn main() -> tracetree::Result<()> {
    println!("{:>10}  {:>10}  {:>10}", "total ms", "replayable", "custom ops");
    for path in std::env::args().skip(1) {
        let share = replayable_share(&CallTree::build(Trace::open(&path)?));
        let part = |time: Nanos| 100.0 * time.0 as f64 / share.total.0.max(1) as f64;
        let (replayable, custom) = (part(share.replayable), part(share.custom));
        println!("{:>10.3}  {replayable:>9.1}%  {custom:>9.1}%  {path}", share.total.as_millis());
    }
    Ok(())
}
