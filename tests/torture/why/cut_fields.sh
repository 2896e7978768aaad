# cause: starting-programs
# cut and tr are started for each line.
field() {
    echo "$1" | cut -d, -f"$2" | tr a-z A-Z
}
count=0
while read -r line; do
    [ "$(field "$line" 2)" = BLUE ] && count=$((count + 1))
done <<LINES
$(for i in $(seq 350); do echo "$i,blue,large"; done)
LINES
echo $count
