#!/usr/bin/env bash
# Memory and time are bounded: by --max-memory, by what the machine and the control group allow, and
# by what a file's first bytes say that it is.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

# A gzip stream of NUMBER pieces of zeros, 25 MB each, in one member whose trailer says the size:
# what `head -c N /dev/zero | gzip` makes, in a moment. With WORDS each piece repeats them instead.
cat >bomb.py <<'END'
import struct, sys, zlib
number, words = int(sys.argv[1]), sys.argv[2].encode().decode("unicode_escape").encode()
plain = words * (25000000 // len(words))
packer = zlib.compressobj(9, zlib.DEFLATED, -15)
piece = packer.compress(plain) + packer.flush(zlib.Z_FULL_FLUSH)
with open(sys.argv[3], "wb") as out:
    out.write(b"\x1f\x8b\x08\0\0\0\0\0\0\x03")
    for i in range(number):
        out.write(piece)
    out.write(b"\x03\0" + struct.pack("<II", 0, number * len(plain) % 2**32))
END

# cpu.py LIMIT_MS LIMIT_MB COMMAND...: runs it; says so if it took more CPU time or memory.
cat >cpu.py <<'END'
import resource, subprocess, sys
best_ms = best_mb = 1e9
for turn in range(5):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(sys.argv[3:], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    ms = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000
    best_ms, best_mb = min(best_ms, ms), min(best_mb, after.ru_maxrss / 1024)
    if best_ms <= float(sys.argv[1]) and best_mb <= float(sys.argv[2]):
        break
else:
    print(f"{best_ms:.0f} ms of CPU time, {best_mb:.0f} MB")
sys.stderr.write(done.stderr)
sys.exit(done.returncode)
END

slow=$((PITOT_SANITIZED * 20 + 1)) large=$((PITOT_SANITIZED * 1000))

it 'what no format knows by its first bytes is not inflated: 2.5 GB of zeros'
if needs python3; then
    python3 bomb.py 100 '\0' zeros.gz
    # Before, 19 s and 2.4 GB.
    run python3 cpu.py $((100 * slow)) $((60 + large)) "$PITOT" top zeros.gz
    expect_status 1
    expect_no_stdout
    expect_stderr_lines 1
    expect_stderr_has 'zeros.gz: not a profile in any format known here'
fi

it 'nor are 2.5 GB in a hundred members, or within another gzip or zstd'
if needs python3 zstd; then
    head -c 25000000 /dev/zero | gzip -9 >member
    for i in $(seq 100); do cat member; done >members.gz
    gzip -9 <zeros.gz >twice.gz
    zstd -q -19 <zeros.gz >outer.zst
    head -c 1000000000 /dev/zero | zstd -q -1 >zeros.zst
    for file in members.gz twice.gz outer.zst zeros.zst; do
        run python3 cpu.py $((200 * slow)) $((120 + large)) "$PITOT" top $file
        expect_status 1
        expect_no_stdout
        expect_stderr_lines 1
        expect_stderr_has "$file: not a profile in any format known here"
    done
fi

it 'a profile that inflates to more than 200 times its size, and 1 GiB, wants --max-memory'
if needs python3; then
    python3 bomb.py 45 'main;leaf 1\n' folded.gz
    run pitot top folded.gz
    expect_status 1
    expect_no_stdout
    expect_stderr_lines 1
    expect_stderr_has '; --max-memory=SIZE allows more'
fi

it 'what is made of a file counts, too: tables larger than --max-memory end with one line'
awk 'BEGIN { for (i = 0; i < 600000; i++) printf "main;f%d;g%d %d\n", i, i * 7, i + 1 }' >many
run pitot top --max-memory=50M many
expect_status 1
expect_no_stdout
expect_stderr_lines 1
expect_stderr_has 'more than the limit of 52428800 bytes of memory is needed'
expect_stderr_has '; --max-memory=SIZE allows more'
run pitot top --max-memory=2G many
expect_status 0

it 'a file that was being written when memory ended is not left behind'
mkdir out
run pitot convert --max-memory=50M --to=pprof --output=out/x.pb.gz many
expect_status 1
expect_stderr_lines 1
expect_equal 'what is left' "$(ls -A out)" ''

it 'PITOT_MAX_MEMORY is the limit of programs without the option, and named by their message'
export PITOT_MAX_MEMORY=50M
run pitot pprof -symbolize=none -top many
expect_status 1
expect_stderr_lines 1
expect_stderr_has '; PITOT_MAX_MEMORY=SIZE in the environment allows more'
run pitot top many
expect_status 1
expect_stderr_has 'more than the limit of 52428800 bytes'
run pitot top --max-memory=2G many
expect_status 0
PITOT_MAX_MEMORY=lots run pitot top many
expect_status 2
expect_stderr_line 'pitot: PITOT_MAX_MEMORY: *'
unset PITOT_MAX_MEMORY

it 'without either it is a quarter of what ulimit allows'
if [ "$PITOT_SANITIZED" = 1 ]; then
    skip 'the sanitizers take all addresses'
else
    run bash -c "ulimit -d 204800; exec '$PITOT' top many"
    expect_status 1
    expect_no_stdout
    expect_stderr_lines 1
    expect_stderr_has 'more than the limit of 52428800 bytes of memory is needed'
fi

# make_group BYTES: a control group of our own with that limit is $group; false: none can be made.
make_group() {
    local first=/sys/fs/cgroup/memory second=/sys/fs/cgroup name=pitot-test-$$
    if [ -d $first ]; then
        group=$first/$name limit=memory.limit_in_bytes
    elif grep -qw memory $second/cgroup.subtree_control 2>/dev/null; then
        group=$second/$name limit=memory.max
    else
        return 1
    fi
    mkdir $group 2>/dev/null || return 1
    [ -e $group/$limit ] && echo "$1" 2>/dev/null >$group/$limit && return 0
    rmdir $group
    return 1
}

it 'nothing is killed in a control group of 300 MB: one line says what is needed'
if [ "$PITOT_SANITIZED" = 1 ]; then
    skip 'the sanitizers need more'
elif ! needs python3; then
    :
elif ! make_group 300000000; then
    skip 'no control group of memory can be made here'
else
    for file in zeros.gz folded.gz many; do
        run bash -c "echo \$\$ >$group/cgroup.procs; exec '$PITOT' top $file"
        expect_status 1
        expect_no_stdout
        expect_stderr_lines 1
    done
    expect_stderr_has "more than the limit of $((300000000 / 4096 * 4096 / 4)) bytes of memory"
    expect eventually rmdir $group
fi
