"""The exceptions of tracetree."""

from __future__ import annotations

from tracetree._names import public


@public
class TracetreeError(Exception):
    """The base of ``TraceError`` and ``UsageError``. The message names what is wrong and suggests a remedy."""

    kind: str
    """``malformed``, ``not_a_trace``, ``limit_exceeded``, ``usage`` or ``io``."""
    path: str | None
    """The path as it was passed."""
    offset: int | None
    """Byte offset in the uncompressed file, if known."""
    event: int | None
    """Position of the event in ``traceEvents``, if known."""

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
        # Make the exception picklable, so that it can be passed between processes.
        return (_restored, (type(self), str(self), dict(self.__dict__)))


@public
class TraceError(TracetreeError):
    """A trace cannot be read or compared. The message names the file and the position in the file, and suggests a
    remedy.

    If the operating system cannot open a file, an ``OSError`` such as ``FileNotFoundError`` or
    ``PermissionError`` is raised instead.
    """


@public
class UsageError(TracetreeError, ValueError):
    """The request is invalid: for example, the trace has no event with this uid, or the format is unknown."""


@public
class TraceWarning(UserWarning):
    """A warning about a trace or a comparison, which you should take into account when you interpret the figures.

    The message starts with the warning code, such as ``NO_PYTHON_STACKS``, so that a filter in ``warnings`` can
    select it.
    """


def _restored(
    kind_of_error: type[TracetreeError], message: str, about: dict[str, object]
) -> TracetreeError:
    error = kind_of_error(message)
    error.__dict__.update(about)
    return error
