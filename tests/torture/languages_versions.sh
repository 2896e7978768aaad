#!/usr/bin/env bash
# PHP, Perl, Ruby, Python and Java of other versions of Debian: each frame right in name, file and line, in stacks that the library
# records and in those that the kernel walks.
. "$(dirname "$0")/../cli/lib.sh"
tests=$PITOT_ROOT/tests/cli

[ "$(id -u)" = 0 ] || skip_all 'chroot needs root'
[ "$PITOT_SANITIZED" = 0 ] || skip_all 'the library is not loaded into sanitized runs'
. "$(dirname "$0")/roots.bash"
pitot record --engine=bpf -o probe.pb.gz true 2>probe
has_bpf=$?

# make_language_root SUITE PACKAGE...: false, and the test is skipped, if they cannot be had.
make_language_root() {
    local root=$roots/$1
    make_root "$1" || return 1
    shift
    if ! chroot "$root" dpkg-query -W "$@" >/dev/null 2>&1; then
        mkdir -p "$root/usr/share/man/man1" # Java's packages have links there, which minimal systems lack; they run Java, which needs /proc
        unshare -m sh -c 'mount -t proc proc "$1/proc" && root=$1 && shift && exec chroot "$root" sh -c "apt-get -o Acquire::Check-Valid-Until=false update -qq &&
            DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \"\$@\"" sh "$@"' sh "$root" "$@" >install.log 2>&1 || { skip "no $*: $(tail -n 1 install.log | sed "s,[a-z]*://[^ ]*,,g")" && return 1; }
    fi
    mkdir -p "$root/tmp/known"
    cp "$tests"/*_stacks.* "$PITOT_BUILD/libprofiler.so.0" "$root/tmp/known/"
}

# check_known SUITE ENGINE LANGUAGE COMMAND...: engine preload, or one of the kernel's
check_known() {
    local root=$roots/$1 engine=$2 language=$3 profile=$roots/$1/tmp/known/stacks.pb.gz frames wrong
    shift 3
    rm -f "$root/tmp/known/expected.json" "$profile"
    if [ "$engine" != preload ]; then
        [ "$has_bpf" = 0 ] || { skip "no BPF here: $(tail -n 1 probe)" && return; }
        run pitot record --engine="$engine" -F 2000 -o "$profile" \
            unshare -m sh -c 'mount -t proc proc "$1/proc" && cd "$1/tmp/known" && root=$1 && shift && exec chroot "$root" sh -c "cd /tmp/known && exec \"\$@\"" sh "$@"' \
            sh "$root" "$@"
    else
        run unshare -m sh -c 'mount -t proc proc "$1/proc" && root=$1 && shift && exec chroot "$root" sh -c "cd /tmp/known &&
            CPUPROFILE=stacks.pb.gz CPUPROFILE_FREQUENCY=2000 LD_PRELOAD=/tmp/known/libprofiler.so.0 exec \"\$@\"" sh "$@"' sh "$root" "$@"
    fi
    expect_status 0
    if [ "$language" = perl ] && [ "$engine" != preload ]; then
        expect_equal 'what is said of joining' "$(stderr | grep -c ' \(100\|99[.0-9]*\) % of these joined for certain')" 1
    fi
    pitot dump --json "$profile" >dump.json 2>/dev/null
    if [ "$language" = python ]; then
        run python3 "$tests/python_stacks_check.py" "$root/tmp/known/expected.json" dump.json
    else
        run python3 "$tests/stacks_check.py" "$language" "$root/tmp/known/expected.json" dump.json
    fi
    expect_status 0
    echo "# $(stdout)"
    read -r _ _ _ frames _ wrong _ < <(stdout)
    expect_equal 'wrong stacks' "$wrong" 0
    # Compiled code of Java has few distinct stacks.
    expect [ "$frames" -ge "$([ "$language" = java ] && echo 200 || echo 1000)" ]
}

for suite in bullseye trixie; do
    # 7.4 has json as an extension.
    json=()
    [ $suite != bullseye ] || json=(-d extension=json)
    for engine in preload bpf; do
        for language in php perl ruby python; do
            it "$suite: each frame of $language, by $engine"
            make_language_root $suite php-cli perl ruby python3 || continue
            case $language in
            php) check_known $suite $engine php php -n "${json[@]}" php_stacks.php expected.json 8 ;;
            perl) check_known $suite $engine perl perl perl_stacks.pl expected.json 8 ;;
            ruby) check_known $suite $engine ruby ruby --disable=gems ruby_stacks.rb expected.json 8 ;;
            python) check_known $suite $engine python python3 python_stacks.py expected.json 20 ;;
            esac
        done
    done
done

# Compiled code describes all its places, and hidden frames are in the program's own traces of the stack, too.
for java in 'bullseye openjdk-11-jdk-headless' 'trixie openjdk-21-jdk-headless' 'sid openjdk-25-jdk-headless'; do
    read -r suite package <<<"$java"
    for engine in preload bpf perf; do
        it "$suite: each frame of $package, by $engine"
        make_language_root "$suite" "$package" || continue
        check_known "$suite" $engine java java -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints -XX:+ShowHiddenFrames \
            java_stacks.java expected.json 20
    done
done

for engine in preload bpf; do
    it "sid: each frame of python 3.14, by $engine"
    make_language_root sid python3.14 || continue
    check_known sid $engine python python3.14 python_stacks.py expected.json 20
done
