#!/usr/bin/env bash
# Profiles without stacks: what a function called is not known, so that its total is a dash.
. "$(dirname "$0")/lib.sh"

printf '%s\n' 'name x' 'image 1' 'path /x' 'epoch 9705221030' 'platform h' 'text_start 0x1000' \
    'text_size 0x100' 'event 12 cycles:10:10000' '0x1004 9' '0x1008 3' >flat.dcpicat

it 'top, tree and peek print a dash for total where no stack tells it'
run pitot top flat.dcpicat
expect_status 0
expect_stdout_line 'flat.dcpicat: cycles, 12, 12 samples'
expect_stdout_line ' *9   75.0%      -       -  [[]x+0x4]'
run pitot tree flat.dcpicat
expect_stdout_line '      -      -   75.0%      9  [[]x+0x4]'
run pitot peek . flat.dcpicat
expect_stdout_line ' *-       -          [[]x+0x4]  self 9 (75.0%)'
expect_no_stdout_line '*called by nothing known*'

it 'JSON says null and CSV nothing'
if needs python3; then
    run pitot top --json flat.dcpicat
    expect_equal 'totals' "$(stdout | python3 -c '
import json, sys
for row in json.load(sys.stdin)["rows"]: print(row["self"], row["total"], row["total_share"])')" \
        "$(printf '9 None None\n3 None None')"
fi
run pitot top --csv flat.dcpicat
expect_stdout_line '9,0.75,,,[[]x+0x4],,0,false,true,,,,,1.63483*,11.7933*,,'
run pitot tree --csv flat.dcpicat
expect_stdout_line '1,9,0.75,,,[[]x+0x4],*'

it 'profiles with stacks, and names that came as stacks, have totals'
printf 'main;a 3\nb 1\n' >two.folded
run pitot top two.folded
expect_stdout_line '* 0      0%      3   75.0%  main'
printf 'b 1\nc 2\n' >one.folded
run pitot top --from=folded one.folded
expect_stdout_line '* 1   33.3%      1   33.3%  b'
