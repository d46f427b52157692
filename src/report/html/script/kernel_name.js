// Shortens the name of a kernel to a readable form. The full name stays in the `title` attribute
// and in copied text.
//
//   void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>(…)
//   cutlass::Kernel2<bf16, 256×128>

const TYPES = [
  [/^(c10::BFloat16|__nv_bfloat16|__hip_bfloat16|cutlass::bfloat16_t|DF16b)$/, "bf16"],
  [/^(c10::Half|__half2?|_Float16|cutlass::half_t|DF16_)$/, "fp16"],
  [/^float$/, "fp32"], [/^double$/, "fp64"], [/^(long|long long)$/, "int64"], [/^int$/, "int32"], [/^bool$/, "bool"],
];
const QUALIFIERS = /^(?:void|static|const|std::enable_if<.*?>::type)\s+/;
// Namespace parts that carry no information.
const ANONYMOUS = "(anonymous namespace)::";
const NAMESPACES = /\b(?:at::native|at_cuda_detail|at::cuda|c10|detail|impl|[A-Z]+_\d+_NS|ROCPRIM_\d+_NS)::/g;
// Generic kernels, which run the function that is named in their template arguments.
const LAUNCHERS = /(?:elementwise\w*|reduce|multi_tensor_apply|trampoline|index\w*|scatter_gather\w*|distribution\w*|CatArray\w*)_?[kK]ernel\w*$|^elementwise|_kernel_with_index$/;
const WORD = /\b([A-Za-z_]\w*?(?:Functor|Op|Ops|_functor|kernel_cuda|_kernel_impl|kernel_impl|_kernel))\b/g;
const DULL = /^(?:gpu_kernel_impl(?:_nocast)?|ReduceOp|TensorListOp|func_wrapper_t|BinaryFunctor|AUnaryFunctor|BUnaryFunctor|gpu_index_kernel)$/;
const LONGEST_SHORT = 72;

const shortKernels = new Map();
function shortKernel(name) {
  if (!shortKernels.has(name)) shortKernels.set(name, shortened(name));
  return shortKernels.get(name);
}

function shortened(name) {
  if (/^Mem(?:cpy|set)/.test(name)) return name;
  const plain = name.startsWith("_Z") ? demangled(name) : name;
  const { stem, inside } = splitName(plain.replace(QUALIFIERS, "").replace(/^void\s+/, ""));
  const base = stem.replace(NAMESPACES, "");
  if (!base) return cutShort(name);
  if (inside === null) return tuned(base);
  const kept = [];
  const add = (text) => text && !kept.includes(text) && kept.length < 3 && kept.push(text);
  if (LAUNCHERS.test(base)) {
    const words = [...inside.matchAll(WORD)].map(([, word]) => word).filter((word) => !DULL.test(word));
    add((words.pop() || "").replace(/_?(?:kernel(?:_impl|_cuda)*|functor)$|Functor$/, ""));
    add(typeOf(/c10::BFloat16|c10::Half|\b(?:float|double|long|bool)\b/.exec(inside)?.[0] || ""));
  } else if (/^cutlass/.test(base)) traits(inside).forEach(add);
  else for (const type of argumentsOf(inside)) add(typeOf(type));
  return cutShort(kept.length ? `${base}<${kept.join(", ")}>` : base);
}

// Parses a kernel name that contains the type and tile size, such as
// sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x128x32_…
function tuned(base) {
  const xmma = /^((?:sm\d+|cask\w*)_xmma_\w*?(?:gemm|fprop|dgrad|wgrad)\w*?)_((?:[a-z]*f\d+){2,}_?\w*?)_.*tilesize(\d+)x(\d+)/.exec(base);
  if (xmma) return `${xmma[1]}<${dtypeIn(xmma[2])}, ${xmma[3]}×${xmma[4]}>`;
  const cijk = /^(Cijk_[A-Za-z]+_[A-Za-z]+)_([A-Z]+)_.*?MT(\d+)x(\d+)/.exec(base);
  if (cijk) return `${cijk[1]}<${{ S: "fp32", B: "bf16", H: "fp16", D: "fp64" }[cijk[2][0]] || cijk[2]}, ${cijk[3]}×${cijk[4]}>`;
  return cutShort(base);
}

function dtypeIn(text) {
  return ["tf32", "bf16", "f16", "f64", "f32", "s8"].find((type) => text.includes(type))?.replace(/^f(?=\d)/, "fp") || text;
}

// The type and the tile size of a cutlass kernel.
function traits(inside) {
  const tile = /_(\d{2,3})x(\d{2,3})_\d+x\d+/.exec(inside) || /(\d{2,3})x(\d{2,3})/.exec(inside);
  const type = /bf16|bfloat16/.test(inside) ? "bf16" : /tf32|s1688(?!4)/.test(inside) ? "tf32" : /f16|h1688/.test(inside) ? "fp16" : /sgemm|f32|float/.test(inside) ? "fp32" : "";
  return [type, tile ? `${tile[1]}×${tile[2]}` : ""];
}

function typeOf(text) {
  const bare = text.trim().replace(/\s*(?:const|[*&])+$/, "");
  return TYPES.find(([pattern]) => pattern.test(bare))?.[1] || "";
}

// Turns a<b>::c<d>(e) into a::c and its last template arguments, without the parameters.
function splitName(text) {
  let stem = "", inside = null, depth = 0, from = 0;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (text.startsWith(ANONYMOUS, at)) {
      at += ANONYMOUS.length - 1;
    } else if (letter === "<" && !/operator$/.test(stem)) {
      if (depth++ === 0) from = at + 1;
    } else if (letter === ">" && depth && text[at - 1] !== "-") {
      if (--depth === 0) inside = text.slice(from, at);
    } else if (letter === "(" && !depth) {
      break;
    } else if (!depth) {
      stem += letter;
    }
  }
  if (depth) inside = text.slice(from);
  return { stem: stem.trim().split(" ").pop(), inside };
}

// The arguments between two brackets, without nested arguments.
function argumentsOf(inside) {
  const list = [];
  let depth = 0, from = 0;
  for (let at = 0; at <= inside.length; at++) {
    const letter = inside[at];
    if (letter === "<" || letter === "(") depth++;
    else if (letter === ">" || letter === ")") depth--;
    else if (depth === 0 && (letter === "," || letter === undefined)) {
      list.push(inside.slice(from, at));
      from = at + 1;
    }
  }
  return list;
}

// Turns _ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64E… into
// aiter::add_rmsnorm_quant_kernel<DF16b,DF16b>. The result consists of the nested name, and the
// simple types among its template arguments.
function demangled(name) {
  let at = name.startsWith("_ZN") ? 3 : 2;
  const parts = [];
  for (;;) {
    const found = /^\d+/.exec(name.slice(at, at + 4));
    if (!found) break;
    at += found[0].length + Number(found[0]);
    parts.push(name.slice(at - Number(found[0]), at));
  }
  if (!parts.length) return name;
  if (name[at] !== "I") return parts.join("::");
  const rest = name.slice(at + 1, at + 400);
  // In ck_tile, the kernel `kentry` runs the function that is named in its template arguments.
  const inner = [...rest.matchAll(/(\d+)([A-Za-z_]\w*)/g)].map(([, length, text]) => text.slice(0, Number(length)));
  const letters = { f: "float", d: "double" };
  const types = [...rest.matchAll(/DF16b|DF16_|(?<=^|I)[fd]/g)].map(([type]) => letters[type] || type);
  const named = parts[parts.length - 1] === "kentry" && inner.length ? [inner[0]] : [];
  return `${parts.join("::")}<${[...named, ...new Set(types)].join(",")}>`;
}

function cutShort(text) {
  const letters = [...text];
  return letters.length <= LONGEST_SHORT ? text : letters.slice(0, 40).join("") + "…" + letters.slice(-31).join("");
}
