//! Decides which runtime calls wait for the GPU. No other module contains the names of calls that
//! wait for the GPU.

use crate::tree::contains_word;

/// Whether a call of the GPU runtime returns only after GPU work is done.
///
/// ```
/// use tracetree::program::is_synchronisation;
///
/// assert!(is_synchronisation("cudaStreamSynchronize") && is_synchronisation("hipMemcpyWithStream"));
/// assert!(!is_synchronisation("cudaMemcpyAsync"));
/// ```
#[doc(hidden)]
pub fn is_synchronisation(name: &str) -> bool {
    const BLOCKING_COPIES: [&str; 6] = [
        "cudaMemcpy",
        "hipMemcpy",
        "hipMemcpyWithStream",
        "cudaMemcpyToSymbol",
        "cudaMemcpyFromSymbol",
        "cuMemcpyDtoH_v2",
    ];
    let is_runtime = ["cuda", "hip", "cu"].iter().any(|prefix| name.starts_with(prefix));
    is_runtime && (contains_word(name, "Synchronize") || BLOCKING_COPIES.contains(&name))
}
