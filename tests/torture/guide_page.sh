#!/usr/bin/env bash
# docs/guide.md: its commands run, and print the output that it shows.
. "$(dirname "$0")/../cli/lib.sh"
. "$(dirname "$0")/../cli/transcript.sh"

if [ "$PITOT_SANITIZED" = 1 ] || ! command -v "${CC:-gcc}" >/dev/null || ! command -v python3 >/dev/null; then
    it 'prints the output of the guide'
    skip 'needs a library without sanitizers, a C compiler and python3'
    exit
fi

mkdir demo
cp "$PITOT_ROOT/demo/shop.c" "$PITOT_ROOT/demo/report.py" demo
PATH=$(dirname "$PITOT"):$PATH
unset -f pitot
can_attach=1
sleep 60 &
pitot record -p $! -d 0.1s -o attach.pb.gz 2>attach.txt || can_attach=0
kill $!

transcript_split "$PITOT_ROOT/docs/guide.md"
service=
for n in $(seq "$count"); do
    command=$(cat "steps/command.$n")
    it "prints the output of the guide: $command"
    case $command in
    *both.pb.gz*) [ "$(id -u)" = 0 ] || skip 'switches of threads take root' ;;
    *' -p '* | *hang.pb.gz)
        [ $can_attach = 1 ] || skip "perf events are refused: $(head -1 attach.txt)" ;;
    esac
    [ -z "$t_skip" ] || continue
    case $command in
    *' &')
        ${command% &} >/dev/null 2>&1 &
        service=$!
        ;;
    'kill %1') kill $service && service= ;;
    *)
        run bash -c "{ $command; } >answer 2>&1"
        expect transcript_matches "steps/expected.$n" answer
        ;;
    esac
    case $command in
    *--fail-above*) expect_status 5 ;;
    *' &' | 'kill %1') ;;
    *) expect_status 0 ;;
    esac
done
[ -z "$service" ] || kill $service
