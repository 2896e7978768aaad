#!/usr/bin/env bash
# Node in stacks that the kernel walks, while V8's collector drops, moves and makes functions again: no frame has the name of
# another function. (Where V8 drops the names of functions within milliseconds, one in 500 may: the recorder reads names later.) NODES: programs of node to try; the installed one is tried in any case.
. "$(dirname "$0")/../cli/lib.sh"
torture=$PITOT_ROOT/tests/torture
seconds=${NODE_SECONDS:-10}

command -v node >/dev/null || [ -n "${NODES:-}" ] || skip_all 'node is not installed'
run pitot record --engine=bpf -o probe.pb.gz true
[ "$status" = 0 ] || skip_all "no BPF here: $(stderr | tail -n 1)"

for node in $(command -v node) ${NODES:-}; do
    for options in '' '--expose-gc --stress-flush-code' '--expose-gc --stress-compaction' '--max-semi-space-size=1 --always-sparkplug' '--jitless'; do
        it "$("$node" --version) $options: names are the functions' own"
        # shellcheck disable=SC2086
        "$node" $options "$torture/node_collector.js" &
        program=$!
        sleep 1
        run pitot record --engine=bpf -p $program -d "$seconds" -F 4000 -o collector.pb.gz
        kill -KILL $program
        expect_status 0
        pitot traces -n 0 --lines --json collector.pb.gz >traces.json 2>/dev/null
        run python3 "$torture/node_collector.py" traces.json
        echo "# $(stdout)"
        read -r _ frames _ _ _ wrong _ _ < <(stdout)
        case $options in
        *--stress-flush-code*) expect [ "$((wrong * 500))" -le "$frames" ] ;;
        *) expect_equal 'wrong frames' "$wrong" 0 ;;
        esac
        expect [ "$frames" -ge 500 ]
    done
done
