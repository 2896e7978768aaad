#!/usr/bin/env bash
# Samples times period beside the threads' own CPU clocks: every rate, number of threads, kind of
# work and right. Each within 2 % of the clocks and the one period a thread that chance may add or
# take; perf_event_paranoid stands beside each figure.
. "$(dirname "$0")/../abi/lib.sh"
here=$PITOT_ROOT/tests/abi

build_host timers_host.c host
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || echo 4)
chmod 777 "$t_dir"
mkdir -m 777 user
cp host user/
cp "$PITOT_BUILD/libprofiler.so.0" user/

# measure RIGHT HZ THREADS KIND SECONDS
measure() {
    local right=$1 hz=$2 threads=$3 kind=$4 seconds=$5
    local load=(./user/host load "$threads" "$kind" "$seconds")
    local with=(env CPUPROFILE=prof CPUPROFILE_FREQUENCY="$hz" LD_LIBRARY_PATH="$PWD/user")
    rm -f prof
    case $right in
    root) run "${with[@]}" "${load[@]}" ;;
    ordinary) run setpriv --reuid 65534 --clear-groups "${with[@]}" LD_PRELOAD="$PWD/user/libprofiler.so.0" "${load[@]}" ;;
    refused) run ./host exec "${with[@]}" "${load[@]}" ;;
    esac
    cp "$t_out/stdout" facts
    expect_status 0
    read_profile prof compute call_kernel
    python3 - "$(told seconds)" "$(fact cpu)" "$(fact main)" "$threads" "$hz" <<'PY' >line || fail "$(cat line)"
import math, sys
seen, cpu, main, threads, hz = map(float, sys.argv[1:])
used = cpu + main
error = seen / used - 1
print(f'{100 * error:+.2f} % of {used:.2f} s')
sys.exit(abs(seen - used) > 0.02 * used + 3 * math.sqrt(threads) / hz)
PY
    echo "# $right, perf_event_paranoid $paranoid, $hz Hz, $threads threads, $kind: $(cat line)"
}

rights=(refused)
[ "$(id -u)" = 0 ] && rights=(root ordinary refused)
for right in "${rights[@]}"; do
    for hz in 100 1000 4000; do
        it "samples times period are the clocks' CPU time: $right, $hz Hz"
        for threads in 1 8 64; do
            for kind in user system; do
                measure "$right" $hz $threads $kind "$(python3 -c "print(max(2 / $threads, 0.1))")"
            done
        done
    done
done
