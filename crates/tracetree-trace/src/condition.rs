//! Parses conditions such as `error>20% & share>1%` and `gpu_time{phase="decode"} < 12 ms`. All gates use this grammar.
//!
//! ```text
//! condition = [subject ":"] bound { "&" bound }      all bounds must hold
//! bound     = quantity ["{" label "=" "\"" text "\"" {"," …} "}"] relation number [unit]
//! relation  = ">" | ">=" | "<" | "<="
//! ```
//! The code that uses a condition defines which quantities, labels and units exist.

/// A parsed condition: an optional subject and a list of bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition<'t> {
    /// The subject: everything before the colon.
    pub subject: Option<&'t str>,
    pub bounds: Vec<Bound<'t>>,
}

/// A parsed bound: a quantity with labels, a relation and a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound<'t> {
    pub quantity: &'t str,
    pub labels: Vec<(&'t str, &'t str)>,
    pub relation: Relation,
    /// The numeric value of the limit, without the unit.
    pub number: &'t str,
    /// The unit of the limit; empty if the limit has no unit.
    pub unit: &'t str,
}

/// How a value is compared with a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// How each relation is written in a condition. Longer relations come first, so that `>=` is not read as `>`.
const RELATIONS: [(&str, Relation); 4] = [
    (">=", Relation::AtLeast),
    ("<=", Relation::AtMost),
    (">", Relation::Above),
    ("<", Relation::Below),
];

impl Relation {
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Relation::Above => value > limit,
            Relation::AtLeast => value >= limit,
            Relation::Below => value < limit,
            Relation::AtMost => value <= limit,
        }
    }
}

impl<'t> Condition<'t> {
    /// Parses a condition. On failure, returns a description of the syntax error.
    pub fn parse(text: &'t str) -> Result<Condition<'t>, String> {
        // Subjects and quoted strings may contain colons; quantities cannot.
        let (subject, bounds) = match outside_of_quotes(text, ':').last() {
            Some(at) => (Some(text[..at].trim()), &text[at + 1..]),
            None => (None, text),
        };
        let mut rest = Some(bounds);
        let mut parsed = Vec::new();
        while let Some(bounds) = rest {
            let (bound, after) = match outside_of_quotes(bounds, '&').next() {
                Some(at) => (&bounds[..at], Some(&bounds[at + 1..])),
                None => (bounds, None),
            };
            parsed.push(Bound::parse(bound)?);
            rest = after;
        }
        Ok(Condition { subject, bounds: parsed })
    }
}

impl<'t> Bound<'t> {
    fn parse(bound: &'t str) -> Result<Bound<'t>, String> {
        let at = ['<', '>'].iter().flat_map(|&sign| outside_of_quotes(bound, sign)).min();
        let at = at.ok_or("expected `>`, `>=`, `<` or `<=`")?;
        let split = RELATIONS
            .iter()
            .find_map(|(sign, relation)| Some((*relation, bound[at..].strip_prefix(sign)?.trim())));
        let (relation, limit) = split.ok_or("expected `>`, `>=`, `<` or `<=`")?;
        let (quantity, labels) = labels(bound[..at].trim())?;
        // If the limit does not start with a number, it is kept as a string. Only the caller knows the valid units, so
        // the caller reports the error.
        let end = limit
            .find(|c: char| !(c.is_ascii_digit() || ".+-_".contains(c)))
            .filter(|&end| end > 0)
            .unwrap_or(limit.len());
        Ok(Bound {
            quantity,
            labels,
            relation,
            number: limit[..end].trim(),
            unit: limit[end..].trim(),
        })
    }
}

/// The quantity and the labels parsed from a string such as `gpu_time{phase="decode"}`.
type Labelled<'t> = (&'t str, Vec<(&'t str, &'t str)>);

fn labels(text: &str) -> Result<Labelled<'_>, String> {
    let Some((quantity, labels)) = text.split_once('{') else { return Ok((text, Vec::new())) };
    let mut rest =
        labels.strip_suffix('}').ok_or_else(|| format!("the `{{` in `{text}` is not closed"))?;
    let mut found = Vec::new();
    while !rest.trim().is_empty() {
        let (label, after) =
            rest.split_once('=').ok_or_else(|| format!("expected `label=\"text\"` in `{text}`"))?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|quote| ['"', '\''].contains(quote));
        let quote = quote.ok_or_else(|| format!("expected `label=\"text\"` in `{text}`"))?;
        let (value, after) = after[1..]
            .split_once(quote)
            .ok_or_else(|| format!("a quote in `{text}` is not closed"))?;
        found.push((label.trim(), value));
        rest = after.trim_start().trim_start_matches(',');
    }
    Ok((quantity.trim(), found))
}

/// The positions of a character outside of quotes.
fn outside_of_quotes(text: &str, wanted: char) -> impl Iterator<Item = usize> + '_ {
    let mut open: Option<char> = None;
    text.char_indices().filter_map(move |(at, letter)| {
        match open {
            Some(quote) if letter == quote => open = None,
            Some(_) => {}
            None if letter == '"' || letter == '\'' => open = Some(letter),
            None => return (letter == wanted).then_some(at),
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subject_quantity_labels_relation_number_and_unit_are_separated() {
        let text =
            r#"module("a: b>c") : gpu_time{phase="decode", category='gemm'} <= 12.5 ms & share>1%"#;
        let condition = Condition::parse(text).expect("a condition");
        assert_eq!(condition.subject, Some(r#"module("a: b>c")"#));
        let [one, two] = &condition.bounds[..] else { panic!("two bounds") };
        assert_eq!((one.quantity, one.number, one.unit), ("gpu_time", "12.5", "ms"));
        assert_eq!(one.labels, [("phase", "decode"), ("category", "gemm")]);
        assert_eq!((one.relation, two.relation), (Relation::AtMost, Relation::Above));
        assert_eq!((two.quantity, two.number, two.unit), ("share", "1", "%"));
    }

    #[test]
    fn an_invalid_condition_is_refused_with_the_reason() {
        for (text, reason) in [
            ("", "expected `>`"),
            ("error=20", "expected `>`"),
            ("a{b=\"c\" < 3", "is not closed"),
            ("a{b} < 3", "label"),
            ("a{b=c} < 3", "label"),
        ] {
            let error = Condition::parse(text).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
