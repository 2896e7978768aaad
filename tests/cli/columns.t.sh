#!/usr/bin/env bash
# The columns of reports: text, JSON and CSV are made of one table (render/column.h).
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

golden=$PITOT_ROOT/tests/golden

it 'says the same in text, JSON and CSV of every profile'
if needs python3; then
    mapfile -t profiles < <(find "$golden"/{callgrind,contention,cpuprofile,firefox,heap,java-cpu,jemalloc,otlp,perf.data,pprof,speedscope,gprof-text} \
        -type f ! -name '*.md' ! -name '*.[ch]' ! -name '*.cc' ! -name '*.go' ! -name '*.js' | sort)
    run python3 "$PITOT_ROOT/tests/cli/columns.py" "$PITOT" "${profiles[@]}"
    expect_status 0
fi
