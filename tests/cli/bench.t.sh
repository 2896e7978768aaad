#!/usr/bin/env bash
# The generator of large profiles and the program that measures, on small inputs.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

gen=$PITOT_BUILD/bench/gen
command -v python3 >/dev/null || skip_all 'python3 is not installed'

it 'the generator makes equal bytes from equal options'
expect "$gen" --samples=500 --labels=2 --inlines=20 -o a
expect "$gen" --samples=500 --labels=2 --inlines=20 -o b
expect_same a b

it 'the generator makes another run of the same service'
expect "$gen" --samples=500 -o a --truth=truth-a
expect "$gen" --samples=500 --run=1 -o b --truth=truth-b
expect test "$(cmp -s a b && echo same)" = ''
cut -f1 truth-a truth-b | sort -u | wc -l >names
expect test "$(cat names)" -le 20001

it 'the generator writes a 64-bit gperftools profile whose words are those of its format'
expect "$gen" --format=gperftools --samples=3 --depth=5-5 -o a
words=$(od -A n -t d8 -w56 -N 56 -v a | tr -s ' ')
expect_equal 'the header and the first two words of the first record' "$words" ' 0 3 0 1000 0 1 5'

it 'the generator refuses what is no number, with the range'
run "$gen" --depth=1-5 -o a
expect_status 2
expect_stderr_line 'gen: --depth takes a number from 3 to 4096'

# A table of one row that compares the program with itself.
cat >rows.ini <<'END'
[inputs]
test.pb.gz = --samples=200 --functions=50
[self]
what = the program against itself
ours = pitot version
peer = pitot version
floor = inflate {test.pb.gz}
must = 100 x peer, 100000 MB
END
bench() { run "$PITOT_ROOT/bench/run" --build "$PITOT_BUILD" --rows rows.ini --history history "$@"; }

it 'a row is measured against its peer and what it cannot avoid, and remembered'
bench -n 2 self
expect_status 0
expect_stdout_line 'self *x * must *'
run python3 -c 'import json
entry, = map(json.loads, open("history"))
print(entry["rows"]["self"]["ours"]["runs"], entry["rows"]["self"]["met"])'
expect_stdout '2 must'

it 'a limit is judged by the side that it is a multiple of, or not at all'
sed 's/^must = .*/must = 0.001 x peer/' rows.ini >strict.ini
run "$PITOT_ROOT/bench/run" --build "$PITOT_BUILD" --rows strict.ini --history - -n 2 self
expect_stdout_line 'self * MISSED must 0.001 x peer'
bench --no-peer -n 2 self
expect_stdout_line 'self * - *must 100 x peer*'

it 'a section with figures is a row for each, judged by the figure of its peer'
cat >figures.ini <<'END'
[inputs]
[page]
what = FIGURE of nothing
ours = echo FIGURE 5
peer = echo FIGURE 10
figures =
    open CPU s
    heap MB
must = 0.6 x peer
goal = 0.4 x peer
repeats = 1
END
run "$PITOT_ROOT/bench/run" --build "$PITOT_BUILD" --rows figures.ini --history -
expect_status 0
expect_stdout_line 'page-open *5 CPU s; peer 10 | must *0.6 x peer; goal 0.4 x peer'
expect_stdout_line 'page-heap *5 MB; peer 10 | must *'
run "$PITOT_ROOT/bench/run" --build "$PITOT_BUILD" --rows figures.ini --history - --no-peer page-heap
expect_stdout_line 'page-heap *5 MB; peer - | - *'

it 'a peer that runs once is measured once for all rows with the same command'
cat >same.ini <<'END'
[DEFAULT]
ours = pitot version
peer = sh -c 'echo >>%s/count'
repeats = 1
[inputs]
[first]
what = one
[second]
what = two
END
sed -i "s|%s|$PWD|" same.ini
run "$PITOT_ROOT/bench/run" --build "$PITOT_BUILD" --rows same.ini --history -
expect_status 0
expect_stdout_line '2 rows in * s; the longest: *'
expect_equal 'runs of the peer' "$(wc -l <count)" 1

it 'a row that cannot be done is an error that says why'
sed -i 's/^ours = .*/ours = pitot merge --no-such-option/' rows.ini
bench -n 1
expect_status 1
expect_stdout_line 'self * failed: pitot ended with 2: *'

it 'an unknown row is refused with the names of those that are there'
bench sefl
expect_status 1
expect_stderr 'run: no row sefl; there are: self'
