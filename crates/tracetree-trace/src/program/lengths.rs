//! Reads from an inference engine's annotations how many tokens attention processes.
//!
//! ```text
//! execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)
//!                      Σ queries, Σ keys, Σ queries², Σ queries·keys       the same for generation
//! ```
//! Shapes show how many tokens are computed, but not how many tokens each computed token attends
//! to.

use crate::order::Order as _;
use crate::trace::{Category, EventId, Nanos, ThreadId, Trace};

/// Token counts of one forward pass, summed over its requests. The first number in each array is for prompts, the
/// second for generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct Lengths {
    /// Number of query tokens.
    pub queries: [u64; 2],
    /// Number of key tokens: the query tokens and all tokens before them.
    pub keys: [u64; 2],
    /// Sum of (query tokens)² over the requests.
    pub queries_squared: [u64; 2],
    /// Sum of query tokens × key tokens over the requests.
    pub products: [u64; 2],
}

/// The annotations with token counts in a trace, sorted by thread and start.
#[derive(Debug, Default)]
pub struct LengthsOf {
    spans: Vec<(ThreadId, Nanos, Nanos, Lengths)>,
}

impl LengthsOf {
    /// Finds the annotations with token counts in a trace.
    pub fn new(trace: &Trace) -> LengthsOf {
        let annotations =
            trace.events().filter(|&event| trace.category(event) == Category::UserAnnotation);
        let mut spans: Vec<_> = annotations
            .filter_map(|event| {
                let lengths = parse(trace.name(event))?;
                Some((trace.thread_of(event), trace.start(event), trace.end(event), lengths))
            })
            .collect();
        spans.order_by_key(|&(thread, start, end, _)| (thread, start, end));
        LengthsOf { spans }
    }

    /// The token counts of the forward pass in which a host call was made.
    pub fn at(&self, trace: &Trace, call: EventId) -> Option<Lengths> {
        let (thread, time) = (trace.thread_of(call), trace.start(call));
        let before = self.spans.partition_point(|&(at, start, ..)| (at, start) <= (thread, time));
        let &(at, _, end, lengths) = self.spans.get(before.checked_sub(1)?)?;
        (at == thread && time < end).then_some(lengths)
    }
}

impl Lengths {
    /// The token counts in the name of an annotation; `None` if the name contains none.
    pub fn of_annotation(name: &str) -> Option<Lengths> {
        parse(name)
    }
}

fn parse(name: &str) -> Option<Lengths> {
    let rest = name.strip_prefix("execute_")?;
    let (context, generation) = rest.split_once(")_generation_")?;
    let context = sums(context.split_once('(')?.1)?;
    let generation = sums(generation.strip_suffix(')')?.split_once('(')?.1)?;
    let both = |at: usize| [context[at], generation[at]];
    Some(Lengths { queries: both(0), keys: both(1), queries_squared: both(2), products: both(3) })
}

/// `sq…sk…sqsq…sqsk…`.
fn sums(text: &str) -> Option<[u64; 4]> {
    let mut rest = text;
    let mut sums = [0; 4];
    for (sum, label) in sums.iter_mut().zip(["sq", "sk", "sqsq", "sqsk"]) {
        rest = rest.strip_prefix(label)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        *sum = rest[..end].parse().ok()?;
        rest = &rest[end..];
    }
    rest.is_empty().then_some(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_of_an_annotation_are_read_and_others_are_not_guessed() {
        let name = "execute_32_context_1(sq5sk6sqsq25sqsk30)_generation_2(sq2sk40sqsq2sqsk40)";
        let lengths = parse(name).expect("lengths");
        assert_eq!((lengths.queries, lengths.products), ([5, 2], [30, 40]));
        assert_eq!(parse("execute_context_1(888_788544)_generation_0(0)"), None);
    }
}
