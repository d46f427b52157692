"""The command ``tracetree``, which behaves like the binary and also has ``tracetree run``."""

from __future__ import annotations

import sys

from tracetree import _native


def main() -> int:
    """Runs the command line with the process's arguments and returns the exit code."""
    if sys.argv[1:2] == ["run"]:
        from tracetree import _run

        return _run.main(sys.argv[2:])
    return _native.main(["tracetree", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
