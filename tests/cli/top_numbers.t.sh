#!/usr/bin/env bash
# The figures of top, every row and every event of a profile, against sums made without us: those of
# the program that generated the profile, and those of Go's pprof.
. "$(dirname "$0")/lib.sh"

gen=$PITOT_BUILD/bench/gen
command -v python3 >/dev/null || skip_all 'python3 is not installed'
export PITOT

# profile OPTION...: makes ./p.pb.gz and, by the generator's own sums, ./truth.
profile() { expect "$gen" --samples=2000 --functions=300 -o p.pb.gz --truth=truth "$@"; }

# compare MODE FILE...: the two sides agree in every figure.
compare() {
    run python3 "$PITOT_ROOT/tests/torture/diff_top.py" "$@"
    [ "$status" = 0 ] || fail "$(stdout)$(stderr)"
}

agrees() { compare truth p.pb.gz truth; }
agrees_with_pprof() { compare pprof "$@"; }

it 'counts stacks that are nearly all distinct'
profile --shape=U
agrees

it 'counts stacks that come again and again'
profile --shape=S
agrees

it 'gives the values of inlined frames to the innermost one'
profile --inlines=60
agrees

it 'counts a recursive function once a stack in total'
profile --recursion=40 --depth=3-80
agrees

it 'takes functions of one name in several files for one'
profile --homonyms=30
agrees

it 'adds up each of six values, packed, with labels on every sample'
profile --values=6 --labels=4
agrees

it 'adds up a single value'
profile --values=1
agrees

it 'reads the same without gzip'
profile --raw --inlines=10
agrees

it 'says that a profile without samples has none'
profile --samples=0
run pitot top p.pb.gz
expect_status 3
expect_no_stdout
expect_stderr_line 'pitot: p.pb.gz has no samples*'

it 'agrees with go tool pprof on generated profiles'
if needs go; then
    profile --inlines=30 --recursion=20 --homonyms=10 --values=4 --labels=3
    compare peer-truth p.pb.gz truth
    agrees_with_pprof p.pb.gz
fi

it 'agrees with go tool pprof on profiles that Go programs wrote'
if needs go && corpus pprof; then
    agrees_with_pprof "$corpus"/*
fi

it "agrees with go tool pprof on the profiles of pprof's own tests"
if needs go && corpus pprof-goldens/fixtures; then
    agrees_with_pprof "$corpus"/*.pb.gz
fi

it 'agrees with go tool pprof on a generated gperftools profile'
if needs go; then
    expect "$gen" --format=gperftools --samples=2000 --functions=300 -o p.prof
    agrees_with_pprof p.prof
fi

it 'agrees with go tool pprof on gperftools profiles'
if needs go && corpus gperftools-cpu; then
    agrees_with_pprof "$corpus"/*
fi
