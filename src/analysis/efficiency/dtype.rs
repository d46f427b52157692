//! Determines the element size and the precision of a type from its name in a trace or in a kernel name.

use crate::analysis::precision::Precision;

/// The class of an element type. In PyTorch's type promotion, a later class takes precedence over an earlier class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Bool,
    Integer,
    Float,
    Complex,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dtype {
    pub(super) class: Class,
    /// Size of a stored element in bytes.
    pub(super) bytes: u8,
    /// Precision under which peak rates are looked up; `None` for types without a published peak rate.
    pub(super) precision: Option<Precision>,
    /// Number of values in a stored element: 2 if two 4-bit values share a byte.
    pub(super) values: u8,
}

impl Dtype {
    pub(super) const FLOAT: Dtype = Dtype::new(Class::Float, 4, Some(Precision::Fp32));
    pub(super) const LONG: Dtype = Dtype::new(Class::Integer, 8, None);
    pub(super) const BOOL: Dtype = Dtype::new(Class::Bool, 1, None);

    const fn new(class: Class, bytes: u8, precision: Option<Precision>) -> Dtype {
        Dtype { class, bytes, precision, values: 1 }
    }

    /// Parses a type name from `Input type`; returns `None` for scalars, lists and unknown types.
    pub(super) fn parse(name: &str) -> Option<Dtype> {
        use Class::{Bool, Complex, Float, Integer};
        let name = name.strip_prefix("c10::").unwrap_or(name);
        let (class, bytes, precision) = match name {
            "float" => (Float, 4, Some(Precision::Fp32)),
            "double" => (Float, 8, Some(Precision::Fp64)),
            "Half" => (Float, 2, Some(Precision::Fp16)),
            "BFloat16" => (Float, 2, Some(Precision::Bf16)),
            "Float8_e8m0fnu" => (Float, 1, None),
            "Float4_e2m1fn_x2" => return Some(Dtype { values: 2, ..FP4 }),
            "signed char" | "char" | "qint8" | "QInt8" => (Integer, 1, Some(Precision::Int8)),
            "unsigned char" | "quint8" | "QUInt8" => (Integer, 1, None),
            "short" | "short int" | "unsigned short" => (Integer, 2, None),
            "int" | "unsigned int" | "qint32" | "QInt32" => (Integer, 4, None),
            "long" | "long int" | "long long" | "unsigned long" => (Integer, 8, None),
            "bool" => (Bool, 1, None),
            "complex<Half>" | "complex<c10::Half>" => (Complex, 4, None),
            "complex<float>" => (Complex, 8, None),
            "complex<double>" => (Complex, 16, None),
            _ if name.starts_with("Float8_") => (Float, 1, Some(Precision::Fp8)),
            _ => return None,
        };
        Some(Dtype::new(class, bytes, precision))
    }

    /// The type with the given scalar type number in PyTorch. Traces record this number in `Concrete Inputs` for an
    /// argument `dtype`.
    pub(super) fn of_number(number: i64) -> Option<Dtype> {
        let name = match number {
            0 => "unsigned char",
            1 => "signed char",
            2 => "short",
            3 => "int",
            4 => "long",
            5 => "Half",
            6 => "float",
            7 => "double",
            11 => "bool",
            15 => "BFloat16",
            23..=26 => "Float8_e4m3fn",
            _ => return None,
        };
        Dtype::parse(name)
    }

    /// Parses a type name that a communication library recorded: `Float`, `BFloat16`, `Long`, …
    pub(super) fn of_message(name: &str) -> Option<Dtype> {
        match name {
            "Byte" => Dtype::parse("unsigned char"),
            // The library writes the types of C++ with a capital.
            _ => Dtype::parse(name).or_else(|| {
                let (first, rest) = name.split_at_checked(1)?;
                Dtype::parse(&(first.to_ascii_lowercase() + rest))
            }),
        }
    }

    /// The first type in the template arguments of a kernel name. In PyTorch kernels that process lists of tensors,
    /// this is the element type: `CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, …>`.
    pub(super) fn of_kernel(name: &str) -> Option<Dtype> {
        const NAMES: [&str; 9] = [
            "c10::BFloat16",
            "c10::Half",
            "c10::Float8_e4m3fn",
            "float",
            "double",
            "long",
            "int",
            "bool",
            "signed char",
        ];
        let arguments = &name[name.find('<')?..];
        let opaque = [1_u8, 2, 4, 8, 16].into_iter().filter_map(|bytes| {
            let at = arguments.find(&format!("OpaqueType<{bytes}u>"))?;
            Some((at, Dtype::new(Class::Integer, bytes, None)))
        });
        let named = NAMES.iter().filter_map(|name| {
            let at = ["<", ", ", " "].iter().filter_map(|before| first(arguments, before, name));
            Some((at.min()?, Dtype::parse(name)?))
        });
        opaque.chain(named).min_by_key(|&(at, _)| at).map(|(_, dtype)| dtype)
    }
}

const FP4: Dtype = Dtype::new(Class::Float, 1, Some(Precision::Fp4));

/// First position at which `name` occurs after `before` as a complete template argument.
fn first(arguments: &str, before: &str, name: &str) -> Option<usize> {
    let ends = |at: usize| arguments[at..].starts_with([',', '>']);
    arguments
        .match_indices(&format!("{before}{name}"))
        .map(|(at, found)| (at, at + found.len()))
        .find(|&(at, end)| ends(end) && !arguments[..at].ends_with("unsigned"))
        .map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_all_pytorch_versions_are_known_and_others_are_not() {
        for (name, bytes) in [("c10::BFloat16", 2), ("long int", 8), ("long", 8), ("bool", 1)] {
            assert_eq!(Dtype::parse(name).map(|dtype| dtype.bytes), Some(bytes), "{name}");
        }
        for name in ["Scalar", "ScalarList", "TensorList", "Int", "Bool", "", "my::Type"] {
            assert_eq!(Dtype::parse(name), None, "{name}");
        }
    }

    #[test]
    fn the_first_type_in_a_kernel_name_is_the_element_type() {
        let bytes = |name: &str| Dtype::of_kernel(name).map(|dtype| dtype.bytes);
        let cat = "void at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>, unsigned int, 3>(at::native::OpaqueType<2u>*)";
        assert_eq!(bytes(cat), Some(2));
        let add = "void multi_tensor_apply_kernel<TensorListMetadata<2>, BinaryOpListAlphaFunctor<c10::BFloat16, 2, 2, 0>, std::plus<float>, float>(x)";
        assert_eq!(bytes(add), Some(2));
        assert_eq!(bytes("attn_fwd"), None);
        assert_eq!(bytes("void copy<unsigned int, 4>(int)"), None);
    }

    #[test]
    fn each_type_has_its_size_and_precision() {
        use Class::{Bool, Complex, Float, Integer};
        use Precision::{Bf16, Fp4, Fp8, Fp16, Fp32, Fp64, Int8};
        for (names, class, bytes, precision) in [
            (&["float"][..], Float, 4, Some(Fp32)),
            (&["double"], Float, 8, Some(Fp64)),
            (&["Half", "c10::Half"], Float, 2, Some(Fp16)),
            (&["BFloat16"], Float, 2, Some(Bf16)),
            (&["Float8_e4m3fn", "Float8_e5m2"], Float, 1, Some(Fp8)),
            (&["Float8_e8m0fnu"], Float, 1, None),
            (&["Float4_e2m1fn_x2"], Float, 1, Some(Fp4)),
            (&["signed char", "char", "qint8", "QInt8"], Integer, 1, Some(Int8)),
            (&["unsigned char", "quint8", "QUInt8"], Integer, 1, None),
            (&["short", "short int", "unsigned short"], Integer, 2, None),
            (&["int", "unsigned int", "qint32", "QInt32"], Integer, 4, None),
            (&["long", "long long", "unsigned long"], Integer, 8, None),
            (&["bool"], Bool, 1, None),
            (&["complex<Half>", "complex<c10::Half>"], Complex, 4, None),
            (&["complex<float>"], Complex, 8, None),
            (&["complex<double>"], Complex, 16, None),
        ] {
            for name in names {
                let found = Dtype::parse(name).expect(name);
                assert_eq!((found.class, found.bytes, found.precision), (class, bytes, precision));
                assert_eq!(found.values, if precision == Some(Fp4) { 2 } else { 1 }, "{name}");
            }
        }
    }

    #[test]
    fn types_by_number_are_those_of_pytorch() {
        // Numbers from c10/core/ScalarType.h.
        for (numbers, name) in [
            (0..=0, "unsigned char"),
            (1..=1, "signed char"),
            (2..=2, "short"),
            (3..=3, "int"),
            (4..=4, "long"),
            (5..=5, "Half"),
            (6..=6, "float"),
            (7..=7, "double"),
            (11..=11, "bool"),
            (15..=15, "BFloat16"),
            (23..=26, "Float8_e4m3fn"),
        ] {
            for number in numbers {
                assert_eq!(Dtype::of_number(number), Dtype::parse(name), "{number}");
            }
        }
        assert!(
            [-1, 8, 12, 14, 16, 27].into_iter().all(|number| Dtype::of_number(number).is_none())
        );
    }

    #[test]
    fn messages_name_types_with_a_capital() {
        for (name, same) in [
            ("Float", "float"),
            ("Double", "double"),
            ("Byte", "unsigned char"),
            ("Char", "char"),
            ("Short", "short"),
            ("Int", "int"),
            ("Long", "long"),
            ("Bool", "bool"),
            ("BFloat16", "BFloat16"),
        ] {
            assert_eq!(Dtype::of_message(name), Dtype::parse(same), "{name}");
        }
        assert!(["String", "FLOAT", ""].into_iter().all(|name| Dtype::of_message(name).is_none()));
    }

    #[test]
    fn a_type_is_read_from_a_kernel_name_only_if_it_is_a_whole_word() {
        let of = |name: &str| Dtype::of_kernel(name);
        assert_eq!(of("fill<long, 4>"), Dtype::parse("long"));
        assert_eq!(of("fill<4, signed char>"), Dtype::parse("char"));
        assert_eq!(of("fill<float4, double>"), Dtype::parse("double"));
        assert_eq!(of("copy<OpaqueType<16u>, float>").map(|dtype| dtype.bytes), Some(16));
    }
}
