#!/usr/bin/env bash
# Programs of one planted cause each (tests/torture/why): pitot why names the cause and the function among its first
# three findings. The line "record: OPTIONS" of a program has options for its recording.
. "$(dirname "$0")/../cli/lib.sh"

command -v python3 >/dev/null || skip_all 'python3 is not installed'
programs=$PITOT_ROOT/tests/torture/why

# rustup looks for its compilers below the user's home, which the test's home is not.
compile_rust() {
    RUSTUP_HOME=${RUSTUP_HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)/.rustup} rustc "$@"
}

# Makes the command that runs a program: `command`. False: its language is not there.
build() {
    local source=$1 name=${1##*/}
    name=${name//./_}
    case $source in
    *.c) needs gcc && expect gcc -O1 -g "$source" -o "$name" && command=("./$name") ;;
    *.cc) needs g++ && expect g++ -O1 -g "$source" -o "$name" -pthread && command=("./$name") ;;
    *.rs) needs rustc && expect compile_rust -O -g "$source" -o "$name" && command=("./$name") ;;
    *.go)
        needs go && expect env HOME="$PWD" GOCACHE="$PITOT_ROOT/build-test/go-cache" CGO_ENABLED=0 \
            go build -o "$name" "$source" && command=("./$name")
        ;;
    *.py) needs python3 && command=(python3 "$source") ;;
    *.js) needs node && command=(node --perf-basic-prof --interpreted-frames-native-stack "$source") ;;
    *.sh) command=(bash "$source") ;;
    esac
}

for source in "$programs"/*; do
    it "names the cause in ${source##*/}: $(sed -n 's/^[^a-zA-Z]*\(cause\|own\): //p' "$source")"
    build "$source" || continue
    read -ra options < <(sed -n 's/^[^a-z]*record: //p' "$source")
    expect pitot record "${options[@]}" -o planted.pb.gz -- "${command[@]}"
    run pitot why --json planted.pb.gz
    expect_status 0
    stdout >findings.json
    run python3 "$PITOT_ROOT/tests/torture/why_causes.py" "$source" findings.json
    stdout | sed 's/^/# /'
    expect_status 0
done
