#!/usr/bin/env bash
# Python, PHP, Ruby, Perl and Node at 1 and 10 kHz in stacks that the kernel walks: each frame right in name, file and line, nearly
# all stacks joined with certainty, no name lost. LANGUAGES: some of them; LANGUAGE_SECONDS: of each recording, about (60);
# LANGUAGE_KHZ: 10 or 1.
. "$(dirname "$0")/../cli/lib.sh"
tests=$PITOT_ROOT/tests/cli
seconds=${LANGUAGE_SECONDS:-60}

needs python3 || skip_all 'python3 is not installed'
run pitot record --engine=bpf -o probe.pb.gz true
[ "$status" = 0 ] || skip_all "no BPF here: $(stderr | tail -n 1)"

# program_of LANGUAGE: sets program, which writes to the file of its first argument what its stacks are, and small, a last argument
# with which it ends soon: the time that it takes grows with it. False: the test is skipped.
program_of() {
    small=80
    case $1 in
    python) needs python3 && program=(python3 "$tests/python_stacks.py" expected.json) ;;
    # Each place for longer: PHP 8.2 itself crashes on some of the mixtures that follow the first 100.
    php) small=8 && needs php && program=(php -n "$tests/php_stacks.php" expected.json 80) ;;
    ruby) needs ruby && program=(ruby --disable=gems "$tests/ruby_stacks.rb" expected.json) ;;
    perl) needs perl && program=(perl "$tests/perl_stacks.pl" expected.json) ;;
    node) small=50 && needs node && program=(node "$tests/node_stacks.mjs" expected.json) ;;
    esac
}

# check LANGUAGE: prints "stacks N frames N wrong N places N of N".
check() {
    case $1 in
    python) python3 "$tests/python_stacks_check.py" expected.json "$2" ;;
    node) python3 "$tests/node_stacks_check.py" expected.json "$2" ;;
    *) python3 "$tests/stacks_check.py" "$1" expected.json "$2" ;;
    esac
}

for language in ${LANGUAGES:-python php ruby perl node}; do
    for khz in ${LANGUAGE_KHZ:-10 1}; do
        it "$language at $khz kHz: each frame is right, and at least 99.8 % of the stacks are joined with certainty"
        program_of $language || continue
        start=$(date +%s%N)
        "${program[@]}" $small || fail 'the program fails'
        rounds=$((small * seconds * 1000 / (($(date +%s%N) - start) / 1000000 + 1)))
        run pitot record --engine=bpf -F ${khz}000 -o stacks.pb.gz "${program[@]}" $rounds
        expect_status 0
        echo "# $(stderr | tail -n 1)"
        samples=$(stderr | sed -n 's/.*: \([0-9,]*\) samples, .*/\1/p' | tr -d ,)
        run pitot info stacks.pb.gz
        nameless=$(stdout | sed -n 's/.*[^0-9,]\([0-9,]*\) frames have no name.*/\1/p' | tr -d ,)
        # A function of V8 that the collector moves at the moment of the sample is read later: one in 10,000 samples may lack its name.
        expect [ "${nameless:-0}" -le $([ $language = node ] && echo $((samples / 10000)) || echo 0) ]
        # Each frame of JavaScript has its place in the native stack.
        joined=$(stdout | sed -n 's/.*joined with native frames for certain in \([0-9.]*\) % of them.*/\1/p')
        [ $language = node ] || expect awk -v joined="$joined" 'BEGIN { exit !(joined >= 99.8) }'
        if [ $language = node ]; then
            pitot traces -n 0 --lines --json stacks.pb.gz >known.json 2>/dev/null
        else
            pitot dump --json stacks.pb.gz >known.json 2>/dev/null
        fi
        run check $language known.json
        expect_status 0
        echo "# $(stdout), ${joined:-100} % joined for certain"
        read -r _ _ _ frames _ wrong _ < <(stdout)
        expect_equal 'wrong stacks' "$wrong" 0
        expect [ "$frames" -ge 1000 ]
    done
done
