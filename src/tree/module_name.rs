//! The name of an `nn.Module` call → its class and the number of its instance.

/// What stands before the class in the name of a module's call.
const PREFIX: &str = "nn.Module: ";

/// The name of a module's call, taken apart: `nn.Module: Conv_Block_3` is instance `Conv_Block_3`,
/// number 3 of the class `Conv_Block`.
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
    /// The number that the profiler gave the instance; it numbers in the order of first calls.
    pub number: Option<&'n str>,
}

impl<'n> ModuleName<'n> {
    /// Takes the name of a call apart; `None` where it is no module's.
    pub fn of(name: &'n str) -> Option<ModuleName<'n>> {
        name.strip_prefix(PREFIX).map(ModuleName::of_instance)
    }

    /// Takes an instance's name apart, without what stands before it in a call's name.
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

    /// The name of a call without the number of a module's instance: its class for a module, the
    /// name itself for any other call.
    pub fn class_or_name(name: &'n str) -> &'n str {
        ModuleName::of(name).map_or(name, |module| module.class)
    }

    /// What people call a call: the instance for a module, the name itself for any other call.
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
