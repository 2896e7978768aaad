#!/bin/busybox sh
# shellcheck shell=sh
# The init of a small system that kernels.sh boots: records programs whose answers are known, and writes what came of it to
# the console, as a base64 of a tar. The kernel's parameter pitot_run names what is recorded.
export PATH=/bin HOME=/tmp
/bin/busybox --install -s /bin
for at in proc sys dev tmp; do mkdir -p "/$at"; done
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs none /tmp
mkdir -p /dev/shm /tmp/results
mount -t tmpfs none /dev/shm
[ ! -d /sys/kernel/security ] || mount -t securityfs none /sys/kernel/security
cd /tmp/results || exit

# keep NAME: what pitot says of NAME.pb.gz.
keep() {
    pitot info --json "$1.pb.gz" >"$1.info"
    pitot info "$1.pb.gz" >"$1.text"
    pitot dump --json -n 0 "$1.pb.gz" >"$1.json"
}
# copied NAME COMMAND: records a running program, without the BPF program as it should be.
copied() {
    name=$1
    shift
    "$@" record -F 100 -p "$target" -d 1s -o "$name.pb.gz" 2>"$name.said"
    keep "$name"
}
# python_too: where Python is.
python_too() {
    [ -e /bin/python3 ] || return 0
    python3 -S /work.py 600 >python.own &
    python=$!
    sleep 2
    pitot record -F 200 -p "$python" -d 4s -o python.pb.gz 2>python.said
    kill "$python"
    keep python
}
record_all() {
    load /bpf >verified 2>&1
    work cpu 600 3 >pid.own &
    target=$!
    pitot record --engine=bpf -F 200 -o command.pb.gz work cpu 3 150 >command.own 2>command.said
    keep command
    pitot record --off-cpu -F 100 -o waits.pb.gz work waits >waits.own 2>waits.said
    keep waits
    pitot record -F 200 -a -d 4s -o all.pb.gz 2>all.said
    keep all
    pitot record -F 200 -p "$target" -d 4s -o pid.pb.gz 2>pid.said
    keep pid
    python_too
    # shellcheck disable=SC2016
    copied no_btf unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$0" "$@"' pitot
    kill "$target"
    wait "$target"
    cp pid.own all.own
}
record_locked() {
    work cpu 600 3 >/dev/null &
    target=$!
    copied locked pitot
    pitot record --engine=bpf -o refused.pb.gz true 2>refused.said
}

uname -r >release
[ ! -e /sys/kernel/security/lockdown ] || cat /sys/kernel/security/lockdown >lockdown
run=$(sed 's/.*pitot_run=\([a-z]*\).*/\1/' /proc/cmdline)
"record_$run" >said 2>&1
dmesg -n 1
echo
echo RESULTS
tar cz . | base64
echo END
poweroff -f
