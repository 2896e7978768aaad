#!/usr/bin/env bash
# Whose files: what pitot creates, replaces, follows, believes and keeps, and what another user of the
# machine can do to it.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

chmod 755 "$t_dir" # others get in, as into /tmp

# as_other COMMAND...: as a user without rights.
as_other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
# needs_other: false, and the test is skipped, where nobody else can be acted.
needs_other() {
    [ "$(id -u)" = 0 ] || {
        skip 'only root can act as another user'
        return 1
    }
    needs setpriv
}
# expect_mode FILE MODE
expect_mode() { expect_equal "the mode of $1" "$(stat -c %a "$1")" "$2"; }

export TERM=dumb
printf 'main;f 3\nmain;g 4\n' >two.folded
pitot convert two.folded -o two.pb.gz || exit 1
# A folder like /tmp.
mkdir open
chmod 1777 open

it 'writes recordings that only their user may read, whatever the umask'
umask 0
run pitot record --engine=preload -o r.pb.gz true
expect_status 0
expect_mode r.pb.gz 600
chmod 666 r.pb.gz
run pitot record --engine=preload -o r.pb.gz true
expect_mode r.pb.gz 600
expect_mode r.pb.gz.old 666
umask 027
run pitot record --engine=preload --mode=0644 -o all.pb.gz true
expect_mode all.pb.gz 644
run pitot record --engine=preload --mode=umask -o group.pb.gz true
expect_mode group.pb.gz 640
umask 022
run pitot convert two.folded -o c.pb.gz
expect_mode c.pb.gz 644
if needs_other; then
    run as_other cat r.pb.gz
    expect_status 1
    expect_no_stdout
    run as_other cat all.pb.gz
    expect_status 0
fi

it 'refuses a mode that is none'
for mode in rw 0888 01777 0044 ''; do
    run pitot record --mode="$mode" -o r.pb.gz true
    expect_status 2
    expect_stderr_has "--mode=$mode: use an octal mode such as 0640, or umask"
done

it 'follows no link that another user put into a folder open to all'
if needs_other; then
    mkdir -m 700 own
    echo precious >own/target
    as_other ln -s "$PWD/own/target" open/x.folded
    as_other ln -s "$PWD/own/target" open/x.pb.gz
    as_other ln -s "$PWD/own" open/x
    run pitot convert two.pb.gz -o open/x.folded
    expect_status 1
    expect_stderr "pitot: open/x.folded: user 65534 put a link to $PWD/own/target there, in a folder that others can write to; remove it or name another file"
    run pitot flame two.pb.gz -o open/x/y.html
    expect_status 1
    expect_stderr_lines 1
    run pitot pprof -proto -output=open/x.pb.gz two.pb.gz
    expect_stderr_has "put a link to $PWD/own/target there"
    run pitot record --engine=preload -o open/x.pb.gz touch was_run
    expect_status 1
    expect_stderr_lines 1
    expect_stderr_has "put a link to $PWD/own/target there"
    expect test ! -e was_run
    expect_equal 'the target' "$(cat own/target)" precious
    expect_equal 'the folder' "$(ls own)" target
fi

it 'follows links of its own user and of root'
rm -rf open/*
mkdir -p place
ln -s "$PWD/place/p.folded" open/own.folded
run pitot convert two.pb.gz -o open/own.folded
expect_status 0
expect_same place/p.folded two.folded
expect test -L open/own.folded

it 'writes into no FIFO and no file that another user put into a folder open to all'
if needs_other; then
    rm -rf open/*
    as_other mkfifo open/f.folded
    as_other sh -c 'umask 0; echo theirs >open/g.folded'
    for name in f g; do
        run pitot convert two.pb.gz -o open/$name.folded
        expect_status 1
        expect_stderr "pitot: open/$name.folded: belongs to user 65534, in a folder that others can write to; remove it or name another file"
    done
    expect_equal 'the file' "$(cat open/g.folded)" theirs
fi

it "keeps the mode of its user's file, and of nobody else's"
umask 022
echo old >mine.folded
chmod 604 mine.folded
run pitot convert two.pb.gz -o mine.folded
expect_mode mine.folded 604
if needs_other; then
    mkdir -m 755 theirs
    chown 65534 theirs
    as_other sh -c 'umask 0; echo theirs >theirs/g.folded'
    run pitot convert two.pb.gz -o theirs/g.folded
    expect_status 0
    expect_mode theirs/g.folded 644
fi

# full COMMAND...: where no file may grow, as on a full disk; its complaints may.
full() {
    (ulimit -f 0 && "$@") 2>&1 >/dev/null | cat >&2
    return "${PIPESTATUS[0]}"
}

it 'leaves the old file and nothing else when the disk is full'
for out in o.pb.gz o.folded o.html o.svg o.json; do echo old >$out; done
full_of() {
    run full pitot "$@"
    [ "$status" -ne 0 ] || fail "status 0: $*"
    expect_stderr_has 'File too large'
}
full_of convert two.folded -o o.pb.gz
full_of convert two.pb.gz -o o.folded
full_of merge two.pb.gz two.folded -o o.pb.gz
full_of flame two.pb.gz -o o.html
full_of flame two.pb.gz -o o.svg
full_of graph --engine=own two.pb.gz -o o.svg
full_of pprof -proto -output=o.pb.gz two.pb.gz
full_of pprof -text -output=o.folded two.pb.gz
full_of convert --losses=o.json two.pb.gz -o o2.folded
printf 'top >o.folded\n' >lines
run full pitot shell two.pb.gz <lines
expect_stderr_has 'File too large'
run full pitot pprof two.pb.gz <lines
for out in o.pb.gz o.folded o.html o.svg o.json; do expect_equal $out "$(cat $out)" old; done
expect_equal 'temporary files' "$(find . -name '.*.tmp' -o -name o2.folded)" ''

it 'writes through FIFOs, devices and /dev/stdout'
mkfifo pipe.folded
cat pipe.folded >through &
run pitot convert two.pb.gz -o pipe.folded
wait $!
expect_status 0
expect_same through two.folded
expect test -p pipe.folded
run pitot convert two.pb.gz --to=folded -o /dev/null
expect_status 0
expect test -c /dev/null
echo before >appended
pitot convert two.pb.gz --to=folded -o /dev/stdout >>appended
{
    echo before
    cat two.folded
} >wanted
expect_same appended wanted
pitot convert two.pb.gz --to=folded -o /dev/stdout | cat >through
expect_same through two.folded

it 'leaves a whole file, old or new, when it is killed at any moment'
printf 'main;h 5\n' >other.folded
cp two.folded whole.folded
for ((i = 0; i < 12; i++)); do
    from=two.pb.gz
    [ $((i % 2)) = 0 ] || from=other.folded
    "$PITOT" convert --to=folded $from -o whole.folded &
    sleep 0.0$((RANDOM % 60 + 10))
    kill -KILL $!
    wait $! 2>/dev/null
    cmp -s whole.folded two.folded || expect_same whole.folded other.folded
done 2>/dev/null
run pitot convert two.pb.gz -o whole.folded
expect_equal 'temporary files' "$(find . -name '.*.tmp')" ''

it "makes nothing in another user's home"
if needs_other && needs gcc; then
    mkdir home
    chown 65534 home
    echo 'int main(void) { return 0; }' >home.c
    gcc -g -O0 -Wl,--build-id -o home.prog home.c
    at=0x$(nm home.prog | awk '$3 == "main" {print $1}')
    HOME=$PWD/home run pitot symbolize -e home.prog -p "$at"
    expect_status 0
    expect_no_stderr
    HOME=$PWD/home DEBUGINFOD_URLS=http://127.0.0.1:1 run pitot symbolize -e home.prog -p "$at"
    expect_no_stderr
    HOME=$PWD/home run pitot record --engine=preload -o home.pb.gz sh -c true
    HOME=$PWD/home run pitot top home.pb.gz
    HOME=$PWD/home run pitot shell two.pb.gz <lines
    expect_equal 'files there' "$(find home -mindepth 1)" ''
    # Not into folders of that user's, either.
    mkdir -p home/.cache/pitot/names home/.cache/debuginfod_client home/.local/state/pitot home/pprof
    chown -R 65534 home
    HOME=$PWD/home run pitot symbolize -e home.prog -p "$at"
    expect_status 0
    HOME=$PWD/home DEBUGINFOD_URLS=http://127.0.0.1:1 run pitot symbolize -e home.prog -p "$at"
    HOME=$PWD/home run pitot shell two.pb.gz <lines
    expect_equal "root's files there" "$(find home -user 0)" ''
fi

it "under sudo, writes a file of the caller's into the caller's folder, and root's elsewhere"
if needs_other; then
    mkdir called ours
    chown 65534:65534 called
    export SUDO_UID=65534 SUDO_GID=65534
    run pitot record --engine=preload -o called/r.pb.gz true
    run pitot record --engine=preload -o called/r.pb.gz true
    run pitot record --engine=preload -o ours/r.pb.gz true
    run pitot convert two.pb.gz -o called/two.folded
    SUDO_UID=x run pitot convert two.pb.gz -o called/root.folded
    unset SUDO_UID SUDO_GID
    expect_equal 'owners and modes' "$(stat -c '%u:%g %a %n' called/* ours/*)" \
        "65534:65534 600 called/r.pb.gz
65534:65534 600 called/r.pb.gz.old
0:0 $(printf %o $((0666 & ~$(umask)))) called/root.folded
65534:65534 $(printf %o $((0666 & ~$(umask)))) called/two.folded
0:0 600 ours/r.pb.gz"
fi

# Two programs of the same size with one build id: good has checks_password where evil has another.
twins() {
    needs gcc || return 1
    echo '__attribute__((noinline)) int checks_password(int x) { return x * 3; }
int main(int c, char **v) { return checks_password(c); }' >good.c
    sed 's/checks_password/harmless_name__/' good.c >evil.c
    local one
    for one in good evil; do
        gcc -g -O0 -Wl,--build-id=0x1234567890abcdef1234567890abcdef12345678 -o $one $one.c || return 1
    done
    at=0x$(nm good | awk '$3 == "checks_password" {print $1}')
}
# Names of a file that was changed just now are not kept: looks until they are.
is_kept() {
    pitot symbolize -e "$1" -p "$at" >/dev/null
    ls "$HOME"/.cache/pitot/names/1234567890abcdef*.names
}

it 'never takes the names of one file for another that has the same build id'
if twins; then
    rm -rf "$HOME/.cache"
    expect eventually is_kept ./evil
    run pitot symbolize -e ./good -p "$at"
    expect_stdout_line 'checks_password at *good.c:1:*'
    run pitot symbolize -e ./evil -p "$at"
    expect_stdout_line 'harmless_name__ at *evil.c:1:*'
    # A rewritten file, too.
    cat good >evil
    run pitot symbolize -e ./evil -p "$at"
    expect_stdout_line 'checks_password at *good.c:1:*'
fi

it "keeps nothing of another user's file"
if needs_other && twins; then
    rm -rf "$HOME/.cache"
    expect eventually is_kept ./good # so that evil, as old, would be
    rm -rf "$HOME/.cache"
    chown 65534 evil
    sleep 3
    run pitot symbolize -e ./evil -p "$at"
    expect_stdout_line 'harmless_name__ at *evil.c:1:*'
    expect test ! -e "$HOME/.cache/pitot/names"
fi

it 'removes kept names of earlier versions'
if twins; then
    mkdir -p -m 700 "$HOME/.cache/pitot/names"
    echo old >"$HOME/.cache/pitot/names/1234567890abcdef1234567890abcdef12345678.names"
    new_is_kept() {
        pitot symbolize -e ./good -p "$at" >/dev/null
        ls "$HOME"/.cache/pitot/names/1234567890abcdef*-*.names
    }
    expect eventually new_is_kept
    expect test ! -e "$HOME/.cache/pitot/names/1234567890abcdef1234567890abcdef12345678.names"
fi

# A process that sleeps, in $sleeper, and where its heap is, in $heap. name_of_heap: what it is called.
start_sleeper() {
    "$@" sleep 600 &
    sleeper=$!
    expect eventually sleeps $sleeper
    heap=$(awk '$6 == "[heap]" {split($1, a, "-"); print a[1]; exit}' /proc/$sleeper/maps)
    [ -n "$heap" ] || skip 'the process has no heap'
}
sleeps() { [ "$(cat /proc/$1/comm)" = sleep ] && grep -q '^State:.S' /proc/$1/status && grep -qF '[heap]' /proc/$1/maps; }
name_of_heap() { run pitot symbolize --pid $sleeper -p "0x$heap"; }
end_sleeper() {
    rm -f /tmp/perf-$sleeper.map
    kill $sleeper
    wait $sleeper 2>/dev/null || :
}

it "believes a compiler's map of the process's user, and of nobody else"
if needs_other; then
    start_sleeper
    map=/tmp/perf-$sleeper.map
    echo "$heap 40 planted" >plant
    chmod 644 plant
    as_other cp plant $map
    name_of_heap
    expect_stdout_line '*?? at ??:0:0'
    expect_stderr_line "pitot: * $map: it belongs to user 65534, but the process to user 0"
    rm $map
    as_other ln -s "$PWD/plant" $map
    name_of_heap
    expect_stdout_line '*?? at ??:0:0'
    expect_stderr_line "pitot: * $map: it is a link"
    rm $map
    as_other mkfifo $map
    name_of_heap
    expect_stderr_line "pitot: * $map: it is not a regular file"
    rm $map
    cp plant $map
    chmod 666 $map
    name_of_heap
    expect_stdout_line '*?? at ??:0:0'
    expect_stderr_line "pitot: * $map: other users can write to it (chmod go-w)"
    chmod 644 $map
    name_of_heap
    expect_stdout_line 'planted at ??:0:0'
    end_sleeper
    start_sleeper setpriv --reuid=65534 --regid=65534 --clear-groups
    map=/tmp/perf-$sleeper.map
    echo "$heap 40 its_own" >plant
    as_other cp plant $map
    name_of_heap
    expect_stdout_line 'its_own at ??:0:0'
    end_sleeper
fi
