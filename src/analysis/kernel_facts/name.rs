//! Reduces a kernel name to its stem, which is the name without mangling, template arguments, parameters and return
//! type.
//!
//! ```text
//! void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, …)
//!      at::native::::vectorized_layer_norm_kernel
//! _ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256E…
//! aiter::add_rmsnorm_quant_kernel
//! ```
//! Template arguments mostly contain types and tile sizes, which say little about the work. The exception is a
//! *launcher*, a kernel whose work is defined by a functor that is passed as a template argument. For a launcher, the
//! category rules are also applied to the stems of the template arguments (`vectorized_elementwise_kernel<4,
//! GeluFunctor, …>` → `GeluFunctor`, …).

/// Maximum number of nested launchers that are unwrapped: `elementwise_kernel<gpu_kernel_impl<AUnaryFunctor<…>>>`.
const DEPTH: usize = 4;

pub(in crate::analysis) fn stem(name: &str) -> String {
    if let Some(mangled) = name.strip_prefix("_Z") {
        return mangled_names(mangled).next().unwrap_or_default();
    }
    // The return type and qualifiers come first, so the last word is the kernel's name.
    without_arguments(name).split_whitespace().last().unwrap_or_default().to_owned()
}

/// The stems of the template arguments of a launcher, outermost first; empty if `name` is not a launcher.
pub(in crate::analysis) fn launched(name: &str, is_launcher: impl Fn(&str) -> bool) -> Vec<String> {
    if let Some(mangled) = name.strip_prefix("_Z") {
        let mut names = mangled_names(mangled);
        let is_launcher = names.next().is_some_and(|stem| is_launcher(&stem));
        return if is_launcher { names.take(1).collect() } else { Vec::new() };
    }
    let mut found = Vec::new();
    let mut level = vec![name];
    for _ in 0..DEPTH {
        let below: Vec<&str> = level
            .into_iter()
            .filter(|name| is_launcher(&stem(name)))
            .flat_map(template_arguments)
            .collect();
        found.extend(below.iter().map(|name| stem(name)).filter(|stem| !stem.is_empty()));
        level = below;
    }
    found
}

/// `a<b<c>, d>::e(f)` → `a::e`; `(anonymous namespace)` is removed too.
fn without_arguments(name: &str) -> String {
    let name = name.replace("(anonymous namespace)", "");
    let mut kept = String::new();
    let mut depth = Brackets::default();
    // Start of the substring that is copied next. The substring is outside of all angle brackets.
    let mut from = 0;
    for (at, byte) in name.bytes().enumerate().filter(|&(_, byte)| Brackets::count(byte)) {
        let before = depth.angles;
        depth.pass(&name, at, byte);
        match (before, depth.angles) {
            // The kernel's name ends where its parameter list begins.
            (0, 0) if byte == b'(' => {
                kept.push_str(&name[from..at]);
                return kept;
            }
            (0, 1) => kept.push_str(&name[from..at]),
            (1, 0) => from = at + 1,
            _ => {}
        }
    }
    if depth.angles == 0 {
        kept.push_str(&name[from..]);
    }
    kept
}

/// The template arguments in the first pair of angle brackets in a name.
pub(super) fn template_arguments(name: &str) -> Vec<&str> {
    let mut arguments = Vec::new();
    let mut depth = Brackets::default();
    let mut from = None;
    let counts = |byte: u8| Brackets::count(byte) || byte == b',';
    for (at, byte) in name.bytes().enumerate().filter(|&(_, byte)| counts(byte)) {
        let before = (depth.angles, depth.others);
        depth.pass(name, at, byte);
        match (before, (depth.angles, depth.others)) {
            ((0, _), (1, _)) => from = Some(at + 1),
            ((1, _), (0, _)) => {
                arguments.extend(from.map(|from| name[from..at].trim()));
                return arguments;
            }
            ((1, 0), (1, 0)) if byte == b',' => {
                arguments.extend(from.map(|from| name[from..at].trim()));
                from = Some(at + 1);
            }
            _ => {}
        }
    }
    // If the profiler truncated the kernel name, the last angle bracket is not closed.
    arguments.extend(from.map(|from| name[from..].trim()));
    arguments
}

/// Counts open brackets. A `>` inside parentheses is a comparison operator: `enable_if<((8)>(0))>`.
#[derive(Default)]
struct Brackets {
    angles: usize,
    /// Number of open parentheses and braces inside the innermost angle brackets. `saved` contains this number for each
    /// enclosing pair of angle brackets.
    others: usize,
    saved: Vec<usize>,
}

impl Brackets {
    /// Whether a byte is a bracket or a comparison operator.
    fn count(byte: u8) -> bool {
        matches!(byte, b'<' | b'>' | b'(' | b')' | b'{' | b'}')
    }

    fn pass(&mut self, name: &str, at: usize, byte: u8) {
        let follows = |text: &str| name[..at].ends_with(text);
        match byte {
            b'<' if !follows("operator") && !follows("<") => {
                self.angles += 1;
                self.saved.push(std::mem::take(&mut self.others));
            }
            b'>' if self.angles > 0 && self.others == 0 && !follows("-") => {
                self.angles -= 1;
                self.others = self.saved.pop().unwrap_or_default();
            }
            b'(' | b'{' if self.angles > 0 => self.others += 1,
            b')' | b'}' if self.angles > 0 => self.others = self.others.saturating_sub(1),
            _ => {}
        }
    }
}

/// The names nested in an Itanium-mangled name, outermost first: `N2ck4kernI4Gemm` → `ck::kern`, `Gemm`.
fn mangled_names(mangled: &str) -> impl Iterator<Item = String> + '_ {
    let mut rest = mangled;
    std::iter::from_fn(move || {
        let mut parts: Vec<&str> = Vec::new();
        loop {
            match next_identifier(rest) {
                Some((identifier, after)) => {
                    parts.push(identifier);
                    rest = after;
                }
                None if parts.is_empty() && !rest.is_empty() => rest = after_one_code(rest),
                None => break,
            }
        }
        (!parts.is_empty()).then(|| parts.join("::"))
    })
}

/// `3abcX` → (`abc`, `X`).
fn next_identifier(text: &str) -> Option<(&str, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).filter(|&at| at > 0)?;
    let length: usize = text[..digits].parse().ok()?;
    let rest = &text[digits..];
    Some(rest.split_at_checked(length.min(rest.len())).unwrap_or((rest, "")))
}

/// Skips one mangling code: a literal (`Li256E`), a substitution (`S4_`), or a letter.
fn after_one_code(text: &str) -> &str {
    let end = match text.as_bytes()[0] {
        b'L' => text.find('E').map_or(text.len(), |at| at + 1),
        b'S' => text.find('_').filter(|&at| at <= 3).map_or(1, |at| at + 1),
        // `DF16b` is bfloat16.
        b'D' if text.starts_with("DF") => text[2..]
            .find(|c: char| !c.is_ascii_digit())
            .map_or(text.len(), |at| at + 3)
            .min(text.len()),
        _ => text.chars().next().map_or(1, char::len_utf8),
    };
    text.get(end..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAUNCHERS: [&str; 4] =
        ["vectorized_elementwise_kernel", "gpu_kernel_impl_nocast", "elementwise_kernel", "kentry"];

    fn runs(name: &str) -> Vec<String> {
        launched(name, |stem| LAUNCHERS.contains(&stem.rsplit("::").next().unwrap_or_default()))
    }

    #[test]
    fn a_stem_has_no_arguments() {
        assert_eq!(
            stem(
                "void at::native::(anonymous namespace)::layer_norm_kernel<c10::BFloat16, float>(int, float)"
            ),
            "at::native::::layer_norm_kernel"
        );
        assert_eq!(stem("Cijk_Ailk_Bljk_BBS_BH"), "Cijk_Ailk_Bljk_BBS_BH");
        assert_eq!(
            stem(
                "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)"
            ),
            "vllm::fused_add_rms_norm_kernel"
        );
        assert_eq!(stem("void cut::off<float, at::nati"), "cut::off");
        assert_eq!(stem(""), "");
    }

    #[test]
    fn a_mangled_name_is_read_as_far_as_needed() {
        let rms = "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassINS_";
        assert_eq!(stem(rms), "ck_tile::kentry");
        assert_eq!(runs(rms), ["Rmsnorm2dFwd"]);
        assert_eq!(
            stem("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1EEEvPT0_"),
            "aiter::add_rmsnorm_quant_kernel"
        );
        assert_eq!(stem("_Z"), "");
        assert_eq!(stem("_ZN99x"), "x");
    }

    #[test]
    fn a_launcher_is_recognized_by_what_it_runs() {
        assert_eq!(
            runs(
                "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int)"
            ),
            ["4", "at::native::GeluCUDAKernelImpl", "std::array"]
        );
        let copy = "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const>(at::TensorIteratorBase&)::{lambda(int)#1}>(int)";
        assert!(
            runs(copy).contains(&"at::native::direct_copy_kernel_cuda".to_owned()),
            "{:?}",
            runs(copy)
        );
        assert!(runs("void at::native::softmax<GeluCUDAKernelImpl>(int)").is_empty());
    }

    #[test]
    fn text_between_the_parts_of_a_mangled_name_is_skipped() {
        let names = |text: &str| mangled_names(text).collect::<Vec<_>>();
        // Mangling codes for a literal, a substitution, a two-letter type, bfloat16, half and float.
        for code in ["Li256E", "S_", "S4_", "S1a_", "Sa", "DF16b", "DF16_", "f"] {
            assert_eq!(names(&format!("{code}3abc")), ["abc"], "{code}");
        }
        // An underscore that does not follow a type code is part of the name.
        assert_eq!(names("Sd5ab_cdE"), ["ab_cd"]);
        assert_eq!(names("N2ck4kernI4GemmE"), ["ck::kern", "Gemm"]);
        for cut in ["DF", "DF1", "Li25", "S"] {
            assert_eq!(names(cut), [""; 0], "{cut}");
        }
    }
}
