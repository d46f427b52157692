//! The name of an `nn.Module` call → its class and its instance number.

/// The prefix of the class in the name of a module call.
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
    /// Class and number, as the profiler wrote them.
    pub instance: &'n str,
    /// The class.
    pub class: &'n str,
    /// The number that the profiler gave the instance, in the order of first calls.
    pub number: Option<&'n str>,
}

impl<'n> ModuleName<'n> {
    /// Parses the name of a call; `None` if it is not a module call.
    pub fn of(name: &'n str) -> Option<ModuleName<'n>> {
        name.strip_prefix(PREFIX).map(ModuleName::of_instance)
    }

    /// Parses the name of an instance, without the prefix that the name of a call has.
    pub fn of_instance(instance: &'n str) -> ModuleName<'n> {
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match instance.rsplit_once('_') {
            Some((class, number)) if is_number(number) => {
                ModuleName { instance, class, number: Some(number) }
            }
            Some(_) | None => ModuleName { instance, class: instance, number: None },
        }
    }

    /// The name of a call without an instance number: the class of a module, the unchanged name of
    /// any other call.
    pub fn class_or_name(name: &'n str) -> &'n str {
        ModuleName::of(name).map_or(name, |module| module.class)
    }

    /// The name of a call as people use it: the instance of a module, the unchanged name of any
    /// other call.
    pub fn instance_or_name(name: &'n str) -> &'n str {
        ModuleName::of(name).map_or(name, |module| module.instance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_behind_the_last_underscore_are_a_number() {
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
