#!/usr/bin/env bash
# The kernels of Debian 11 and 12, in small systems under qemu without KVM, so as an ordinary user: the BPF program is loaded
# there, a command, a process and the whole machine are recorded, and waits, by programs whose answers are known
# (kernels_work.c). The verifier's work has a ceiling. Where the kernel is locked down or has no BTF, stacks are copied, and
# a line says why. Kernels come from Debian's mirror that this machine uses.
#
#   PITOT_KERNELS=FOLDER   where they are kept from run to run; otherwise they are fetched each time
. "$(dirname "$0")/../cli/lib.sh"
here=$PITOT_ROOT/tests/torture
kernels=${PITOT_KERNELS:-$PWD/kernels}
mkdir -p "$kernels"

[ "$PITOT_SANITIZED" = 0 ] || skip_all 'the small systems have no sanitizers'
for command in qemu-system-x86_64 cpio busybox apt-get dpkg-deb python3 "${CC:-cc}"; do
    command -v "$command" >/dev/null || skip_all "$command is not installed"
done
[ -e /usr/include/bpf/libbpf.h ] || skip_all 'libbpf-dev is not installed'
[ "$(uname -m)" = x86_64 ] || skip_all 'the programs are for x86-64'

# fetch SUITE: the kernel of that Debian is in $kernel, or the test is skipped, and false.
fetch() {
    local folder=$kernels/$1 mirror package options
    kernel=$(echo "$folder"/root/boot/vmlinuz-*)
    [ ! -e "$kernel" ] || return 0
    mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
    : >"$folder/status"
    # shellcheck disable=SC2016
    mirror=$(apt-get indextargets 'Created-By: Packages' --format '$(REPO_URI)' | grep '/debian/$' | head -n 1)
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg check-valid-until=no] $mirror $1 main" >"$folder/sources"
    options=(-q -o "Dir::Etc::SourceList=$folder/sources" -o Dir::Etc::SourceParts=- -o "Dir::State=$folder"
        -o "Dir::State::status=$folder/status" -o "Dir::Cache=$folder/cache" -o APT::Architecture=amd64
        -o APT::Architectures=amd64 -o APT::Sandbox::User= -o Acquire::Languages=none)
    package=linux-image-cloud-amd64
    if ! {
        apt-get "${options[@]}" update && package=$(apt-cache "${options[@]}" depends $package | sed -n 's/ *Depends: //p') &&
            (cd "$folder" && apt-get "${options[@]}" download "$package" && dpkg-deb -x linux-image-*.deb root)
    } >fetch.log 2>&1; then
        skip "no kernel of $1 can be had: $(tail -n 1 fetch.log | sed 's,[a-z]*://[^ ]*,,g')"
        return 1
    fi
    rm -rf "$folder"/linux-image-*.deb "$folder/lists" "$folder/cache" "$folder/root/lib"
    kernel=$(echo "$folder"/root/boot/vmlinuz-*)
    [ -e "$kernel" ] || fail "there is no kernel in $folder"
}

# take FILE...: into the small system, with the libraries that it needs.
take() {
    local file
    for file; do
        install -D "$file" "root/bin/${file##*/}"
        ldd "$file" | grep -o '/[^ ]*' | while read -r library; do
            [ -e "root$library" ] || install -D "$library" "root$library"
        done
    done
}

# make_system: the small system, packed for the kernel.
make_system() {
    local python lib
    ${CC:-cc} -O2 -fomit-frame-pointer -pthread -o work "$here/kernels_work.c" &&
        ${CC:-cc} -O1 -o load "$here/kernels_load.c" -lbpf || return 1
    take "$(command -v busybox)" "$PITOT" ./work ./load
    cp "$PITOT_ROOT/src/bpf/dist/sample.x86_64.bpf" root/bpf
    install "$here/kernels_init.sh" root/init
    # The Python of the system, with what it needs to start.
    python=$(readlink -f /usr/bin/python3)
    lib=/usr/lib/${python##*/}
    if [ -d "$lib/encodings" ]; then
        take "$python"
        mv "root/bin/${python##*/}" root/bin/python3
        mkdir -p "root$lib"
        cp -r "$lib/encodings" "$lib"/{codecs,io,abc}.py "root$lib"
        cat >root/work.py <<'PY'
import _signal, sys, time
stopped = []
_signal.signal(_signal.SIGTERM, lambda *_: stopped.append(1))
def one(n):
    for i in range(n): pass
def two(n):
    for i in range(n): pass
def deep(depth, end):
    if depth > 0: return deep(depth - 1, end)
    in_one = in_two = 0
    while not stopped and (begin := time.thread_time_ns()) < end:
        one(3000)
        middle = time.thread_time_ns()
        two(9000)
        in_one += middle - begin
        in_two += time.thread_time_ns() - middle
    print('one', in_one, 'two', in_two)
def main(): deep(20, float(sys.argv[1]) * 1e9)
main()
PY
    fi
    (cd root && find . | cpio -o -H newc -R 0:0 --quiet | gzip -1) >system.gz
}

# boot NAME WHAT [PARAMETER...]: boots $kernel, which records WHAT; the results are in the folder NAME.
boot() {
    local start=$SECONDS
    rm -rf "$1"
    mkdir "$1"
    timeout --signal=KILL 900 qemu-system-x86_64 -nodefaults -display none -no-reboot -machine accel=tcg -cpu max,la57=off \
        -smp 2 -m 1024 -serial "file:$1/console" -kernel "$kernel" -initrd system.gz \
        -append "console=ttyS0 quiet panic=-1 pitot_run=$2 ${*:3}" >"$1/qemu" 2>&1
    status=$?
    sed -n '/^RESULTS/,/^END/p' "$1/console" | tr -d '\r' | grep -v '^RESULTS\|^END' | base64 -d 2>/dev/null | tar xz -C "$1" 2>/dev/null
    echo "# $1: $(cat "$1/release" 2>/dev/null), $((SECONDS - start)) s"
    [ -s "$1/release" ] || fail "it did not end: status $status, $(cat "$1/qemu"; tail -n 20 "$1/console")"
}
# judge FOLDER WHAT...: see kernels_judge.py.
judge() {
    (cd "$1" && python3 "$here/kernels_judge.py" "${@:2}" 2>wrong) || fail "$(tail -n 1 "$1/wrong"; cat "$1/$3.said" "$1/said" 2>&1)"
}

it 'a small system is made'
make_system || fail 'the programs are not made'

for suite in bookworm bullseye; do
    it "$suite: the verifier follows at most 250,000 instructions in each program"
    fetch $suite || continue
    boot $suite all
    judge $suite verified 250000
    it "$suite: a command, 150 frames of 500 bytes deep"
    judge $suite shares command 150 0.5 0.4
    it "$suite: a process that runs already, and the whole machine"
    judge $suite shares pid 3 0.99 0.9
    judge $suite shares all 3 0.95 0.5
    it "$suite: waits are as long as the threads' own clocks say"
    judge $suite waits waits
    if [ -e root/bin/python3 ]; then
        it "$suite: Python's functions"
        judge $suite shares python 20 0.99 0.9
    fi
    it "$suite: a kernel without BTF copies stacks, and a line says why"
    judge $suite copied no_btf 'the kernel has no BTF'
done

it 'a kernel that is locked down copies stacks, and a line says why'
if fetch bookworm; then
    boot locked locked lockdown=confidentiality
    expect grep -q '\[confidentiality\]' locked/lockdown
    judge locked copied locked 'the kernel is locked down'
    expect_equal 'lines of a recording that is refused' "$(grep -vc '^$' locked/refused.said)" 1
    expect grep -q 'the kernel is locked down' locked/refused.said
fi
