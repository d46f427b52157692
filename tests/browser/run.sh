#!/bin/sh
# A folder of reports -> the tests of report.html in a real Chromium.
#
#   run.sh [--install] FOLDER
#
# FOLDER holds the reports `model`, `hostile` and `example`; tests/html.rs writes them.
# With --install a missing Chromium is installed from Debian's packages (needs root).
# Exit 77: node, npm or Chromium cannot be had here, so nothing was tested.
set -eu

install=no
if [ "${1:-}" = "--install" ]; then
    install=yes
    shift
fi
reports=$(cd "$1" && pwd)
cd "$(dirname "$0")"

skip() {
    echo "skipped: $1" >&2
    exit 77
}

find_browser() {
    for name in chromium chromium-browser google-chrome; do
        command -v "$name" && return 0
    done
    return 1
}

command -v node >/dev/null && command -v npm >/dev/null || skip "there is no node with npm"
[ "$(node -p 'parseInt(process.versions.node)')" -ge 20 ] || skip "node is older than 20"
if ! find_browser >/dev/null && [ "$install" = yes ]; then
    apt-get update -q && apt-get install -qy --no-install-recommends chromium fonts-dejavu-core
fi
CHROMIUM=${CHROMIUM:-$(find_browser)} || skip "there is no Chromium; run.sh --install installs it"
if [ ! -d node_modules/playwright-core ]; then
    npm ci --no-audit --no-fund --loglevel=error >&2 || skip "npm cannot fetch playwright-core"
fi
export CHROMIUM REPORTS="$reports"
exec node --test --test-reporter=spec .
