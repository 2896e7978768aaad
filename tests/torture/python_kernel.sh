#!/usr/bin/env bash
# A minute of Python at 10 kHz in stacks that the kernel walks: each frame right in name, file and line,
# nearly all stacks joined with certainty, no name lost.
. "$(dirname "$0")/../cli/lib.sh"
tests=$PITOT_ROOT/tests/cli
seconds=${PYTHON_SECONDS:-60}

python=$(command -v python3) || skip_all 'python3 is not installed'
run pitot record --engine=bpf -o probe.pb.gz true
[ "$status" = 0 ] || skip_all "no BPF here: $(stderr | tail -n 1)"

# How long a round of python_stacks.py takes here.
start=$(date +%s%N)
"$python" "$tests/python_stacks.py" expected.json 80 || exit 1
rounds=$((80 * seconds * 1000 / (($(date +%s%N) - start) / 1000000 + 1)))

it "each frame of $rounds rounds, 10 kHz, is right, and at least 99.8 % of the stacks are joined with certainty"
run pitot record --engine=bpf -F 10000 -o stacks.pb.gz "$python" "$tests/python_stacks.py" expected.json "$rounds"
expect_status 0
echo "# $(stderr | tail -n 1)"
run pitot info stacks.pb.gz
joined=$(stdout | sed -n 's/.*joined with native frames for certain in \([0-9.]*\) % of them.*/\1/p')
expect awk -v joined="$joined" 'BEGIN { exit !(joined >= 99.8) }'
expect_equal 'frames without a name' "$(stdout | grep -c 'frames have no name')" 0
pitot dump --json stacks.pb.gz >dump.json 2>/dev/null
run "$python" "$tests/python_stacks_check.py" expected.json dump.json
expect_status 0
echo "# $(stdout)"
read -r _ _ _ frames _ wrong _ < <(stdout)
expect_equal 'wrong stacks' "$wrong" 0
expect [ "$frames" -ge $((seconds * 10000)) ]
