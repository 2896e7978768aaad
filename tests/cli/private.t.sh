#!/usr/bin/env bash
# --private: what is written to be sent to others names neither people nor machines. The secret is in each path and label of a
# profile, in its name and folder, and in what is asked.
. "$(dirname "$0")/lib.sh"

mkdir hunter2
{
    printf 'app 7/8 [000] %s: 1000000 cpu-clock:\n\t401000 work+0x1 (/home/hunter2/app)\n\t7f0000001000 call+0x1 (/opt/hunter2/libx.so)\n\n' 1.0 1.5
} >hunter2/hunter2.txt
pitot convert hunter2/hunter2.txt -o hunter2/app.pb.gz 2>/dev/null
cp "$PITOT_ROOT/tests/golden/firefox/markers.json" hunter2/

it 'converts without folders and data of markers'
run pitot convert --private --to=pprof --raw -o out.pb hunter2/app.pb.gz
expect_status 0
expect_no_file_has() { ! LC_ALL=C grep -qa -e hunter2 -e shop.example "$@" || fail "$* has it"; }
expect_no_file_has out.pb
run pitot top out.pb
expect_stdout_has 'work'
run pitot info out.pb
expect_stdout_has 'libx.so'
for to in pprof folded speedscope firefox otlp callgrind cpuprofile; do
    run pitot convert --private --to=$to --raw -o out.$to hunter2/markers.json
    expect_status 0
    expect_no_file_has out.$to
done
run pitot tags -e marker out.pprof
expect_stdout_has 'Load 7'
run pitot convert --private --keep-labels=data.URI --to=pprof --raw -o kept.pb hunter2/markers.json
expect grep -qa shop.example kept.pb

it 'makes reports, pages and pictures without them, and without the name of the folder'
run pitot report --private -o out.html hunter2/app.pb.gz
expect_status 0
expect_no_file_has out.html
run pitot report --private -o marks.html hunter2/markers.json
expect_no_file_has marks.html
run pitot report --private --base=hunter2/app.pb.gz -o base.html hunter2/app.pb.gz
expect_no_file_has base.html
for end in html svg; do
    run pitot flame --private --ignore=hunter3 -o out.$end hunter2/app.pb.gz
    expect_status 0
    expect_no_file_has out.$end
done
for command in top tree tags traces timeline 'peek work' why diff; do
    words=($command)
    files=(hunter2/app.pb.gz)
    [ "$command" != diff ] || files+=(hunter2/app.pb.gz)
    run pitot "${words[@]}" --private "${files[@]}"
    cp "$t_out/stdout" said
    expect_no_file_has said
done
