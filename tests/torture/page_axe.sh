#!/usr/bin/env bash
# Each view of the page of `pitot serve` under axe-core, which is not among Debian's packages: PITOT_AXE
# is its axe.min.js (`npm pack axe-core`).
. "$(dirname "$0")/../cli/lib.sh"
[ -n "${PITOT_AXE:-}" ] || skip_all 'PITOT_AXE names no axe.min.js'
command -v chromium >/dev/null || skip_all 'chromium is not installed'
exec python3 "$PITOT_ROOT/tests/torture/page_axe.py" "$PITOT_AXE"
