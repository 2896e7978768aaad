#!/usr/bin/env bash
# The README's transcript: its commands run, and print the output that it shows.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/transcript.sh"

[ "$PITOT_SANITIZED" = 0 ] || skip_all 'a sanitized library records nothing'
command -v "${CXX:-g++}" >/dev/null || skip_all "${CXX:-g++} is not installed"

mkdir -p build/demo
cp "$PITOT_ROOT/LICENSE" .
"${CXX:-g++}" -std=c++17 -O2 -g -fno-omit-frame-pointer -pthread "$PITOT_ROOT/demo/wordstat.cc" \
    -o build/demo/wordstat || exit 1
PATH=$(dirname "$PITOT"):$PATH
unset -f pitot

transcript_split "$PITOT_ROOT/README.md"
for n in $(seq "$count"); do
    command=$(cat "steps/command.$n")
    it "prints the output of the README: $command"
    case $command in
    'export PATH='*) continue ;;
    esac
    run bash -c "{ $command; } >answer 2>&1"
    expect transcript_matches "steps/expected.$n" answer
done

it 'has a transcript in the README'
expect test "$count" -ge 10
