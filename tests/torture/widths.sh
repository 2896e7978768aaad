#!/usr/bin/env bash
# No line of a report is wider than the terminal: the reports of all golden files at 60, 80, 100 and 132 columns.
# Messages on standard error are left to the terminal.
. "$(dirname "$0")/../cli/lib.sh"

command -v python3 >/dev/null || skip_all 'python3 is not installed'
# A terminal that wants no colours: then nothing of ours is for it to obey, either.
export NO_COLOR=1 TERM=dumb

cd "$PITOT_ROOT" || exit 1
find tests/golden -type f ! -name '*.json' ! -name '*.md' ! -name '*.txt' ! -name '*.out' | sort >"$OLDPWD/profiles"
cd "$OLDPWD" || exit 1
while read -r file; do
    for report in top 'top --interval' 'top --mine' 'top --by=line' timeline tree traces tags 'peek .' why 'why .' info \
        'list . -n 5' 'disasm . -n 3' 'list --calls . -n 2' "diff '$PITOT_ROOT/$file'"; do
        echo "'$PITOT' $report '$PITOT_ROOT/$file'"
    done
done <profiles >commands
expect [ "$(wc -l <commands)" -gt 600 ]

for columns in 60 80 100 132; do
    it "fits $columns columns"
    run python3 "$PITOT_ROOT/tests/cli/on_terminals.py" columns "$columns" <commands
    [ "$status" = 0 ] || fail "$(stdout; stderr)"
done
