"""Reads the events of a trace as Python values, to access data that the native module does not keep."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

from tracetree._errors import TraceError, UsageError

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def load(source: Any) -> list[dict[str, Any]]:
    """The elements of ``traceEvents``, in the order of the file.

    Raises ``UsageError`` if the source cannot be read again, and ``TraceError`` if it is not valid JSON. Some damaged files raise this error
    although tracetree can compare them, because the native module repairs damage that Python's JSON parser rejects.
    """
    if isinstance(source, tuple):
        name = source[0]
        if len(source) != 2:
            raise UsageError(
                f"{name}: the events were read from a file object or a large buffer, which is not kept: "
                "pass a path",
                kind="usage",
                path=name,
            )
        content = source[1]
    else:
        name = os.fspath(source)
        content = Path(source).read_bytes()
    try:
        # Replace invalid bytes, because kernel names in old recordings may contain bytes that are not UTF-8.
        document = json.loads(unpacked(name, content).decode("utf-8-sig", "replace"), strict=False)
    except ValueError as error:
        raise TraceError(f"{name}: not valid JSON: {error}", kind="malformed", path=name) from error
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(events, list):
        raise TraceError(f"{name}: has no traceEvents list", kind="not_a_trace", path=name)
    return events


def unpacked(name: str, content: bytes) -> bytes:
    """The content of a file, decompressed if it is compressed."""
    if content.startswith(GZIP):
        text = bytearray()
        # A gzip file may have several members; anything after the last member is ignored.
        while content.startswith(GZIP):
            member = zlib.decompressobj(31)
            try:
                text += member.decompress(content)
            except zlib.error as error:
                raise TraceError(f"{name}: damaged gzip: {error}", kind="malformed", path=name) from error
            content = member.unused_data
        return bytes(text)
    if content.startswith(ZSTD):
        try:
            from compression import zstd  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            try:
                import zstandard
            except ImportError:
                raise ImportError(
                    f"{name}: reading the events of a zstd file in Python needs zstandard: "
                    "pip install zstandard"
                ) from None
            return bytes(zstandard.ZstdDecompressor().stream_reader(content).read())
        return bytes(zstd.decompress(content))
    return content
