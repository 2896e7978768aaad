#!/usr/bin/env bash
# pitot diff: changes by arithmetic, marks, several runs, and the gate for continuous integration.
. "$(dirname "$0")/lib.sh"

printf 'main;parse;read 4000\nmain;emit 1000\nmain;old 30\n' >a.folded
printf 'main;parse;read 5000\nmain;emit 1010\nmain;new 20\n' >b.folded

it 'shows what changed first, then what may be noise'
run pitot diff a.folded b.folded
expect_status 0
expect_no_stderr
expect_stdout 'a.folded -> b.folded: samples, 5,030 -> 6,030, +1,000 (+19.9%), 95% interval +794 to +1,206
5,030 -> 6,030 samples; 5 of 6 functions changed by more than noise (~ marks noise)
a growth by 31.3% of a function with 5% of the time is found 4 times in 5
noise of sampling only: one run a side does not show how much runs differ

  self  after change  +-95%            total  +-95%   function
 4,000  5,000 +1,000    186  +25.0%   +1,000    186   read
    30      0    -30     11    gone      -30     11   old
     0     20    +20      9     new      +20      9   new
     0      0      0                  +1,000    206   main
     0      0      0                  +1,000    186   parse
 1,000  1,010    +10     88   +1.0% ~    +10     88 ~ emit'

it 'says of two equal profiles that nothing changed'
run pitot diff a.folded a.folded
expect_status 0
expect_stdout_line '*0 of 5 functions changed by more than noise*'

it 'compares shares when asked, so that a longer run has not changed'
printf 'main;parse;read 8000\nmain;emit 2000\nmain;old 60\n' >twice.folded
run pitot diff --normalize --csv a.folded twice.folded
expect_status 0
expect_equal 'changed rows' "$(stdout | awk -F, 'NR > 1 && $3 != 0' | wc -l)" 0
run pitot diff --normalize a.folded twice.folded
expect_stdout_line 'normalized: after times 0.5, so that both have 5,030'

it 'applies a query to both sides'
run pitot diff --focus=parse --csv a.folded b.folded
expect_equal rows "$(stdout | cut -d, -f15 | sort | paste -sd' ')" 'main name parse read'

it 'calls all of a side new that the query left nothing of on the other'
run pitot diff --focus=old --csv a.folded b.folded
expect_status 0
expect_stdout_line '30,0,-30,*,old,,0'

it 'ends with status 5 when something grew beyond what is allowed, and says what'
run pitot diff --fail-above=2% a.folded b.folded
expect_status 5
expect_stderr_line 'pitot: --fail-above=2%: read grew: +1,000 (+25.0%), 95% interval +814 to +1,186; that is at least 641, the limit is 101' # of 100.6
run pitot diff --fail-above=20% a.folded b.folded
expect_status 0
run pitot diff --fail-above=2% b.folded a.folded
expect_status 0

run pitot diff --fail-above=0% a.folded b.folded
expect_status 5
# the same shares of twice as many samples
run pitot diff --fail-above=2% --normalize a.folded twice.folded
expect_status 0

it 'does not fire inside noise'
printf 'main;f 100\nmain;g 400\n' >c.folded
printf 'main;f 130\nmain;g 390\n' >d.folded
run pitot diff --fail-above=2% c.folded d.folded
expect_status 0

it 'takes several runs a side'
for i in 1 2 3; do printf 'main;f %d\nmain;g 500\n' $((900 + i * 100)) >before$i.folded; done
for i in 1 2 3; do printf 'main;f %d\nmain;g 500\n' $((1000 + i * 100)) >after$i.folded; done
run pitot diff --csv --before=before1.folded --before=before2.folded --before=before3.folded \
    after1.folded after2.folded after3.folded
expect_status 0
# means 1,100 and 1,200; Student's t of 4 degrees times sqrt(2 * 100^2 / 3) is 227
expect_stdout_line '1100,1200,100,-1[23]*,32[0-9]*,true,*,f,,0'

it 'two dashes divide runs from before and runs from after, with the answer of --before'
run pitot diff --csv --before=before1.folded --before=before2.folded after1.folded after2.folded
stdout >expected
run pitot diff --csv before1.folded before2.folded -- after1.folded after2.folded
expect_status 0
expect test "$(stdout)" = "$(cat expected)"
cp a.folded ./-a.folded
run pitot diff --csv -- -a.folded -- b.folded
expect_status 0
run pitot diff --csv -- -a.folded b.folded
expect_status 0
run pitot diff a.folded b.folded --
expect_status 2
expect_stderr_line 'pitot: diff: name a profile from after'
run pitot diff --before=a.folded b.folded -- b.folded
expect_status 2

it "writes JSON with a schema number"
run pitot diff --json a.folded b.folded
expect_status 0
expect_stdout_line "*\"report\": \"diff\"*"

it 'marks nothing where values are below 0, as of a profile less another'
printf 'main;f;g 12\nmain;f;g -12\nmain;h 5\n' >less.folded
run pitot diff less.folded less.folded
expect_status 0
expect_stdout_line 'the number of samples behind the values is unknown: no row can be compared with noise'
run pitot diff less.folded a.folded
expect_status 0
run pitot diff a.folded less.folded
expect_status 0

it 'wants two profiles'
run pitot diff a.folded
expect_status 2
expect_stderr_line 'pitot: diff takes two profiles, before and after, not 1; for several runs: pitot diff A1 A2 A3 -- B1 B2 B3'

it 'says which of the two cannot be opened'
run pitot diff a.folded missing.pb.gz
expect_status 1
expect_stderr 'pitot: missing.pb.gz: no such file'

it 'says that samples are too few instead of a growth of many times'
printf 'main 2\n' >few.folded
run pitot diff few.folded few.folded
expect_status 0
expect_stdout_line 'too few samples to find a growth of a function with 5% of the time'
expect_no_stdout_line 'a growth by *'

# A sample each 10 ms for two seconds, and in the second of them one each ms for 50 ms.
it 'compares two ranges of one profile'
{
    for ms in $(seq 500000 10 501990); do echo "$ms usual"; done
    for ms in $(seq 501400 501449); do echo "$ms stall"; done
} | sort -n | while read -r ms name; do
    printf 'app 7/8 [000] %d.%03d000: 1000000 cpu-clock:\n\t401000 %s+0x1 (/app)\n\t401100 main+0x1 (/app)\n\n' $((ms / 1000)) $((ms % 1000)) "$name"
done >ranges.txt
run pitot diff --csv --base-time=0,0.995 --time=1,1.995 ranges.txt
expect_status 0
expect_equal 'the rows' "$(cut -d, -f1-3 "$t_out/stdout" | tail -n +2 | sort)" "$(printf '%s\n' 0,0,0 0,50000000,50000000 100000000,100000000,0)"
run pitot diff --base-time=0,0.995 --time=1.2,1.5 ranges.txt
expect_stderr_line 'pitot: before was recorded for 995ms, after for 300ms; --normalize compares shares'
run pitot top --base-time=0,0.995 --time=1,1.995 ranges.txt
expect_stdout_has 'main'
expect_equal 'messages' "$(cat "$t_out/stderr")" ''
# The same as two files.
pitot filter --time=0,0.995 -o first.pb.gz ranges.txt
pitot filter --time=1,1.995 -o second.pb.gz ranges.txt
for report in 'top' 'tree' 'flame --format=json -o -'; do
    pitot $report --base-time=0,0.995 --time=1,1.995 ranges.txt | grep -v ranges | grep -o ' [^ ].*\(usual\|stall\|main\)' >of_ranges
    pitot $report --base=first.pb.gz second.pb.gz 2>/dev/null | grep -v second | grep -o ' [^ ].*\(usual\|stall\|main\)' >of_files
    expect_same of_files of_ranges
done

it 'a report holds the difference of two ranges'
run pitot report --base-time=0,0.995 --time=1,1.995 ranges.txt -o ranges.html
expect_status 0
for part in '"before":"0,0.995"' '"diff":{' '"flame":{' '"top":{'; do
    expect grep -qF "$part" ranges.html
done

it 'says what two ranges need'
run pitot diff --base-time=0,1 ranges.txt -- ranges.txt
expect_status 2
expect_stderr_line 'pitot: --base-time compares two ranges of one profile; leave out the profiles from before'
run pitot top --base-time=7,8 ranges.txt
expect_status 3
expect_stderr_line 'pitot: --base-time=7,8: there are no samples in this range; the profile has 500.000000000,501.990000000'
run pitot top --base-time=now ranges.txt
expect_status 2
expect_stderr_line 'pitot: --base-time=now is not a range such as 12.5,13.75 (seconds; either end may be left out) or 10%-20%'
run pitot top --base-time=0,1 --base=ranges.txt ranges.txt
expect_status 2
run pitot diff --base-time=0,1
expect_status 2
expect_stderr_line 'pitot: diff: name the profile of the two ranges'
