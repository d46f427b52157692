//! Decompresses zstd data if the feature `zstd` is enabled. Without this feature, no C compiler is needed to build the
//! library.

use crate::error::{Error, ErrorKind};
use std::path::Path;

/// The first bytes of every zstd frame.
pub(super) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

#[cfg(feature = "zstd")]
pub(super) type Zstd<R> = ::zstd::stream::read::Decoder<'static, R>;
#[cfg(not(feature = "zstd"))]
pub(super) use absent::Zstd;

/// Converts an error of the decoder. If this build cannot decompress the file, the error says what to do.
pub(super) fn error(path: impl AsRef<Path>, source: std::io::Error) -> Error {
    if source.kind() != std::io::ErrorKind::Unsupported {
        return Error::io(path, "read the trace", source);
    }
    let message = "is compressed with zstd, which is not part of this build of tracetree";
    Error::new(ErrorKind::Io, path, message).remedy(
        "decompress it with `zstd -d`, or install the full command: cargo install --path crates/tracetree-cli \
         --features full",
    )
}

#[cfg(not(feature = "zstd"))]
mod absent {
    use std::convert::Infallible;
    use std::io::{self, Read};

    /// Replaces the zstd decoder in builds without the feature `zstd`; no value of this type can be
    /// created.
    pub(in crate::trace) struct Zstd<R> {
        source: R,
        never: Infallible,
    }

    impl<R> Zstd<R> {
        pub(in crate::trace) fn with_buffer(_: R) -> io::Result<Self> {
            Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "zstd is not part of this build of tracetree",
            ))
        }

        pub(in crate::trace) fn get_ref(&self) -> &R {
            &self.source
        }

        pub(in crate::trace) fn get_mut(&mut self) -> &mut R {
            &mut self.source
        }
    }

    impl<R> Read for Zstd<R> {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            match self.never {}
        }
    }
}
