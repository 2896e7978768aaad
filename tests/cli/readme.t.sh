#!/usr/bin/env bash
# The README's transcript: what it says is typed is typed, and what it says is answered is answered.
#
# In a ```console block a line that begins with "$ " is a command; the lines below it are its output,
# both streams. A number stands for any number, with its unit; a line "..." for any lines.
. "$(dirname "$0")/lib.sh"

[ "$PITOT_SANITIZED" = 0 ] || skip_all 'a sanitized library records nothing'
command -v "${CXX:-g++}" >/dev/null || skip_all "${CXX:-g++} is not installed"

mkdir -p build/demo
cp "$PITOT_ROOT/LICENSE" .
"${CXX:-g++}" -std=c++17 -O2 -g -fno-omit-frame-pointer -pthread "$PITOT_ROOT/demo/wordstat.cc" \
    -o build/demo/wordstat || exit 1
PATH=$(dirname "$PITOT"):$PATH
unset -f pitot

# pattern LINE: a regular expression in which each number of the line is any number.
pattern() {
    printf '%s\n' "$1" |
        sed -e 's/[][\\.*^$+?(){}|]/\\&/g' \
            -e 's/ *[0-9][0-9.,\\]*\(ns\|us\|ms\|min\|s\|kB\|MB\|B\)\{0,1\}/ *[0-9][0-9.,]*(ns|us|ms|min|s|kB|MB|B)?/g'
}

# matches EXPECTED ACTUAL: files; "..." in the first skips lines of the second. What recording itself
# takes of this machine may be worth a word.
matches() {
    local -a want got
    mapfile -t want <"$1"
    mapfile -t got < <(sed 's/, recording itself took [^;]*;/;/' "$2")
    local i=0 line free=0
    for line in "${want[@]}"; do
        if [ "$line" = ... ]; then
            free=1
            continue
        fi
        local regex
        regex="^$(pattern "$line")\$"
        while [ "$i" -lt "${#got[@]}" ] && [ "$free" = 1 ] && ! [[ ${got[i]} =~ $regex ]]; do
            i=$((i + 1))
        done
        if [ "$i" -ge "${#got[@]}" ] || ! [[ ${got[i]} =~ $regex ]]; then
            echo "the README says: $line"
            echo "the answer is:   ${got[i]-(nothing more)}"
            return 1
        fi
        i=$((i + 1))
        free=0
    done
    [ "$free" = 1 ] || [ "$i" = "${#got[@]}" ] || {
        echo "the answer goes on: ${got[i]}"
        return 1
    }
}

# Each command of the README's blocks becomes command.N, with what is expected in expected.N.
mkdir steps
awk '/^```console$/ { on = 1; next } /^```$/ { on = 0 } !on { next }
     /^\$ / { n++; print substr($0, 3) > ("steps/command." n); printf "" > ("steps/expected." n); next }
     { print > ("steps/expected." n) }' "$PITOT_ROOT/README.md"

count=$(find steps -name 'command.*' | wc -l)
for n in $(seq "$count"); do
    command=$(cat "steps/command.$n")
    it "answers as the README says: $command"
    case $command in
    'export PATH='*) continue ;;
    esac
    run bash -c "{ $command; } >answer 2>&1"
    expect matches "steps/expected.$n" answer
done

it 'has a transcript in the README'
expect test "$count" -ge 10
