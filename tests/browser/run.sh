#!/bin/sh
# Runs the browser tests of report.html and fleet.html in a real Chromium, on a folder of reports.
#
#   run.sh --install   fetches what the tests need: Chromium from Debian's packages (as root), and the
#                      packages of package-lock.json
#   run.sh FOLDER      tests the reports `model`, `hostile` and `example`, and the fleets `fleet` and
#                      `odd-fleet` in FOLDER; tests/report/html.rs writes them and calls this
#
# Exit code 77: node, npm or Chromium is not available, so nothing was tested.
set -eu

skip() {
    echo "$1" >&2
    exit 77
}

find_browser() {
    for name in chromium chromium-browser google-chrome; do
        command -v "$name" && return 0
    done
    return 1
}

install_browser() {
    find_browser >/dev/null && return 0
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends chromium fonts-dejavu-core
}

install_driver() {
    # npm writes this file after it has installed all packages.
    [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund --loglevel=error >&2
}

reports=${1:?"name a folder of reports, or --install"}
[ "$reports" = --install ] || reports=$(cd "$reports" && pwd)
cd "$(dirname "$0")"

command -v node >/dev/null && command -v npm >/dev/null || skip "there is no node with npm"
[ "$(node -p 'parseInt(process.versions.node)')" -ge 20 ] || skip "node is older than 20"
if [ "$reports" = --install ]; then
    install_browser
    install_driver
    exit 0
fi
CHROMIUM=${CHROMIUM:-$(find_browser)} || skip "there is no Chromium; run.sh --install fetches it"
install_driver || skip "npm cannot fetch its packages"
export CHROMIUM REPORTS="$reports"
exec node --test --test-reporter=spec .
