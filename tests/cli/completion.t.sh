#!/usr/bin/env bash
# The completion scripts, loaded in the shells themselves: bash and zsh get keys on a terminal, fish is asked.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

for shell in bash zsh fish; do
    pitot help --completion=$shell >$shell.script
done
mkdir functions
cp zsh.script functions/_pitot
# The shells run this pitot.
PATH=$(dirname "$PITOT"):$PATH
printf '%s\n' 'main;shop::Cart::add 5' 'main;shop::Cart::total 3' 'main;plain_one 2' 'main;operator< 1' >first.folded
pitot convert -o pitot.pb.gz first.folded
echo 'other_one 1' >second.folded
ln -s "$(command -v sleep)" tabbed-process
./tabbed-process 600 &
process=$!

# What is typed, and what it becomes.
cat >expected <<'END'
pitot top --mi:--mine
pitot ann:annotate
pitot top --by=map:--by=mapping
pitot top --by map:mapping
pitot top -s tot:total
pitot help samp:samples
pitot help annot:annotate
pitot list plain:plain_one
pitot peek shop::Cart::t:shop::Cart::total
pitot why shop::Cart::a:shop::Cart::add
pitot top --focus=shop::Cart::t:--focus=shop::Cart::total
pitot top --focus plain:plain_one
pitot top second.folded --focus=oth:--focus=other_one
pitot record -p tabbed-p:tabbed-process
pitot record --pid=tabbed-p:--pid=tabbed-process
pitot top second.f:second.folded
END
sed 's/\(.*[^:]\):\([^:].*\)/\1/' expected >typed
sed -e 's/\(.*[^:]\):\([^:].*\)/\1 \2/' -e 's/[^ ]* \([^ ]*\)$/\1/' -e 's/^pitot //' expected >wanted

for shell in bash zsh; do
    it "completes commands, options, values, functions, processes and files in $shell"
    if needs $shell && needs python3; then
        script=$PWD/functions/_pitot
        [ $shell = zsh ] || script=$PWD/bash.script
        run python3 "$PITOT_ROOT/tests/cli/press_tab.py" $shell "$script" <typed
        expect_status 0
        stdout >got
        expect_same wanted got
    fi
done

it 'completes the same in fish'
if needs fish; then
    # It offers files behind a colon, too.
    paste -d '|' typed wanted | while IFS='|' read -r line words; do
        # shellcheck disable=SC2016 # fish expands
        HOME=$PWD fish --no-config -c 'source $argv[1]; complete -C $argv[2]' fish.script "$line" 2>&1 | cut -f1 |
            grep -qFxe "${words##* }" || echo "$line"
    done >wrong
    expect_same /dev/null wrong
fi
kill $process

it 'has a script for bash in which shellcheck finds no fault'
if needs shellcheck; then
    run shellcheck -s bash bash.script
    expect_status 0
    expect_no_stdout
fi
