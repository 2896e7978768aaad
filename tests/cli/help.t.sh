#!/usr/bin/env bash
# Help: a command's own options first, shared ones by topic; man pages with date, environment and files.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

all_commands() { pitot help | sed -n '/^Exit status/q; s/^  \([a-z][a-z-]*\)  *[a-z].*/\1/p' | grep -vx pitot; }

it 'shows the own options of a command, and one line for each topic of shared options'
run pitot help top
expect_status 0
expect_stdout_line '*--rows=N*'
expect_stdout_line '  pitot help samples *'
expect_stdout_line '  pitot help reading *'
expect_stdout_line '  pitot help names *'
expect test "$(stdout | grep -c -e --focus=PATTERN)" = 0
expect test "$(stdout | wc -l)" -le 50

it 'explains on a page of its own each option that commands share'
for topic in samples reading names; do
    run pitot help $topic
    expect_status 0
    stdout >>topics.txt
done
for option in focus tag-focus base from tls-ca demangle debuginfod; do
    expect grep -qe "--\(\[no-\]\)\?$option" topics.txt
done

it 'shows each option of a man page in the help of the command or in a topic'
for name in $(all_commands); do
    pitot help "$name" >own.txt
    pitot help --man "$name" | sed -e 's/\\f[BIR]//g' -e 's/\\//g' | sed -n '/^.SH OPTIONS/,/^.SH/p' |
        grep -o '^\(-., \)\?--\[*[a-z-]*]*[a-z-]*' | sed 's/^-., //' >spellings
    while read -r spelling; do
        grep -qFe "$spelling" own.txt topics.txt || fail "$name: $spelling has no help"
    done <spellings
done

it "keeps DCPI's commands on a page of their own"
run pitot help
expect test "$(stdout | grep -c '^  dcpi')" = 0
expect_stdout_line '  pitot help dcpi *'
run pitot help dcpi
expect_status 0
expect test "$(stdout | grep -c '^  dcpi')" = 9

it 'fits all help into 80 columns where a terminal has 80'
for name in '' samples reading names dcpi $(all_commands); do
    pitot help $name | awk -v name="$name" 'length($0) > 80 { print name ": " $0 }'
done >wide.txt
expect_same /dev/null wide.txt

it 'dates each man page, and lists environment and files that the command uses'
for name in '' $(all_commands); do
    pitot help --man $name >page
    expect grep -q '^\.TH PITOT[^ ]* 1 20[0-9][0-9]-[0-9][0-9]-[0-9][0-9] "pitot' page
    expect grep -qx '\.SH ENVIRONMENT' page
done
pitot help --man record >page
expect grep -qx '\.SH FILES' page
expect grep -qx 'pitot.pb.gz' page
pitot help --man top >page
expect grep -qx 'DEBUGINFOD_URLS' page

it 'has each environment variable that the program reads in the man page'
pitot help --man >page
grep -oh 'getenv("[A-Z_]*")' "$PITOT_ROOT"/src/{cmd,recording,terminal}/*.c | sort -u | sed 's/.*"\(.*\)".*/\1/' |
    grep -vxE 'HOME|PATH|LD_PRELOAD' >read.txt
expect test "$(wc -l <read.txt)" -ge 10
while read -r variable; do
    expect grep -qwe "$variable" page
done <read.txt

it 'has man pages that mandoc finds no fault with'
if needs mandoc; then
    for name in '' $(all_commands) dcpiprof dcpicalc; do
        pitot help --man $name >page.1
        expect_equal "lint of $name" "$(mandoc -Tlint page.1)" ''
    done
fi
