//! Parses the name of an `nn.Module` call into class and instance number.

/// The prefix that precedes the class in the name of a module call.
const PREFIX: &str = "nn.Module: ";

/// The parsed name of a module call: `nn.Module: Conv_Block_3` is instance `Conv_Block_3`, number 3
/// of the class `Conv_Block`.
///
/// ```
/// use tracetree::tree::ModuleName;
///
/// let name = ModuleName::of("nn.Module: Conv_Block_3").expect("a module");
/// assert_eq!((name.instance, name.class, name.number), ("Conv_Block_3", "Conv_Block", Some("3")));
/// assert_eq!(ModuleName::of("train.py(3): step"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModuleName<'n> {
    /// Class and number of the module, as written by the profiler.
    pub instance: &'n str,
    /// The class of the module.
    pub class: &'n str,
    /// The number that the profiler gave the instance; instances are numbered in the order of their
    /// first calls.
    pub number: Option<&'n str>,
}

impl<'n> ModuleName<'n> {
    /// Parses the name of a call; returns `None` if the call is not a module call.
    pub fn of(name: &'n str) -> Option<ModuleName<'n>> {
        name.strip_prefix(PREFIX).map(ModuleName::of_instance)
    }

    /// Parses the name of a module instance: the name of a module call without the prefix.
    pub(crate) fn of_instance(instance: &'n str) -> ModuleName<'n> {
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match instance.rsplit_once('_') {
            Some((class, number)) if is_number(number) => {
                ModuleName { instance, class, number: Some(number) }
            }
            Some(_) | None => ModuleName { instance, class: instance, number: None },
        }
    }

    /// The class of a module; for a call that is not a module, the unchanged call name.
    #[doc(hidden)]
    pub fn class_or_name(name: &'n str) -> &'n str {
        ModuleName::of(name).map_or(name, |module| module.class)
    }

    /// The instance name of a module, as users know it; for a call that is not a module, the
    /// unchanged call name.
    #[doc(hidden)]
    pub fn instance_or_name(name: &'n str) -> &'n str {
        ModuleName::of(name).map_or(name, |module| module.instance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_after_the_last_underscore_are_a_number() {
        let parts = |name| {
            let name = ModuleName::of_instance(name);
            (name.class, name.number)
        };
        assert_eq!(parts("Linear_12"), ("Linear", Some("12")));
        assert_eq!(parts("My_Block"), ("My_Block", None));
        assert_eq!(parts("Block_"), ("Block_", None));
        assert_eq!(parts("Conv2d"), ("Conv2d", None));
    }
}
