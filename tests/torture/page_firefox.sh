#!/usr/bin/env bash
# The page of `pitot serve` and the file of `pitot report` in Firefox: views, pointer, keys, files that are dropped.
. "$(dirname "$0")/../cli/lib.sh"
command -v firefox-esr >/dev/null || command -v firefox >/dev/null || skip_all 'firefox-esr is not installed'
"$PITOT" version --features | grep -q '^pages *libmicrohttpd' || skip_all 'built without libmicrohttpd'
exec python3 "$PITOT_ROOT/tests/torture/page_firefox.py"
