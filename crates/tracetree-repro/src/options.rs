//! What the user can request of a script.

use crate::choose::Reach;
use crate::grammar;
use std::str::FromStr;

/// What a script repeats and prints.
#[derive(Debug, Clone, Default)]
pub struct ScriptOptions {
    /// Whether the script repeats calls that exist only in one backend.
    pub reach: Reach,
    /// Element type of tensors in lists; by default, the type of the nearest recorded tensor.
    pub list_dtype: Option<ElementType>,
    /// Values of arguments that are not recorded.
    pub settings: Vec<Setting>,
    /// Modules that the script imports, because they register custom ops.
    pub imports: Vec<Module>,
    /// What the script prints by default.
    pub printed: Printed,
}

/// What a script prints unless `--json` is passed to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Printed {
    /// Lines for people.
    #[default]
    Text,
    /// JSON.
    Json,
}

/// An element type by its name in PyTorch, such as `bfloat16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementType(pub(crate) &'static str);

impl FromStr for ElementType {
    type Err = String;

    fn from_str(text: &str) -> Result<ElementType, String> {
        let name = text.strip_prefix("torch.").unwrap_or(text);
        let known = grammar::torch_type(name).map(ElementType);
        known.ok_or_else(|| "expected an element type such as float32 or bfloat16".to_owned())
    }
}

/// The value of an argument, as `NAME=VALUE`. The script reads the value as a Python literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Setting, String> {
        let pair = text.split_once('=').filter(|(name, _)| grammar::is_word(name));
        let Some((name, value)) = pair else {
            return Err("expected ARG=VALUE, such as dim=1".to_owned());
        };
        if !value.chars().all(|c| matches!(c, ' '..='~')) {
            return Err("the value contains a character that is not printable ASCII".to_owned());
        }
        Ok(Setting { name: name.to_owned(), value: value.to_owned() })
    }
}

/// A Python module, such as `vllm._C`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module(pub(crate) String);

impl FromStr for Module {
    type Err = String;

    fn from_str(text: &str) -> Result<Module, String> {
        if text.split('.').all(grammar::is_word) {
            Ok(Module(text.to_owned()))
        } else {
            Err("expected the name of a Python module, such as vllm".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_take_only_their_own_grammar() {
        assert_eq!("torch.bfloat16".parse(), Ok(ElementType("bfloat16")));
        assert!("c10::BFloat16".parse::<ElementType>().is_err());
        for bad in ["dim", "=1", "a b=1", "dim=\n", "1a=2"] {
            assert!(bad.parse::<Setting>().is_err(), "{bad}");
        }
        let setting: Setting = "approximate='tanh'".parse().expect("a setting");
        assert_eq!((setting.name.as_str(), setting.value.as_str()), ("approximate", "'tanh'"));
        for bad in ["", "a;b", "a.", "os; import x", "a-b"] {
            assert!(bad.parse::<Module>().is_err(), "{bad}");
        }
        assert!("vllm._C".parse::<Module>().is_ok());
    }
}
