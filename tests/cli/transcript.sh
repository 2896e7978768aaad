# transcript.sh: the commands of a page, and the output that the page shows for them. For tests that have read lib.sh.
#
# In a ```console block a line that begins with "$ " is a command; the lines below it are its output,
# both streams. Marks of noise (~) are left out, since chance makes them. A number stands for any number, with its unit; blanks for any blanks; a line "..." for any lines.

# transcript_split PAGE: the Nth command of the page goes to steps/command.N, its output to steps/expected.N.
# The number of commands is in $count.
transcript_split() {
    mkdir steps
    awk '/^```console$/ { on = 1; next } /^```$/ { on = 0 } !on { next }
         /^\$ / { n++; print substr($0, 3) > ("steps/command." n); printf "" > ("steps/expected." n); next }
         { print > ("steps/expected." n) }' "$1"
    count=$(find steps -name 'command.*' | wc -l)
}

# transcript_regex LINE: a regular expression in which each number of the line is any number, without marks of noise.
transcript_regex() {
    printf '%s\n' "$1" |
        sed -e 's/[][\\.*^$+?(){}|]/\\&/g' \
            -e '/ ~/s/\\+/[-+]/g' \
            -e 's/ ~//g' -e 's/  *$//' -e 's/^  */ */' -e 's/\([^ *]\)  */\1 +/g' \
            -e 's/ *[0-9][0-9.,\\]*\(ns\|us\|ms\|min\|s\|kB\|MB\|B\)\{0,1\}/ *[0-9][0-9.,]*(ns|us|ms|min|s|kB|MB|B)?/g'
}

# transcript_matches EXPECTED ACTUAL: compares two files; "..." in the first skips lines of the second. What
# record's line says of its own CPU time is left out, and what it and a report's head say of lost samples: these depend
# on the machine, and on how full it is.
transcript_matches() {
    local -a want got
    mapfile -t want <"$1"
    mapfile -t got < <(sed -e 's/, recording itself took [^;]*;/;/' -e 's/, [0-9,]* samples\{0,1\} lost//' \
        -e '/samples were lost: they came faster/d' -e 's/ ~//g' "$2")
    local i=0 line free=0
    for line in "${want[@]}"; do
        if [ "$line" = ... ]; then
            free=1
            continue
        fi
        local regex
        regex="^$(transcript_regex "$line")\$"
        while [ "$i" -lt "${#got[@]}" ] && [ "$free" = 1 ] && ! [[ ${got[i]} =~ $regex ]]; do
            i=$((i + 1))
        done
        if [ "$i" -ge "${#got[@]}" ] || ! [[ ${got[i]} =~ $regex ]]; then
            echo "the page shows:  $line"
            echo "the output is:   ${got[i]-(nothing more)}"
            return 1
        fi
        i=$((i + 1))
        free=0
    done
    [ "$free" = 1 ] || [ "$i" = "${#got[@]}" ] || {
        echo "the output goes on: ${got[i]}"
        return 1
    }
}
