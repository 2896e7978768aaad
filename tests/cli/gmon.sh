# gmon.sh: profiles of gprof, byte by byte, for programs whose symbols nm knows.

# Bytes of numbers: word VALUE, half VALUE, both little-endian of eight and two bytes; four VALUE.
number() {
    local i value=$1
    for ((i = 0; i < $2; i++)); do
        printf "\\x$(printf %02x $((value >> (8 * i) & 255)))"
    done
}
address() { echo $((0x$(nm "$1" | awk -v n="$2" '$3 == n { print $1 }'))); }
# histogram PROGRAM FUNCTION TICKS...: a bin of two bytes each, from the function on.
histogram() {
    local low
    low=$(address "$1" "$2")
    shift 2
    printf '\0'
    number "$low" 8
    number $((low + 2 * $#)) 8
    number $# 4
    number 100 4
    printf 'seconds\0\0\0\0\0\0\0\0s'
    for ticks; do number "$ticks" 2; done
}
arc() {
    printf '\1'
    number $(($(address "$1" "$2") + 1)) 8
    number "$(address "$1" "$3")" 8
    number "$4" 4
}
header() { printf 'gmon\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'; }

# callees FUNCTION: those that its entry of the graph on standard input lists.
callees() {
    awk -v name="$1" '$0 ~ "^\\[" && $0 ~ (" " name " \\[[0-9]+\\]$") { on = 1; next }
        /^---/ { on = 0 }
        on { printf "%s ", $(NF - 1) }'
}
