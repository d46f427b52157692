"""Checks the arguments of the public functions; errors name the parameter and the expected type."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence

from tracetree._names import kind, shortened


#: Maximum length of a path, query or name. Longer strings are rejected, and shortened in the error message.
LONGEST = 4096


def steps(option: str, steps: int | str | range | None) -> str | None:
    if steps is None or isinstance(steps, str):
        return text(option, steps)
    if isinstance(steps, range):
        if steps.step != 1 or not steps or steps.start < 0:
            raise ValueError(f"{option} must be an ascending range without gaps that starts at 0 or later, not {steps}")
        return f"{steps.start}..{steps.stop}"
    if isinstance(steps, bool) or not hasattr(steps, "__index__"):
        raise TypeError(f"{option} must be a number, a range or a string, not {kind(steps)}")
    if steps < 0:
        raise ValueError(f"{option} must be a position of at least 0, not {shortened(steps)}")
    return str(operator.index(steps))


def names(names: tuple[str, str] | None) -> tuple[str, str] | None:
    if names is None:
        return None
    if isinstance(names, str) or not isinstance(names, Sequence) or len(names) != 2:
        raise TypeError(f'names must be two names, such as ("before", "after"), not {kind(names)}')
    baseline, candidate = (str(name).strip() for name in names)
    for name in (baseline, candidate):
        if not name or len(name) > 40 or not name.isprintable():
            raise ValueError(f"the side name {shortened(name)} must have 1 to 40 printable characters")
    if baseline == candidate:
        raise ValueError(f"both sides have the name {baseline!r}: give them different names")
    return (baseline, candidate)


def number(option: str, value: float) -> float:
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        example = ", such as 0.02 for 2%" if option == "relative_threshold" else ""
        raise TypeError(f"{option} must be a number{example}, not {kind(value)}")
    if not 0.0 <= value < 1e300:
        raise ValueError(f"{option} must be a finite number of at least 0, not {shortened(value)}")
    return float(value)


def optional_number(option: str, value: float | None) -> float | None:
    return None if value is None else number(option, value)


def toml(option: str, path: str | os.PathLike[str] | None) -> str | None:
    if path is None:
        return None
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{option} must be the path of a TOML file, not {kind(path)}")
    return text(option, os.fspath(path))


def text(option: str, value: str | None) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{option} must be a string, not {kind(value)}")
    if value is not None and len(value) > LONGEST:
        raise ValueError(f"{option} must have at most {LONGEST} characters, not {len(value)}: {shortened(value)}")
    return value


def texts(option: str, value: str | Sequence[str] | None) -> list[str]:
    if value is None:
        return []
    each = [value] if isinstance(value, str) else value
    if not isinstance(each, (list, tuple)):
        raise TypeError(f"{option} must be a string or a list of strings, not {kind(value)}")
    for one in each:
        if not isinstance(one, str):
            raise TypeError(f"{option} must be a string or a list of strings, not {kind(one)}")
        text(option, one)
    return list(each)


def count(option: str, value: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{option} must be a whole number, not {kind(value)}")
    if not 0 <= value < 1 << 63:
        raise ValueError(f"{option} must be from 0 to 2**63 - 1, not {shortened(value)}")
    return operator.index(value)


def optional_count(option: str, value: int | None) -> int | None:
    return None if value is None else count(option, value)


def anonymize(value: bool | Sequence[str], inputs: Sequence[str]) -> tuple[list[str], list[str]] | None:
    if value is False:
        return None
    names = [] if value is True else texts("anonymize", value)
    return (names, list(inputs))


def flag(option: str, value: bool) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{option} must be True or False, not {kind(value)}")
