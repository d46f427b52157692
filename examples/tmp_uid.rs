//! tmp
#![allow(clippy::print_stdout, clippy::unwrap_used)]
use tracetree::{diff::*, side::*, trace::*, tree::*};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let t0 = std::time::Instant::now();
    let ta = Trace::read(&a[1]).unwrap();
    let tb = Trace::read(&a[2]).unwrap();
    let t1 = t0.elapsed();
    let (x, y) = (CallTree::build(&ta), CallTree::build(&tb));
    let t2 = t0.elapsed();
    let d = TraceDiff::align(PerSide::new(&x, &y));
    let t3 = t0.elapsed();
    println!(
        "read {:?} tree {:?} align {:?} sizes {} {}",
        t1,
        t2 - t1,
        t3 - t2,
        x.len(),
        y.len()
    );
    let mut c = std::collections::BTreeMap::new();
    let mut g = std::collections::BTreeMap::new();
    for side in Side::BOTH {
        let t = d.tree(side);
        for call in t.calls() {
            *c.entry((side, format!("{:?}", t.kind(call)), d.relation(side, call)))
                .or_insert(0) += 1;
            if t.is_gpu_path(call)
                && t.kind(call) == CallKind::Op
                && d.relation(side, call) != Relation::Same
            {
                *g.entry((
                    side,
                    t.name(call).to_string(),
                    d.relation(side, call),
                    d.partner(side, call)
                        .map(|p| d.tree(side.other()).name(p).to_string()),
                ))
                .or_insert(0) += 1;
            }
        }
    }
    for (k, v) in c {
        println!("{k:?} {v}");
    }
    println!("-- gpu path ops not same:");
    for (k, v) in g {
        println!("{k:?} {v}");
    }
    println!("-- notes {:?} {:?} {:?}", x.notes(), y.notes(), d.notes());
    println!("-- differences {}", d.differences().len());
    for f in d.differences().iter().take(30) {
        let n = d.merged().node(f.node);
        let (s, call) = match n {
            MergedNode::Both(a, _) => (Side::Baseline, a),
            MergedNode::Only(s, c) => (s, c),
        };
        println!(
            "{:?} {} calls {} gpu {} lca {:?}",
            s,
            d.tree(s).name(call),
            f.calls,
            f.gpu_events,
            f.lowest_common.map(|l| match d.merged().node(l) {
                MergedNode::Both(a, _) => d.tree(Side::Baseline).name(a).to_string(),
                MergedNode::Only(s, c) => d.tree(s).name(c).to_string(),
            })
        );
    }
}
