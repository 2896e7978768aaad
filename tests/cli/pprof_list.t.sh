# pprof_list.t.sh: pitot pprof -list, -disasm and -weblist. tests/torture/diff_listing.sh compares
# many more of the first two with google/pprof.
. "$(dirname "$0")/lib.sh"

printf '%s\n' 'int fib(int n)' '{' '    if (n < 2)' '        return n;' \
    '    return fib(n - 1) + fib(n - 2);' '}' '' 'int main(void)' '{' '    return fib(33) == 0;' \
    '}' >fib.c
if command -v gcc >/dev/null; then
    gcc -g -O0 -o fib fib.c
    pitot record -o rec.pb.gz -- ./fib 2>/dev/null
    pitot convert --symbols=full rec.pb.gz -o fib.pb.gz
fi

reference=/usr/lib/go-1.23/bin/go
# same OPTION...: go tool pprof prints the same.
same() {
    run pitot pprof -symbolize=none "$@" fib.pb.gz
    stdout >ours
    $reference tool pprof -symbolize=none "$@" fib.pb.gz >theirs 2>said
    expect_same ours theirs
}

it 'lists as go tool pprof does'
[ -x $reference ] || skip 'golang-1.23-go is not installed'
needs gcc && {
    same -list=fib
    same -list=. -unit=us
    same -list=main -focus=fib -divide_by=3
    same -list=fib -source_path="$PWD/deep/er" -trim_path=/tmp
    mv fib.c gone.c
    same -list=fib
    mv gone.c fib.c
}

it 'knows where a function begins that it names itself'
needs gcc && {
    printf '%s\n' '/* 1 */' '/* 2 */' '/* 3 */' "$(cat fib.c)" >below.c
    gcc -g -O0 -o below below.c
    pitot record -o below.prof -- ./below 2>/dev/null
    run pitot pprof -raw below below.prof
    expect_stdout_line '* fib */below.c:* s=4'
    run pitot pprof -list=fib below below.prof
    expect_equal 'first line listed' "$(stdout | awk '/ROUTINE/ { getline; getline; print $3 }')" '4:int'
}

it 'says in its words that nothing matches'
needs gcc && {
    run pitot pprof -list=zebra fib.pb.gz
    expect_stderr_line '*no matches found for regexp: zebra*'
    run pitot pprof -disasm=zebra fib.pb.gz
    expect_stderr_line '*no matches found for regexp zebra*'
}

it 'disassembles with the objdump that PPROF_TOOLS names'
needs gcc objdump && {
    mkdir -p tools
    cat >tools/objdump <<'S'
#!/bin/sh
[ "$1" = --version ] && echo 'GNU objdump' && exit
printf 'here():\n/x/y.c:7\n %s:\tmy instruction\n' "$(echo "$6$5" | sed 's/.*start-address=0x//; s/[^0-9a-f].*//')"
S
    chmod +x tools/objdump
    PPROF_TOOLS=$PWD/tools run pitot pprof -disasm=fib fib.pb.gz
    expect_status 0
    expect_stdout_line 'ROUTINE ======================== fib'
    expect_stdout_line '*: my instruction                          ;here y.c:7'
    run pitot pprof -tools="$PWD/tools" -disasm=fib fib.pb.gz
    expect_stdout_line '*my instruction*'
}

it 'writes weblist as a page'
needs gcc && {
    run pitot pprof -weblist=fib -output=page.html fib.pb.gz
    expect_status 0
    expect grep -q 'return fib(n - 1) + fib(n - 2);' page.html
    expect grep -q '<summary' page.html
}
