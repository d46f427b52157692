//! The number formats for which devices publish separate peak rates.

/// A number format for which devices publish separate peak rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum Precision {
    /// 64-bit floating point.
    Fp64,
    /// 32-bit floating point.
    Fp32,
    /// 32-bit floating point, but products are computed with a 10-bit mantissa.
    Tf32,
    /// IEEE half precision.
    Fp16,
    /// Brain floating point (bfloat16).
    Bf16,
    /// 8-bit floating point with any number of exponent and mantissa bits.
    Fp8,
    /// 4-bit floating point.
    Fp4,
    /// 8-bit integers.
    Int8,
}

impl Precision {
    /// All precisions.
    pub const ALL: [Precision; 8] = [
        Precision::Fp64,
        Precision::Fp32,
        Precision::Tf32,
        Precision::Fp16,
        Precision::Bf16,
        Precision::Fp8,
        Precision::Fp4,
        Precision::Int8,
    ];

    /// The name of the precision: `fp64`, `fp32`, `tf32`, `fp16`, `bf16`, `fp8`, `fp4` or `int8`.
    pub fn label(self) -> &'static str {
        match self {
            Precision::Fp64 => "fp64",
            Precision::Fp32 => "fp32",
            Precision::Tf32 => "tf32",
            Precision::Fp16 => "fp16",
            Precision::Bf16 => "bf16",
            Precision::Fp8 => "fp8",
            Precision::Fp4 => "fp4",
            Precision::Int8 => "int8",
        }
    }

    /// The precision of the first tensor in `Input type`; `None` for types without a published peak rate.
    pub(super) fn of_types(types: &str) -> Option<Precision> {
        let names = types.split('"').filter(|name| !name.is_empty());
        names.into_iter().find_map(|name| match name {
            "float" => Some(Precision::Fp32),
            "double" => Some(Precision::Fp64),
            "Half" | "c10::Half" => Some(Precision::Fp16),
            "BFloat16" | "c10::BFloat16" => Some(Precision::Bf16),
            _ if name.contains("Float8_") => Some(Precision::Fp8),
            _ => None,
        })
    }
}
