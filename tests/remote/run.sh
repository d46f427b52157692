#!/bin/sh
# Tests the command, built with the feature `remote`, against a local S3-compatible server (moto).
#
#   run.sh COMMAND [PYTEST ARGUMENTS]
#
# Needs Python 3.10 or newer and a package index. Packages are installed into target/remote. Set PYTHON to choose
# the interpreter.
set -eu

command=$(realpath "${1:?"name the command: cargo build --features remote makes target/debug/tracetree"}")
shift
cd "$(dirname "$0")/../.."

place=$PWD/target/remote
[ -x "$place/bin/python" ] || "${PYTHON:-python3}" -m venv "$place"
"$place/bin/pip" install --quiet --disable-pip-version-check --require-hashes --requirement tests/remote/requirements.txt
TRACETREE="$command" exec "$place/bin/python" -m pytest -p no:cacheprovider --rootdir tests/remote tests/remote "$@"
