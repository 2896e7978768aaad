#!/usr/bin/env bash
# Text profiles of gperftools, jemalloc, Go and Java, and the Perl pprof's raw files: read as
# `go tool pprof` and google-pprof read them.
. "$(dirname "$0")/lib.sh"

golden=$PITOT_ROOT/tests/golden

# pprof's own Go first: the one of Debian's golang-go is older, and merges single profiles.
go=go
[ -x /usr/lib/go-1.23/bin/go ] && go=/usr/lib/go-1.23/bin/go
go_raw() { HOME=$PWD PPROF_TMPDIR=$PWD "$go" tool pprof -raw -symbolize=none "$1" 2>/dev/null; }

# What go tool pprof says, but for the mapping that it makes up for addresses in none, and for our
# comments.
plain() {
    go_raw "$1" | awk '
        /^Comment: pitot/ { next }
        { line[++n] = $0 }
        $2 ~ /^0x0\/0x(0|f*)\/0x0$/ { fake = substr($1, 1, length($1) - 1); line[n] = "-" }
        END { for (i = 1; i <= n; i++) {
            if (line[i] == "-") continue
            if (fake != "") sub(" M=" fake " $", " ", line[i])
            print line[i] } }'
}

same_raw() {
    run pitot convert --no-annotate --symbols=off "$1" -o rewritten.pb.gz
    expect_status 0
    plain "$1" >theirs
    plain rewritten.pb.gz >ours
    expect [ -s theirs ]
    expect_same ours theirs
}

for file in heap/go-debug1.txt heap/gperftools.heap contention/go-mutex.txt \
    contention/by-hand.txt counts/goroutine-debug1.txt counts/threadcreate.txt threadz/by-hand.txt \
    java-cpu/64-little.prof java-cpu/32-big.prof java-text/heap-by-hand.txt \
    java-text/contention-by-hand.txt; do
    it "reads $file as go tool pprof does"
    needs "$go" && same_raw "$golden/$file"
done

for file in gperftools-heap/pprof__cppbench.heap gperftools-heap/pprof__gobench.heap \
    gperftools-contention/pprof__cppbench.small.contention \
    gperftools-thread/pprof__cppbench.thread gperftools-thread/pprof__go.godoc.thread \
    pprof-legacy-java/pprof__java.cpu gperftools-cpu/pprof__cppbench.cpu \
    gperftools-cpu/pprof__gobench.cpu; do
    it "reads $(basename "$file") of the corpus as go tool pprof does"
    corpus "$file" && needs "$go" && same_raw "$corpus"
done

it 'takes huge pages for the main binary that they stand for, as google/pprof does'
printf '%s\n' '--- contention:' 'cycles/second = 1000000000' 'sampling period = 1' ' 50 2 @ 0x405010' '--- Memory map: ---' \
    '00405000-00407000 rwxp 00000000 fe:00 123   /anon_hugepage' '456000-462000: /bin/prog' >huge.txt
run pitot pprof -raw -symbolize=none huge.txt
expect_status 0
expect_stdout_line '1: 0x405000/0x407000/0x0 /anon_hugepage*'

it 'writes a Java heap profile in the bytes of go tool pprof, whatever the order of its names'
printf '%s\n' '--- heapz 1 ---' 'format = java' 'resolution = bytes' '     524288        1 @ 0x00000003 0x00000004' \
    ' 0x00000004 com.example.Main.main (Main.java:5)' ' 0x00000003 com.example.Maker.make (Maker.java:12)' >java.txt
if needs "$go"; then
    PPROF_TMPDIR=$PWD "$go" tool pprof -proto -symbolize=none -output=theirs.pb.gz java.txt >/dev/null 2>&1
    pitot pprof -proto -symbolize=none -output=ours.pb.gz java.txt >/dev/null 2>&1
    expect [ -s theirs.pb.gz ]
    gzip -dc theirs.pb.gz >theirs
    gzip -dc ours.pb.gz >ours
    expect cmp ours theirs
fi

it 'names the functions of Go text profiles by their comments'
run pitot top "$golden/counts/goroutine-debug1.txt"
expect_stdout_line '*main.wait*'

it 'labels the samples of jemalloc with their threads'
run pitot convert "$golden/jemalloc/threads-accum.heap" -o je.pb.gz
expect_status 0
run pitot dump je.pb.gz
expect_stdout_has 'thread'

it 'writes a heap profile that go tool pprof reads with the same figures'
if needs "$go"; then
    run pitot convert "$golden/heap/go-debug1.txt" --to heap -o again.heap
    expect_status 0
    go_raw "$golden/heap/go-debug1.txt" | sed -n '/^Samples/,/^Locations/p' | grep '^ .*: [0-9]' >theirs
    go_raw again.heap | sed -n '/^Samples/,/^Locations/p' | grep '^ .*: [0-9]' >ours
    expect [ -s theirs ]
    expect_same ours theirs
fi

it 'writes raw files that google-pprof shows with the names'
if needs google-pprof; then
    run pitot convert "$golden/symbolized/google-pprof.raw" --to symbolized -o again.raw
    expect_status 0
    google-pprof --text "$golden/symbolized/google-pprof.raw" >theirs 2>/dev/null
    google-pprof --text again.raw >ours 2>/dev/null
    expect [ -s theirs ]
    expect_same ours theirs
fi

it 'says what a heap profile loses'
run pitot convert "$golden/heap/go-debug1.txt" --to heap --strict -o strict.heap
expect_status 1
expect [ ! -e strict.heap ]
