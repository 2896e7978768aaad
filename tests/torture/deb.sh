#!/usr/bin/env bash
# The packages of `make deb`: two builds in two folders give the same bytes, lintian finds no fault, and pitot
# runs from where they are unpacked.
. "$(dirname "$0")/../cli/lib.sh"

[ "$PITOT_SANITIZED" = 0 ] || skip_all 'a package is not sanitized'
for tool in dpkg-buildpackage dh lintian; do
    command -v $tool >/dev/null || skip_all "$tool is not installed (make deb)"
done

it 'two builds in two folders give the same bytes'
git clone -q "$PITOT_ROOT" one
git clone -q one another/place
for copy in one another/place; do
    (cd "$copy" && tools/make-deb) >built 2>&1 || fail "$(tail -n 20 built)"
done
expect_equal packages "$(cd one/dist && echo *.deb | sed 's/_[^ ]*//g')" \
    'libprofiler-dev libprofiler0-dbgsym libprofiler0 pitot-dbgsym pitot'
for package in one/dist/*.deb; do
    expect_same "$package" "another/place/dist/${package##*/}"
done

it 'lintian finds no fault'
run lintian --fail-on=error,warning one/dist/*.deb
expect_status 0
expect_no_stdout

it 'installs completions where the shells of Debian look'
dpkg-deb -c one/dist/pitot_*.deb | awk '/completion/ && !/\/$/ { print $6 }' | sort >completions
expect_equal completions "$(cat completions)" './usr/share/bash-completion/completions/pitot
./usr/share/fish/vendor_completions.d/pitot.fish
./usr/share/zsh/vendor-completions/_pitot'

it 'records and reports from where the packages are unpacked'
dpkg-deb -x one/dist/pitot_*.deb root
run root/usr/bin/pitot record --engine=preload -o sum.pb.gz sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
expect_status 0
run root/usr/bin/pitot top -n 1 sum.pb.gz
expect_status 0
expect_stdout_line 'sum.pb.gz: cpu, *'
