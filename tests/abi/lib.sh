# lib.sh: what the tests of libprofiler.so.0 in programs share, beside ../cli/lib.sh.
. "$(dirname "$0")/../cli/lib.sh"

here=$PITOT_ROOT/tests/abi
[ -e "$PITOT_BUILD/libprofiler.so.0" ] || skip_all 'libprofiler.so.0 is not there'
for tool in "${CC:-cc}" nm python3; do
    command -v "$tool" >/dev/null || skip_all "$tool is not installed"
done
unset CPUPROFILE CPUPROFILE_FREQUENCY CPUPROFILESIGNAL LD_PRELOAD
unset PMIX_RANK SLURM_JOB_ID SLURM_PROCID OMPI_HOME PMI_RANK

flags='-O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread'

# build_host SOURCE PROGRAM [FLAG...]: a program of this folder, linked with the library.
build_host() {
    ${CC:-cc} $flags -D_GNU_SOURCE -Wno-unused-parameter -I "$PITOT_ROOT/include" "$here/$1" -o "$2" \
        "${@:3}" -L "$PITOT_BUILD" -l:libprofiler.so.0 -Wl,-rpath,"$PITOT_BUILD" -ldl || exit 1
}

# secure_library: makes a folder with the library, which anyone may enter, and prints its path. A setuid program begins
# with its owner's rights, and they may not enter the folder of a clone of root's.
secure_library() {
    mkdir -p secure_lib
    cp -L "$PITOT_BUILD/libprofiler.so.0" secure_lib/
    chmod 755 . secure_lib secure_lib/*
    echo "$PWD/secure_lib"
}

# profiled HZ CASE...: runs it with CPUPROFILE=prof and keeps what it prints in `facts`.
profiled() {
    rm -f prof prof_*
    CPUPROFILE=prof CPUPROFILE_FREQUENCY=$1 run ./host "${@:2}"
    cp "$t_out/stdout" facts
}

# fact NAME: what the program printed under that name; told NAME: what prof.py did.
fact() { awk -v name="$1" '$1 == name { print $2 }' facts; }
told() { awk -v name="$1" '$1 == name { print $2 }' told; }
read_profile() { python3 "$here/prof.py" "$@" >told 2>"$t_out/prof.err" || cat "$t_out/prof.err"; }

# calc EXPRESSION: what awk makes of it; nothing when it is none.
calc() { awk "BEGIN { printf \"%.9g\", ($1) }"; }

# agrees SEEN USED PERIOD_S: within 3 sigma + 2 % of the CPU time used, and 30 ms for the start of
# the program, which no profiler can see.
agrees() {
    local number
    for number in "$1" "$2" "$3"; do
        [[ $number =~ ^[0-9.]+(e-?[0-9]+)?$ ]] || return 2
    done
    [ "$(calc "($1 - $2) ^ 2 <= (3 * sqrt($2 * $3) + 0.02 * $2 + 0.03) ^ 2")" = 1 ]
}

# build_plugin: plugin.so, whose plugin_burn(seconds) uses that much CPU time.
build_plugin() {
    cat >plugin.c <<'END'
#include <time.h>
void plugin_burn(double seconds)
{
    struct timespec t;
    volatile unsigned x = 1;
    double end = -1, now;
    do {
        for (int i = 0; i < 20000; i++)
            x = x * 3 + 1;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = t.tv_sec + t.tv_nsec * 1e-9;
        if (end < 0) end = now + seconds;
    } while (now < end);
}
END
    ${CC:-cc} $flags -shared -fPIC plugin.c -o plugin.so || exit 1
}

# build_torture: torture and plugin.so; false and all is skipped without a C++ compiler.
build_torture() {
    command -v "${CXX:-c++}" >/dev/null || skip_all 'no C++ compiler is installed'
    build_plugin
    ${CXX:-c++} $flags -D_GNU_SOURCE -I "$PITOT_ROOT/include" "$here/torture_host.cc" -o torture \
        -L "$PITOT_BUILD" -l:libprofiler.so.0 -Wl,-rpath,"$PITOT_BUILD" -ldl || exit 1
}

# nothing_broke FILE: what the torture printed there says that the library left the host alone.
nothing_broke() {
    for what in errno mask restart result; do
        expect_equal "broken $what" "$(awk -v n="broken_$what" '$1 == n { print $2 }' "$1")" 0
    done
}

# counted NAME: a figure of the journals that `count_journals FILE...` looked at.
count_journals() { python3 "$here/journal.py" "$@" >counts || cat counts; }
counted() { awk -v name="$1" '$1 == name { print $2 }' counts; }
# counter N: a number that a torture with a counter keeps there: 1, the ticks that it was asked about; 2, its
# CPU time in ns when it killed itself; 3, those ticks when all threads but one had ended.
counter() { python3 -c 'import struct, sys; print(struct.unpack_from("=Q", open("counter", "rb").read(), 8 * int(sys.argv[1]) - 8)[0])' "$1"; }
# counts_all: the journal that was counted has every tick up to then.
counts_all() { [ "$(counter 3)" -le "$(counted ticks)" ] && [ "$(counted ticks)" -le "$(counter 1)" ]; }

# kill_many N: N tortures, killed while all their threads run; what each left is in the file `kills`.
kill_many() {
    rm -f kills
    local i
    for i in $(seq "$1"); do
        rm -f torture.prof* counter
        CPUPROFILE_FREQUENCY=4000 bash -c './torture "$@"; exit 0' - "-0.0$((i * 7 % 90 + 10))" 40 ./plugin.so counter 2>/dev/null
        count_journals torture.prof
        echo "$(counter 1) $(counter 2) $(counted cpu_ns) $(counted ticks) $(counted weight)" \
            "$(counted samples) $(counted dropped)" >>kills
    done
}
