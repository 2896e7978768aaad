#!/usr/bin/env bash
# 100,000 random addresses each of programs by gcc, clang, Go and Rust, with LTO, split units, what
# dwz shared, and symbols in .gnu_debugdata: the answers of pitot symbolize are those of
# llvm-symbolizer and eu-addr2line in 99.9 % at least. docs/symbols.md explains the rest by class.
. "$(dirname "$0")/../cli/lib.sh"

export PITOT
command -v g++ >/dev/null || skip_all 'g++ is not installed'
seed=${PITOT_SEED:-1}

# many.cc: the program of the small test with forty types instead of three.
sed -e 's/work::run<3>(argc)/all(argc)/' -e '/^int main/,$d' "$PITOT_ROOT/tests/cli/symbols_agree.cc" >many.cc
{
    printf 'static long all(int n)\n{\n    long sum = 0;\n'
    for i in $(seq 40); do printf '    sum += work::run<%d>(n);\n' "$i"; done
    printf '    return sum;\n}\n\nint main(int argc, char **)\n{\n    return (int)all(argc);\n}\n'
} >>many.cc

agree() {
    run python3 "$PITOT_ROOT/tests/torture/symbols_agree.py" --seed "$seed" "$@"
    printf '# %s\n' "$(stdout | tail -1)"
    [ "$status" = 0 ] || fail "$(stdout)$(stderr)"
}
# Chains of eu-addr2line take it a tenth of a second each: a few hundred.
both() {
    agree llvm "$@"
    if needs eu-addr2line; then
        agree eu "$@"
        agree --count 500 --least 99 eu-chains "$@"
    fi
}
build() { expect "$@"; }

it 'gcc -O2'
if needs llvm-symbolizer-14; then
    build g++ -g -O2 many.cc -o gcc-O2
    both gcc-O2
fi

it 'gcc -O2 -flto'
if needs llvm-symbolizer-14; then
    build g++ -g -O2 -flto=2 many.cc -o gcc-lto
    both gcc-lto
fi

it 'gcc, split units'
if needs llvm-symbolizer-14; then
    build g++ -g -O2 -gsplit-dwarf many.cc -o gcc-split
    both gcc-split
fi

it 'clang -O2, DWARF 5'
if needs clang++-14 llvm-symbolizer-14; then
    build clang++-14 -std=c++17 -gdwarf-5 -O2 many.cc -o clang-O2
    both clang-O2
fi

it 'clang, a package of split units, DWARF 4'
if needs clang++-14 llvm-dwp-14 llvm-symbolizer-14; then
    build clang++-14 -std=c++17 -gdwarf-4 -gsplit-dwarf -O2 -c many.cc -o split.o
    build clang++-14 split.o -o clang-split
    build llvm-dwp-14 split.dwo -o clang-split.dwp
    both clang-split
fi

# 5,000 addresses for each version of DWARF. Only strict DWARF 2 differs much from the others that are not
# strict. llvm-symbolizer reads split units of 4 and 5.
it 'gcc and clang, DWARF 2 to 5, strict and split'
cp "$PITOT_ROOT/tests/cli/symbols_agree.cc" few.cc
if needs clang++-14 llvm-symbolizer-14; then
    for compiler in g++ clang++-14; do
        for how in 2 3 4 5 '2 -gstrict-dwarf' '4 -gsplit-dwarf' '5 -gsplit-dwarf'; do
            file="$compiler-${how// /}"
            build "$compiler" -std=c++17 -gdwarf-$how -O2 -c few.cc -o "$file.o"
            build "$compiler" "$file.o" -o "$file"
            agree --count 5000 llvm "$file"
        done
    done
fi

it 'Go'
command -v go >/dev/null || PATH=$PATH:/usr/lib/go-1.23/bin
if needs go llvm-symbolizer-14; then
    export GO111MODULE=off GOTOOLCHAIN=local GOFLAGS= GOCACHE=$PWD/go-cache
    printf 'package main\n\nimport "net/http"\n\nfunc main() { http.ListenAndServe("127.0.0.1:0", nil) }\n' >main.go
    build go build -o go-program main.go
    both go-program
fi

it 'Rust'
# rustup keeps its toolchains in the home folder, which tests do not have.
RUSTUP_HOME=${RUSTUP_HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)/.rustup}
export RUSTUP_HOME
if needs rustc llvm-symbolizer-14; then
    cat >main.rs <<'END'
use std::collections::{BTreeMap, HashMap};
fn main() {
    let n = std::env::args().count();
    let mut sorted: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut hashed: HashMap<usize, String> = HashMap::new();
    for i in 0..n * 100 {
        sorted.entry(format!("{}", i % 7)).or_default().push(i);
        hashed.insert(i, format!("{:?}", i));
    }
    let mut all: Vec<_> = hashed.into_iter().collect();
    all.sort_by(|a, b| a.1.cmp(&b.1));
    println!("{} {}", sorted.len(), all.len());
}
END
    build rustc -g -O main.rs -o rust-program
    both rust-program
fi

# A library of Debian, whose debug information dwz has shared out over several files.
it 'libbinutils and libbinutils-dbg of Debian'
apt-get download libbinutils libbinutils-dbg >/dev/null 2>&1
if needs dpkg-deb llvm-symbolizer-14; then
    if ! compgen -G '*.deb' >/dev/null; then
        skip 'libbinutils-dbg cannot be fetched'
    else
        for file in *.deb; do dpkg-deb -x "$file" root; done
        for file in root/usr/lib/*/libbfd-*.so; do both --debug-path "$PWD/root/usr/lib/debug" "$file"; done
    fi
fi

it 'a stripped program with .gnu_debugdata'
if needs xz llvm-symbolizer-14 && "$PITOT" version --features | grep -q liblzma; then
    build strip -g -o symbols gcc-O2
    build objcopy --only-keep-debug symbols mini
    build xz -kf mini
    build strip -o stripped gcc-O2
    build objcopy --add-section .gnu_debugdata=mini.xz stripped
    agree llvm --instead symbols stripped
fi
