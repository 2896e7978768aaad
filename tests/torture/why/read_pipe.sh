# cause: system-calls-read
# read takes a pipe byte by byte.
total=0
add_sizes() {
    while IFS= read -r line; do
        total=$((total + ${#line}))
    done < <(seq -f 'a line of some length, number %g, with more text behind it' 25000)
}
add_sizes
echo $total
