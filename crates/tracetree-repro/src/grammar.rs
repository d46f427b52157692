//! The only ways in which text from a trace reaches a script: names of ops, element types, numbers, sizes, and string
//! literals.

use std::fmt::{self, Write as _};

/// Element types as traces record them, with their names in PyTorch.
const ELEMENT_TYPES: [(&str, &str); 26] = [
    ("float", "float32"),
    ("double", "float64"),
    ("c10::Half", "float16"),
    ("half", "float16"),
    ("c10::BFloat16", "bfloat16"),
    ("c10::Float8_e4m3fn", "float8_e4m3fn"),
    ("c10::Float8_e4m3fnuz", "float8_e4m3fnuz"),
    ("c10::Float8_e5m2", "float8_e5m2"),
    ("c10::Float8_e5m2fnuz", "float8_e5m2fnuz"),
    ("bool", "bool"),
    ("signed char", "int8"),
    ("char", "int8"),
    ("unsigned char", "uint8"),
    ("short", "int16"),
    ("short int", "int16"),
    ("unsigned short", "uint16"),
    ("unsigned short int", "uint16"),
    ("int", "int32"),
    ("unsigned int", "uint32"),
    ("long", "int64"),
    ("long int", "int64"),
    ("unsigned long", "uint64"),
    ("long unsigned int", "uint64"),
    ("c10::complex<c10::Half>", "complex32"),
    ("c10::complex<float>", "complex64"),
    ("c10::complex<double>", "complex128"),
];

/// The largest size and stride: larger integers are not exact in JSON readers that use floating-point numbers.
const MOST: u64 = 1 << 53;
/// Maximum length of a number.
const LONGEST_NUMBER: usize = 40;
/// Maximum length of a string literal with text from a trace.
const LONGEST_TEXT: usize = 160;

/// Whether a name is an op that a script may call: `namespace::name`.
pub(crate) fn is_op(name: &str) -> bool {
    let Some((space, op)) = name.split_once("::") else { return false };
    // `prim::` and `os::` are not namespaces of tensor ops, and Python's own attributes have `__`.
    is_word(space) && is_word(op) && !name.contains("__") && !matches!(space, "prim" | "os")
}

/// Whether a text is an identifier of ASCII letters, digits and underscores.
pub(crate) fn is_word(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// PyTorch's name for a recorded element type; `None` if the type is not in the table.
pub(crate) fn element_type(recorded: &str) -> Option<&'static str> {
    ELEMENT_TYPES.iter().find(|(known, _)| *known == recorded).map(|&(_, name)| name)
}

/// An element type by its name in PyTorch.
pub(crate) fn torch_type(name: &str) -> Option<&'static str> {
    ELEMENT_TYPES.iter().map(|&(_, known)| known).find(|known| *known == name)
}

/// A size or a stride.
pub(crate) fn size(value: &serde_json::Value) -> Option<u64> {
    value.as_u64().filter(|&size| size <= MOST)
}

/// A number that a trace records as text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Bool(bool),
    Whole(i128),
    Real(f64),
    Complex(f64, f64),
}

impl Number {
    pub(crate) fn parse(text: &str) -> Option<Number> {
        let text = text.trim();
        if text.len() > LONGEST_NUMBER {
            return None;
        }
        match text {
            "true" | "True" => return Some(Number::Bool(true)),
            "false" | "False" => return Some(Number::Bool(false)),
            _ => {}
        }
        if let Some((real, imaginary)) =
            text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')?.split_once(','))
        {
            return Some(Number::Complex(finite(real)?, finite(imaginary)?));
        }
        match text.parse() {
            Ok(whole) => Some(Number::Whole(whole)),
            Err(_) => text.parse().ok().map(Number::Real),
        }
    }
}

fn finite(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Number::Bool(true) => f.write_str("True"),
            Number::Bool(false) => f.write_str("False"),
            Number::Whole(whole) => write!(f, "{whole}"),
            Number::Real(real) => f.write_str(&real_literal(real)),
            Number::Complex(real, imaginary) => write!(f, "({real:?}, {imaginary:?})"),
        }
    }
}

/// A floating-point number as a Python literal. Python has no literals for infinity and NaN, so these are strings,
/// which the template converts.
pub(crate) fn real_literal(real: f64) -> String {
    if real.is_finite() { format!("{real:?}") } else { format!("\"{real}\"") }
}

/// A string literal: printable ASCII, everything else as `?`, and cut after 160 characters.
pub(crate) fn text(text: &str) -> String {
    let shown = text.chars().take(LONGEST_TEXT);
    quoted(shown.map(|c| if matches!(c, ' '..='~') { c } else { '?' }))
}

/// A string literal of printable ASCII characters.
pub(crate) fn quoted(characters: impl IntoIterator<Item = char>) -> String {
    let mut literal = String::from("\"");
    for character in characters {
        if matches!(character, '"' | '\\') {
            literal.push('\\');
        }
        literal.push(character);
    }
    literal.push('"');
    literal
}

/// Items between two brackets, separated by commas.
pub(crate) fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let mut literal = String::from("[");
    for (at, item) in items.into_iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(literal, "{comma}{item}");
    }
    literal.push(']');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_refused() {
        let bad = [
            "aten::mul\"); __import__(\"os\").system(\"touch PWNED\")#",
            "aten::mul\nimport os",
            "aten::__class__",
            "os::system",
            "aten::mul'''",
            "aten::\u{202e}mul",
            "aten::mul ",
            "prim::Print",
            "aten::__import__",
            "aten::",
            "::mul",
            "aten",
            "aten::a::b",
            "aten::1a",
            "aten::mül",
        ];
        for name in bad {
            assert!(!is_op(name), "{name}");
        }
        for name in
            ["aten::mul", "aten::_softmax", "_C::rms_norm", "torchvision::roi_align", "aten::add_"]
        {
            assert!(is_op(name), "{name}");
        }
    }

    #[test]
    fn only_numbers_are_numbers() {
        let bad =
            ["__import__('os')", "1;2", "0x10", "1e", "", "()", "(1,nan)", "1_000", "(1,2", "1 2"];
        for text in bad.into_iter().chain(["9".repeat(400).as_str()]) {
            assert_eq!(Number::parse(text), None, "{text}");
        }
        let good = [
            ("1", "1"),
            ("-7", "-7"),
            ("1.", "1.0"),
            ("1e-05", "1e-5"),
            ("True", "True"),
            ("false", "False"),
            ("(1,-2.5)", "(1.0, -2.5)"),
            ("1e999", "\"inf\""),
            ("-inf", "\"-inf\""),
            ("nan", "\"NaN\""),
            ("18446744073709551615", "18446744073709551615"),
        ];
        for (text, literal) in good {
            assert_eq!(
                Number::parse(text).map(|number| number.to_string()).as_deref(),
                Some(literal)
            );
        }
    }

    #[test]
    fn free_text_is_an_ascii_literal() {
        let cases = [
            ("k\"]}]; import os #", r#""k\"]}]; import os #""#),
            ("a\n\"\"\"\nimport os", r#""a?\"\"\"?import os""#),
            ("\\", r#""\\""#),
            ("\\u0022]", r#""\\u0022]""#),
            ("\u{1b}[31mred", r#""?[31mred""#),
            ("{0}%s", r#""{0}%s""#),
            ("日本", "\"??\""),
        ];
        for (given, literal) in cases {
            assert_eq!(text(given), literal);
        }
        assert_eq!(text(&"x".repeat(500)).len(), LONGEST_TEXT + 2);
    }

    #[test]
    fn sizes_are_whole_and_exact() {
        for bad in ["-1", "1152921504606846976", "\"2\"", "2.5", "true", "null", "[]"] {
            let value = serde_json::from_str(bad).expect("JSON");
            assert_eq!(size(&value), None, "{bad}");
        }
        assert_eq!(size(&serde_json::json!(9_007_199_254_740_992_u64)), Some(MOST));
    }
}
