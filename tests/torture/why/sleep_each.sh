# record: --wall
# cause: sleeping|waiting-for-processes
# A loop sleeps between its turns.
poll() {
    until [ "$1" -le 0 ]; do
        sleep 0.1
        set -- $(($1 - 1))
    done
}
poll 20
