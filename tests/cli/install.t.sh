#!/usr/bin/env bash
# What `make install` puts where.
. "$(dirname "$0")/lib.sh"

[ "$PITOT_SANITIZED" = 0 ] || skip_all 'a sanitized build is not installed'

run env DESTDIR="$PWD/root" meson install -C "$PITOT_BUILD" --no-rebuild
prefix=$(find root -path '*/include/gperftools' -type d)
prefix=$PWD/${prefix%/include/gperftools}
libdir=$(dirname "$(find "$prefix" -name libprofiler.so.0 | head -n 1)")
export PKG_CONFIG_PATH=$libdir/pkgconfig

cat >prog.c <<'END'
#include <gperftools/profiler.h>
int main(int argc, char **argv)
{
    return argc > 1 ? ProfilerStart(argv[1]) : ProfilingIsEnabledForAllThreads();
}
END

it 'installs the library, its link for -lprofiler, the archive and both headers'
for file in libprofiler.so.0 libprofiler.so libprofiler.a pkgconfig/libprofiler.pc; do
    expect [ -e "$libdir/$file" ]
done
for file in gperftools/profiler.h google/profiler.h; do
    expect [ -f "$prefix/include/$file" ]
done

it 'pkg-config and -lprofiler link a program with what was installed'
if needs pkg-config; then
    flags=$(pkg-config --define-variable=prefix="$prefix" --cflags --libs libprofiler)
    # shellcheck disable=SC2086
    run gcc -o prog prog.c $flags
    expect_status 0
    expect_no_stderr
    run env LD_LIBRARY_PATH="$libdir" ./prog
    expect_status 0
fi

it 'libprofiler.a links a program that needs no library of ours to run'
run gcc -o prog prog.c -I"$prefix/include" "$libdir/libprofiler.a" -pthread
expect_status 0
expect_no_stderr
run ./prog
expect_status 0
expect [ -z "$(readelf -dW prog | grep libprofiler)" ]

it 'installs the program, which starts where it was put'
run "$prefix/bin/pitot" version
expect_status 0
expect_stdout_line 'pitot *'

it 'installs a man page for the program and for each command'
expect [ -s "$prefix/share/man/man1/pitot.1" ]
for command in $(sed -n 's/^X(\(.*\))$/\1/p' "$PITOT_ROOT"/src/cmd/commands.def "$PITOT_ROOT"/src/personality/*/commands.def); do
    expect grep -q "^\\.TH" "$prefix/share/man/man1/pitot-${command//_/-}.1"
done

it 'installs completions for bash, zsh and fish'
expect bash -n "$prefix/share/bash-completion/completions/pitot"
expect grep -q '^#compdef pitot' "$prefix/share/zsh/site-functions/_pitot"
expect [ -s "$prefix/share/fish/vendor_completions.d/pitot.fish" ]

it 'a link called like another tool, beside the program, is that tool; the option links installs all of them'
tools=$(sed -n '/foreach tool/,/endforeach/p' "$PITOT_ROOT/meson.build" | grep -o "'[a-z-]*'" | tr -d "'" |
    grep -vx -e links -e pitot -e bindir)
expect_equal 'tools with a link' "$(printf '%s\n' $tools | sort | tr '\n' ' ')" \
    "$(sed -n 's/^X(\(.*\))$/\1/p' "$PITOT_ROOT"/src/personality/*/commands.def | grep -e '^dcpi' -e prof$ | tr _ - | sort | tr '\n' ' ')"
for tool in $tools; do
    ln -sf pitot "$prefix/bin/$tool"
    run "$prefix/bin/$tool" --help
    expect_status 0
    first=$(stdout | head -n 2 | tr '\n' ' ')
    case $first in
        "pitot $tool "* | "usage: "*" $tool "* | "usage: $tool "*) ;;
        *) fail "$tool --help begins '$first'" ;;
    esac
done
