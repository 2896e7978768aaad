# language.sh: what the tests of an interpreter's functions have in common. Behind lib.sh, and these:
#
#   language   as pitot has it: "PHP functions in 99 % ..."
#   program    the command that runs a program of known stacks, which writes what they are to expected.json
#
# Names of functions below begin with check_; each belongs into a test that `it` has begun.

tests=$PITOT_ROOT/tests/cli
joined="$language functions in [0-9.]* %, \\(100\\|99[.0-9]*\\) % of these joined for certain"

pitot record --engine=bpf -o probe.pb.gz true 2>probe
has_bpf=$?

# Does the kernel walk stacks here? Else the test is skipped.
needs_bpf() {
    [ "$has_bpf" = 0 ] || skip "no BPF here: $(tail -n 1 probe)"
    return "$has_bpf"
}

# check_stacks [OPTION...]: each frame of the known stacks, recorded with the options, is right.
check_stacks() {
    local frames wrong places all
    run pitot record "$@" -F 2000 -o stacks.pb.gz "${program[@]}" expected.json 4
    expect_status 0
    expect_equal 'what is said of joining' "$(stderr | grep -c "$joined")" 1
    pitot dump --json stacks.pb.gz >dump.json 2>/dev/null
    run python3 "$tests/stacks_check.py" "${language,,}" expected.json dump.json
    expect_status 0
    read -r _ _ _ frames _ wrong _ places _ all < <(stdout)
    expect_equal 'wrong stacks' "$wrong" 0
    expect [ "$frames" -ge 100 ]
    expect [ "$((places * 2))" -ge "$all" ] # where ticks are few, some places meet none
}

# check_service COMMAND... -- NAME...: a program that prints its pid and runs on has these functions when the kernel walks
# its stacks, and none without a name. Leaves the profile in service.pb.gz.
check_service() {
    local command=() name service seconds missing
    while [ "$1" != -- ]; do command+=("$1") && shift; done
    shift
    "${command[@]}" >pid &
    service=$!
    is_ready() { [ "$(cat pid)" = "$service" ]; }
    eventually is_ready
    # Longer if the service got too little of a processor in that time: on a full machine, or one that stands still.
    for seconds in 0.5 2 8 32; do
        run pitot record --engine=bpf -p "$service" -d $seconds -o service.pb.gz
        expect_status 0
        expect_stderr_has "$language functions in "
        pitot top -n 0 --csv service.pb.gz 2>/dev/null | cut -d, -f 5 >names
        missing=0
        for name; do grep -qFx "$name" names || missing=1; done
        [ $missing = 1 ] || break
    done
    kill -KILL "$service"
    for name; do
        expect [ "$(grep -cFx "$name" names)" -ge 1 ]
    done
    expect_equal 'functions without a name' "$(grep -c "^\\[$language code\\]" names)" 0
}

# check_says STATUS COMMAND...: the program says and returns what it does alone.
check_says() {
    local wanted=$1
    shift
    "$@" >alone 2>&1
    expect_equal 'its status alone' $? "$wanted"
    for _ in 1 2 3; do
        pitot record -F 10000 -o says.pb.gz "$@" >recorded 2>said
        expect_equal 'its status' $? "$wanted"
        expect_equal 'what it says' "$(cat recorded)" "$(cat alone)"
    done
}

# check_refused NAME WHAT CC-OPTION...: the program of fake.c, called NAME, has no functions; one line says so.
check_refused() {
    local name=$1 what=$2 engine
    shift 2
    cc -O1 -rdynamic -o "$name" fake.c "$@"
    for engine in preload bpf; do
        [ $engine != bpf ] || [ "$has_bpf" = 0 ] || continue
        run pitot record --engine=$engine -F 2000 -o fake.pb.gz "./$name"
        expect_status 4
        expect_equal "functions of $what by $engine" "$(stderr | grep -c "$language functions")" 0
        expect_equal "what is said of $what by $engine" "$(stderr | grep -c 'names of its functions will be missing')" 1
    done
}

# check_other NAME: a shell of that name is not taken for the interpreter.
check_other() {
    cp "$(command -v sh)" "$1"
    run pitot record -o other.pb.gz "./$1" -c true
    expect_equal 'the library for it' "$(pitot info other.pb.gz | grep -c "the command is $language")" 0
}
