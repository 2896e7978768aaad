# cause: starting-programs|importing
# Python is started for each name.
slug() {
    python3 -c 'import re, sys; print(re.sub("[^a-z]+", "-", sys.argv[1].lower()))' "$1"
}
for i in $(seq 15); do
    slug "A Title of Page $i"
done | wc -l
