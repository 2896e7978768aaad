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

# agrees SEEN USED PERIOD_S: within 3 sigma + 2 % of the CPU time used, and 30 ms for the start of
# the program, which no profiler can see.
agrees() {
    python3 - "$@" <<'PY'
import math, sys
seen, used, period = map(float, sys.argv[1:])
sys.exit(abs(seen - used) > 3 * math.sqrt(used * period) + 0.02 * used + 0.03)
PY
}
