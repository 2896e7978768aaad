#!/usr/bin/env bash
# Waits beneath ticks of the clock on the wall: each kind of wait that record --wall lets go on, with limits that have
# no common rhythm with the ticks, alone and in several threads. None ends early or with another result than alone, and
# the median ends no later than docs/record.md says. Signals of the program end waits.
. "$(dirname "$0")/../abi/lib.sh"
here=$PITOT_ROOT/tests/abi

build_host waits_host.c host
limits=(10 3 5 7 9 27)

# late_in FILE FILE PERIOD_MS: the calls of the first that took longer than in the second, by more than is allowed.
late_in() {
    awk -v period="$3" '
        { sub(":", "", $1) }
        NR == FNR { late[$1] = $8; next }
        {
            most = late[$1] + 1
            if ($1 ~ /^epoll/) most += 1 # its limit is in milliseconds
            if ($1 ~ /semtimedop/) most += period
            if ($8 > most) print
        }' "$2" "$1"
}

for threads in 1 4; do
    begin=$EPOCHREALTIME
    ./host limits $threads "${limits[@]}" >alone
    alone_s=$(calc "$EPOCHREALTIME - $begin")
    for hz in 100 1000; do
        it "waits of $threads threads end as they do alone, $hz Hz"
        begin=$EPOCHREALTIME
        run "$PITOT" record --wall -F $hz -o wall.pb.gz ./host limits $threads "${limits[@]}"
        took_s=$(calc "$EPOCHREALTIME - $begin")
        cp "$t_out/stdout" facts
        expect_status 0
        expect [ "$(wc -l <facts)" -ge 20 ]
        expect_equal 'waits that ended early or wrongly' "$(grep -v ' early 0 wrong 0 ' facts)" ''
        expect_equal 'waits that ended late' "$(late_in facts alone $((1000 / hz)))" ''
        echo "# $(awk '{ n += $2 } END { print n }' facts) waits: $took_s s, alone $alone_s s"
        expect [ "$(calc "$took_s < $alone_s * 1.1 + 1")" = 1 ]
    done
done

for hz in 100 1000; do
    it "a signal ends a wait by the kernel's own limit whenever it comes, $hz Hz"
    for call in nanosleep poll futex; do
        run "$PITOT" record --wall -F $hz -o wall.pb.gz ./host signals 1000 $call
        expect_equal 'waits' "$(stdout)" "$call: 1000 waits, not ended 0, wrong 0, handled 1000"
    done
    it "a signal ends the other waits, but for the moment in which they begin again, $hz Hz"
    for call in select epoll_wait pause semtimedop; do
        run "$PITOT" record --wall -F $hz -o wall.pb.gz ./host signals 1000 $call
        echo "# $(stdout)"
        expect [ "$(stdout | sed 's/.*not ended \([0-9]*\), wrong 0.*/\1/')" -le 10 ]
    done
done

for hz in 100 1000 4000; do
    it "among many signals, whose handlers wait, each wait lasts or is ended by one of them, $hz Hz"
    run "$PITOT" record --wall -F $hz -o wall.pb.gz ./host storm 5000
    expect_status 0
    expect_equal 'waits' "$(stdout)" 'early 0 wrong 0'
    echo "# $(stderr | head -1)"
done
