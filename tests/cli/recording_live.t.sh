#!/usr/bin/env bash
# @recording: reports on a recording that goes on, of every engine.
. "$(dirname "$0")/lib.sh"

[ "$PITOT_SANITIZED" = 0 ] || skip_all 'the library is not loaded into sanitized runs'
unshare -m mount -t tmpfs none /dev/shm 2>/dev/null || skip_all 'unshare -m is not allowed here'
cc=${CC:-cc}
cat >spin.c <<'C'
#include <unistd.h>
volatile unsigned sum;
__attribute__((noinline)) static void spin(void) { for (int i = 0; i < 1000000; i++) sum += (unsigned)i; }
int main(void) { while (access("enough", F_OK) != 0) spin(); return 0; }
C
$cc -O1 -g spin.c -o spin || skip_all 'there is no compiler'
# In a /dev/shm of its own, where no other test records: top @recording until it has samples.
cat >live.sh <<'SH'
mount -t tmpfs none /dev/shm || exit 1
"$PITOT" top @recording >/dev/null 2>none
echo $? >none-status
"$PITOT" record "$@" -q -o x.pb.gz ./spin &
until "$PITOT" top -n 1 @recording >now 2>said && grep -q ' spin ' now; do
    kill -0 $! && sleep 0.1 || exit 1
done
"$PITOT" info @recording >facts
echo >enough
wait $!
SH

for engine in perf preload; do
    it "shows the samples so far: $engine"
    if [ $engine = perf ] && ! "$PITOT" record --engine=perf -q -o y.pb.gz true 2>/dev/null; then
        skip 'perf events are not allowed here'
        continue
    fi
    rm -f enough
    run env PITOT="$PITOT" unshare -m sh live.sh --engine=$engine
    expect_status 0
    expect grep -qx 'pitot: @recording: no recording of yours goes on, or it has no samples yet' none
    expect_equal 'the status without a recording' "$(cat none-status)" 2
    expect grep -q ' spin ' now
    expect grep -q 'read before the recording had ended' facts
    run pitot top -n 1 x.pb.gz
    expect_stdout_has ' spin '
done

it 'is named without other profiles'
mkdir left
printf x >left/recording.journal
run pitot top left left
expect_status 2
expect_stderr_line 'pitot: left: name a recording without other profiles'

it 'record --serve shows one recording with one file'
run pitot record --serve --repeat=2 true
expect_status 2
expect_stderr_line 'pitot: --serve shows one recording with one file: leave out --repeat'
run pitot record --http=:0 true
expect_status 2
expect_stderr_line 'pitot: --http needs --serve'

# A request to the page of `said`, with its token.
ask() {
    local printed
    printed=$(grep -o 'http://[^ ]*' said) &&
        curl -s -H "Authorization: Bearer ${printed##*t=}" "${@:2}" "${printed%%/\?t=*}$1"
}

it 'a process is watched while it is recorded, and its profile after that until Ctrl-C'
if ! "$PITOT" version --features | grep -q libmicrohttpd || ! "$PITOT" record --engine=perf -q -o y.pb.gz true 2>/dev/null; then
    skip 'perf events are not allowed here, or libmicrohttpd is not installed'
elif needs curl setsid; then
    rm -f enough
    ./spin &
    spin=$!
    setsid "$PITOT" record --serve --http=127.0.0.1: -p $spin -o y.pb.gz >out 2>said &
    recorder=$!
    until ask /again -X POST >again 2>/dev/null && grep -q '"state":"recording"' again && ask /api/top | grep -q ' spin '; do
        kill -0 $recorder && sleep 0.1 || break
    done
    kill -INT $recorder
    until grep -q 'the page stays open until Ctrl-C' said; do kill -0 $recorder && sleep 0.1 || break; done
    ask /again -X POST >again
    expect grep -q '"state":"ended"' again
    ask /api/top >shown
    run pitot top y.pb.gz
    expect_equal 'the page' "$(cat shown)" "$(cat "$t_out/stdout")"
    kill -INT $recorder
    wait $recorder
    expect_equal 'the status' $? 0
    expect_equal 'standard output' "$(cat out)" ''
    echo >enough
    wait $spin
fi

it 'SIGTERM ends a recording with its page'
if "$PITOT" version --features | grep -q libmicrohttpd && needs setsid; then
    # Without what another recording has said: the signal would meet the shell that is about to start this one.
    rm -f enough said
    setsid "$PITOT" record --serve --engine=preload -o z.pb.gz ./spin 2>said &
    recorder=$!
    until grep -q http: said 2>grep.err; do kill -0 $recorder && sleep 0.1 || break; done
    # A program that a signal ends loses up to the last tenth of a second: it runs for longer.
    has_run() { [ "$(cut -d' ' -f14 "/proc/$(pgrep -P $recorder -x spin)/stat" 2>grep.err || echo 0)" -ge 50 ]; }
    until has_run; do kill -0 $recorder && sleep 0.1 || break; done
    kill -TERM $recorder
    wait $recorder
    expect_equal 'the status' $? 143
    expect [ -s z.pb.gz ]
fi
