"""The exceptions of tracetree."""

from __future__ import annotations


class TraceError(Exception):
    """A trace cannot be read or compared. The text names the file, the place in it and what to do.

    Files that the system refuses raise ``OSError`` (``FileNotFoundError``, ``PermissionError``, …)
    instead.
    """

    kind: str
    """``malformed``, ``not_a_trace``, ``limit_exceeded``, ``usage`` or ``io``."""
    path: str | None
    """The file, as it was named."""
    offset: int | None
    """Byte offset in the unpacked text, where it is known."""
    event: int | None
    """Position in ``traceEvents``, where it is known."""

    def __init__(
        self,
        message: str,
        *,
        kind: str = "",
        path: str | None = None,
        offset: int | None = None,
        event: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.path = path
        self.offset = offset
        self.event = event

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions travel between processes, too.
        return (_restored, (type(self), str(self), dict(self.__dict__)))


class UsageError(TraceError, ValueError):
    """What was asked for cannot be given: a uid that a trace does not have, an unknown format."""


def _restored(
    kind_of_error: type[TraceError], message: str, about: dict[str, object]
) -> TraceError:
    error = kind_of_error(message)
    error.__dict__.update(about)
    return error
