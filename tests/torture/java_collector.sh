#!/usr/bin/env bash
# Java by the library and by perf events, while classes are loaded and unloaded all the time: frames have the names of their own
# methods, and the machine comes to its end. Of 10,000 frames one may be wrong: an interpreted frame that a sample meets while it is made
# may have what the stack held before. (perf reads names later: one of 1,000 may have the name of a class that was loaded in the place
# of another.) JAVAS: programs of Java to try; the installed one is tried in any case.
. "$(dirname "$0")/../cli/lib.sh"
torture=$PITOT_ROOT/tests/torture
seconds=${JAVA_SECONDS:-20}

command -v java >/dev/null || [ -n "${JAVAS:-}" ] || skip_all 'java is not installed'
[ "$PITOT_SANITIZED" = 0 ] || skip_all 'the library is not loaded into sanitized runs'
pitot record --engine=perf -o probe.pb.gz true 2>probe
has_perf=$?

# check_collector ENGINE HZ FRAMES JAVA [OPTION...]: of so many frames one may be wrong, and one more.
check_collector() {
    local engine=$1 hz=$2 part=$3 frames wrong
    shift 3
    run pitot record --engine="$engine" -F "$hz" -o collector.pb.gz "$@" -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints \
        "$torture/java_collector.java" "$seconds"
    expect_status 0
    echo "# $(stderr | tail -n 1)"
    pitot traces -n 0 --lines --json collector.pb.gz >traces.json 2>/dev/null
    run python3 "$torture/java_collector.py" traces.json
    echo "# $(stdout)"
    read -r _ frames _ _ _ wrong _ < <(stdout)
    expect [ "$((wrong * part))" -le "$((frames + part))" ]
    expect [ "$frames" -ge 100 ]
}

for java in $(command -v java) ${JAVAS:-}; do
    version=$("$java" -version 2>&1 | sed -n '1s/[^"]*"\([^"]*\)".*/\1/p')
    for options in '' '-XX:+UseSerialGC' '-Xint' '-XX:TieredStopAtLevel=1' '-XX:-TieredCompilation'; do
        it "$version $options: names are the methods' own, by the library at 1 kHz"
        # shellcheck disable=SC2086
        check_collector preload 1000 10000 "$java" $options
        it "$version $options: names are the methods' own, by the library at 10 kHz"
        # shellcheck disable=SC2086
        check_collector preload 10000 10000 "$java" $options
    done
    it "$version: names are the methods' own, by perf events"
    if [ "$has_perf" = 0 ]; then
        check_collector perf 4000 1000 "$java"
    else
        skip "no perf events here: $(tail -n 1 probe)"
    fi
done
