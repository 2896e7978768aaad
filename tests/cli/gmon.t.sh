# gmon.t.sh: gmon.out files that gcc -pg really makes, against what gprof makes of them.
. "$(dirname "$0")/lib.sh"

for tool in gcc gprof nm awk; do
    command -v $tool >/dev/null || skip_all "$tool is not installed"
done

cat >work.c <<'EOF'
static volatile long sink;
#define APART __attribute__((noinline))
void even(int n);
APART void leaf(int n) { for (int i = 0; i < n; i++) sink += i; }
APART void cheap(void) { leaf(1000); }
APART void dear(void) { leaf(2000000); for (int i = 0; i < 700000; i++) sink ^= i; }
APART void odd(int n) { if (n > 0) even(n - 1); leaf(20000); }
APART void even(int n) { if (n > 0) odd(n - 1); leaf(30000); }
int main(void)
{
    for (int i = 0; i < 100; i++) cheap();
    for (int i = 0; i < 500; i++) dear();
    for (int i = 0; i < 7; i++) even(20);
    return 0;
}
EOF

# build NAME OPTIONS...: the program NAME, and NAME.gmon by running it.
build() {
    local name=$1
    shift
    gcc -pg -O1 "$@" work.c -o "$name" && "./$name" && mv gmon.out "$name.gmon"
}

# gprof_says FILE PROGRAM: name, ticks, calls of each function, by gprof.
gprof_says() {
    gprof -b -p -z "$2" "$1" | awk '
        NF == 7 && $1 ~ /^[0-9.]+$/ { printf "%s %d %d\n", $7, $3 * 100 + 0.5, $4 }
        NF == 4 && $1 ~ /^[0-9.]+$/ { printf "%s %d 0\n", $4, $3 * 100 + 0.5 }'
}

# pitot_says FILE PROGRAM: the same by pitot, and how many ticks lie in bins over the edge of a
# function, which gprof splits.
pitot_says() {
    { nm "$2" | awk '$2 ~ /[tT]/ { print "symbol", $1, $3 }'
        pitot dump --raw "$2" "$1"; } | awk '
        function hex(text,  i, n) {
            text = tolower(text)
            sub(/^0x/, "", text)
            for (i = 1; i <= length(text); i++)
                n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
            return n
        }
        $1 == "symbol" { start[$3] = hex($2); next }
        $1 !~ /^[0-9#]/ { table = $1; next }
        $1 == "#" { next }
        table == "function" { gsub(/"/, "", $2); name[$1] = $2 }
        table == "location" { line[$1] = $4 }
        table == "line" { of_line[$1] = $2 }
        table == "stack" { leaf[$1] = $2 }
        table == "sample" { ticks[name[of_line[line[leaf[$2]]]]] += $4 }
        table == "arc" { calls[name[of_line[line[$3]]]] += $4 }
        table == "bin" { low[++bins] = hex($2); high[bins] = hex($3); count[bins] = $4 }
        END {
            for (f in start) {
                for (b = 1; b <= bins; b++)
                    if (low[b] < start[f] && start[f] < high[b]) edge += count[b]
            }
            print "edge", edge + 0, 0
            for (f in name) print name[f], ticks[name[f]] + 0, calls[name[f]] + 0
        }'
}

# compare FILE PROGRAM [READ-BY-GPROF]: the functions of work.c have the same ticks and calls, but
# for ticks on an edge.
compare() {
    gprof_says "${3:-$1}" "$2" >by_gprof
    pitot_says "$1" "$2" >by_pitot
    awk 'NR == FNR { ticks[$1] = $2; calls[$1] = $3; next }
        $1 ~ /^(leaf|cheap|dear|odd|even|main)$/ {
            off = $2 - ticks[$1]
            if (off < 0) off = -off
            if (off > ticks["edge"] + 0 || $3 != calls[$1] + 0)
                print $1 ": gprof", $2, $3 ", pitot", ticks[$1] + 0, calls[$1] + 0
            seen += $2
        }
        END { if (seen == 0) print "gprof saw no ticks" }' by_pitot by_gprof
}

for kind in 'static -static -no-pie' 'fixed -no-pie' 'pie -pie -fPIE' \
    'apart -pie -fPIE -falign-functions=64'; do
    # shellcheck disable=SC2086
    set -- $kind
    it "agrees with gprof on each function's ticks and calls: ${kind#* }"
    if build "$@" 2>build.log; then
        expect_equal differences "$(compare "$1.gmon" "$1")" ''
        run pitot top "$1" "$1.gmon"
        expect_status 0
        expect_stdout_line '*leaf'
    else
        skip "gcc -pg ${kind#* } does not link here"
    fi

    it "gives back the same bytes: ${kind#* }"
    if [ -e "$1.gmon" ]; then
        run pitot convert --strict "$1.gmon" -o again.gmon
        expect_status 0
        expect_equal bytes "$(cmp "$1.gmon" again.gmon 2>&1)" ''
    else
        skip 'there is no such file'
    fi
done

it 'writes 4.4BSD files in which gprof finds the same'
run pitot convert --to=gmon-bsd pie.gmon -o pie.bsd
expect_status 0
expect_equal differences "$(compare pie.gmon pie pie.bsd)" ''
expect_equal 'its own differences' "$(compare pie.bsd pie)" ''

it 'writes GNU files from other formats in which gprof finds the same ticks'
run pitot convert pie.gmon -o pie.pb.gz
expect_status 0
run pitot convert pie.pb.gz -o back.gmon
expect_status 0
gprof_says pie.gmon pie | awk '{ print $1, $2 }' | grep -E '^(leaf|dear) ' | sort >wanted
gprof_says back.gmon pie | awk '{ print $1, $2 }' | grep -E '^(leaf|dear) ' | sort >found
expect_equal 'ticks by gprof' "$(awk 'NR == FNR { t[$1] = $2; next } { d = t[$1] - $2 }
    d * d > 4 { print }' wanted found)" ''
expect_equal total "$(pitot info --json back.gmon | grep '"total"')" \
    "$(pitot info --json pie.gmon | grep '"total"')"

it 'takes the word size from the program that is named'
# 273 bytes of 1 are 13 arcs of 64-bit programs or 21 of 32-bit ones.
{ printf 'gmon\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'; head -c 273 /dev/zero | tr '\0' '\1'; } >ones.gmon
printf '\177ELF\1\1\1' >small
run pitot info small ones.gmon
expect_stdout_line '*21 call arcs*'
run pitot info pie ones.gmon
expect_stdout_line '*13 call arcs*'

it 'names what shows a file of calls without samples, and shows it'
run pitot top ones.gmon
expect_status 3
expect_stderr_line '*has no samples, but call arcs (13)*pitot dump --raw*'
run pitot dump --raw ones.gmon
expect_status 0
expect_stdout_line 'arc 13'

it 'refuses the profile of a shared object by name'
printf 'gmon\377\377\1\0\0\0\0\0\0\0\0\0\0\0\0\0' >shared
run pitot top shared
expect_status 1
expect_stderr_line '*LD_PROFILE*sprof*'

it 'tells in info what beside samples is there'
run pitot info pie.gmon
expect_stdout_line '*call arcs*'
expect_stdout_line '*histogram bin*'
