#!/usr/bin/env bash
# pitot timeline: an event over time; and --time in seconds from the first sample. Numbers by arithmetic.
. "$(dirname "$0")/lib.sh"

# 2 s from 500.0 on: thread 8 of process 7 each 100 ms on cpu 0, thread 9 each 500 ms on cpu 1
{
    for ms in 000 100 200 300 400 500 600 700 800 900; do
        for s in 500 501; do printf '%s.%s 7/8 000\n' $s $ms; done
    done
    for at in 500.050 500.550 501.050 501.550; do printf '%s 7/9 001\n' $at; done
} | sort | while read -r at who cpu; do
    printf 'app %s [%s] %s000: 1000000 cpu-clock:\n\t401000 work+0x1 (/app)\n\n' "$who" "$cpu" "$at"
done >timed.txt

it 'sums by process, thread and cpu'
run pitot timeline --steps=2 timed.txt
expect_status 0
expect_stdout_line 'from the first sample: 0 to 1.90s, 950ms a bar'
expect_stdout_line '*24.0ms  100.0%  *  all'
expect_stdout_line '*24.0ms  100.0%  *  process 7  app'
expect_stdout_line '*20.0ms   83.3%  *  thread 8 of 7  app'
expect_stdout_line '*4.00ms   16.7%  *  thread 9 of 7  app'
expect_stdout_line '*4.00ms   16.7%  *  cpu 1'

it 'has each step and each part of each second in JSON'
run pitot timeline --steps=2 --json timed.txt
expect_status 0
"$PITOT" timeline --steps=2 --json timed.txt | tr -d ' \n' >flat
expect grep -qF '"span_ns":1900000000,"step_ns":950000001,' flat
expect grep -qF '"kind":"thread","pid":7,"tid":9,"cpu":null,"comm":"app","total":4000000,"values":[2000000,2000000]' flat
# 20 ms a part: 0 ms is part 0, 50 ms part 2, 100 ms part 5
expect grep -qF '"seconds":2,"offsets":50,"heat":[1000000,0,1000000,0,0,1000000,' flat

it 'takes a range from the first sample on'
run pitot top --time=1,1.2 timed.txt
expect_stdout_line '--time=1,1.2: 4.00ms of it, 16.7% (4 samples)'
run pitot top --time=501,501.2 timed.txt
expect_stdout_line '--time=501,501.2: 4.00ms of it, 16.7% (4 samples)'

it 'shows marks by name and thread, counters as sums, and single marks in the order of time'
golden=$PITOT_ROOT/tests/golden
run pitot timeline --steps=10 --marks=3 "$golden/firefox/markers.json"
expect_status 0
expect_stdout_line '*15.5ms       1    ███       Load 7  GeckoMain, thread 12'     # 30 to 45.5 of 100 ms
expect_stdout_line '*4.00ms       2    █         Work  GeckoMain, thread 12'
expect_stdout_line '* 1.17kB  1.46kB  ██▆▆▆▆▆▆▆▆  malloc  process 12'              # 1000, 1500, 1200 bytes
expect_stdout_line '    0.025000   3.00ms  Work  GeckoMain, thread 12'
expect_stdout_line '    0.030000   15.5ms  Load 7  GeckoMain, thread 12  https://shop.example/a?b=c'
expect_stdout_line '3 more (--marks)'
run pitot timeline --json --steps=2 --marks=1 "$golden/firefox/markers.json"
expect_stdout_line '*"start_ns": 30000000,'
expect_stdout_line '*"URI": "https://shop.example/a?b=c",'
run pitot timeline --marks=9 --tag-focus=tid=99 --tag-ignore=tid=12 "$golden/firefox/markers.json"
expect_status 3

it 'shows tracepoints beside samples as marks'
printf 'app 7/8 [000] %s: %s:\n\t401000 work+0x1 (/app)\n\n' 1.0 '1000000 cpu-clock' 1.3 '1 syscalls:sys_enter_fsync' \
    2.0 '1000000 cpu-clock' >points.txt
run pitot timeline -e cpu-clock --steps=4 --marks=1 points.txt
expect_stdout_line '*       1   █    syscalls:sys_enter_fsync  app, thread 8'
expect_stdout_line '    0.300000           syscalls:sys_enter_fsync  app, thread 8'

it 'divides a span of more than 2^63 ns'
cat >span.json <<'END'
{"meta":{"interval":1,"version":29,"startTime":0},"threads":[{"samples":{"data":[[0,-9.3e12],[0,0],[0,9.3e12]],
"schema":{"stack":0,"time":1}},"stackTable":{"data":[[null,0]],"schema":{"prefix":0,"frame":1}},
"frameTable":{"data":[[0]],"schema":{"location":0}},"stringTable":["f"]}]}
END
for steps in 1 2; do
    run pitot timeline --steps=$steps span.json
    expect_status 0
    expect_stdout_line 'from the first sample: 0 to 2,562,048h, 2,562,048h a bar' # 2^63 ns, the most that is shown
    run pitot timeline --steps=$steps --json span.json
    expect_stdout_line '*"span_ns": 184467440737095516*'
done

it 'has so many tracks that they and the steps are at most four million values'
for ((t = 1; t <= 200; t++)); do
    printf 'app 7/%d [000] %d.0: 1000000 cpu-clock:\n\t401000 work+0x1 (/app)\n\n' $t $t
done >many.txt
run pitot timeline --steps=10000 -n 100000 many.txt
expect_status 0
# 400 tracks in all: 133 each of processes, threads and cpus
expect_stdout_line '67 more (fewer --steps leave room for more)'
run pitot timeline --steps=100 -n 100000 many.txt
expect_no_stdout_line '* more *'
run pitot timeline --steps=100 -n 100 many.txt
expect_stdout_line '100 more (-n)'

it 'says when there are no times'
printf 'a;b 1\n' >none.folded
run pitot timeline none.folded
expect_status 3
expect_stderr_line 'pitot: none.folded has no times; pitot record --timeline keeps them'
