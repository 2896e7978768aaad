# roots.bash: minimal systems of other versions of Debian, in which a test runs programs. Behind lib.sh; needs root.
#
#   PITOT_ROOTS=FOLDER   systems that are there already: FOLDER/bullseye, FOLDER/trixie, ...
#
# Those that are not there are made by debootstrap, from the mirror that this machine uses.
roots=${PITOT_ROOTS:-$PWD/roots}
mkdir -p "$roots"

# in_root ROOT COMMAND: in mounts of its own, with /proc.
in_root() {
    run timeout 60 unshare -m sh -c 'mount --make-rprivate / && mkdir -p "$1/proc" &&
        mount -t proc proc "$1/proc" && exec chroot "$1" "$2" -c "$3"' sh "$1" "${3:-/bin/sh}" "$2"
}

# make_root SUITE: false, and the test is skipped, if it cannot be had.
make_root() {
    local mirror
    [ ! -x "$roots/$1/bin/sh" ] || return 0
    needs debootstrap || return 1
    mirror=$(apt-get indextargets 'Created-By: Packages' --format '$(REPO_URI)' | grep '/debian/$' |
        head -n 1)
    if ! debootstrap --variant=minbase "$1" "$roots/$1" "$mirror" >bootstrap.log 2>&1; then
        skip "no $1 can be had: $(tail -n 1 bootstrap.log | sed "s,[a-z]*://[^ ]*,,g")"
        return 1
    fi
}
