#!/usr/bin/env bash
# The tarball of `make dist`: two builds in two places give the same bytes, and it runs in minimal systems
# of Debian 10 to 13 and in a root that has musl alone, from unpacked to the first table in 10 seconds.
#
# Suites that the mirror does not have (buster, as a rule) are skipped. Needs root; for PITOT_ROOTS see roots.bash.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'chroot needs root'
[ "$PITOT_SANITIZED" = 0 ] || skip_all 'a release is not sanitized'
for package in libbpf-dev libmd-dev; do
    dpkg-query -W "$package" >/dev/null 2>&1 || skip_all "$package is not installed (make dist)"
done
. "$(dirname "$0")/roots.bash"

it 'two builds in two folders give the same bytes'
git clone -q "$PITOT_ROOT" one
git clone -q one another/place
for copy in one another/place; do
    (cd "$copy" && tools/make-dist) >built 2>&1 || fail "$(tail -n 20 built)"
done
expect_same one/dist/*.tar.gz another/place/dist/*.tar.gz
tarball=$(echo "$PWD"/one/dist/pitot-*.tar.gz)

it 'it is one static file, and no more than 8 MB'
expect [ "$(stat -c %s "$tarball")" -le 8000000 ]
tar xzf "$tarball"
expect_equal 'libraries that it needs' "$(readelf -dW pitot-*/bin/pitot | grep -c NEEDED)" 0

for suite in buster bullseye bookworm trixie; do
    it "$suite: from unpacked to the first table in 10 seconds, by perf events and by the library"
    make_root $suite || continue
    rm -rf "$roots/$suite/opt/pitot"*
    start=$SECONDS
    tar xzf "$tarball" -C "$roots/$suite/opt"
    mv "$roots/$suite/opt"/pitot-* "$roots/$suite/opt/pitot"
    in_root "$roots/$suite" 'cd /tmp; /opt/pitot/bin/pitot record -o one.pb.gz perl -e "for (1..3e6) { \$x += \$_ * 2 }" &&
        /opt/pitot/bin/pitot top -n 3 one.pb.gz'
    expect_status 0
    expect_stdout_line 'one.pb.gz: cpu, *'
    expect [ $((SECONDS - start)) -le 10 ]
    # One thread, and a program with several.
    in_root "$roots/$suite" 'cd /tmp; record="/opt/pitot/bin/pitot record --engine=preload"
        $record -o two.pb.gz perl -e "for (1..3e6) { \$x += \$_ * 2 }" &&
        seq 300000 >numbers && $record -o three.pb.gz sort --parallel=2 -R -S 1M numbers >/dev/null &&
        /opt/pitot/bin/pitot top -n 3 two.pb.gz three.pb.gz'
    expect_status 0
    expect_stdout_line '2 profiles: cpu, *'
done

it 'a root that has musl alone'
if needs musl-gcc; then
    cat >burn.c <<'BURN'
#include <pthread.h>
#include <time.h>
static void *burn(void *arg)
{
    volatile unsigned x = 1;
    struct timespec t;
    do {
        for (int i = 0; i < 20000; i++) x = x * 3 + 1;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 200000000);
    return arg;
}
int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, burn, NULL) != 0) return 1;
    burn(NULL);
    pthread_join(thread, NULL);
    return 0;
}
BURN
    mkdir -p musl/lib musl/bin musl/tmp musl/opt
    musl-gcc -g -O1 -fno-omit-frame-pointer burn.c -o musl/bin/burn
    cp -L /lib/ld-musl-*.so.1 musl/lib
    cp -r pitot-* musl/opt/pitot
    for engine in perf preload; do
        run timeout 60 unshare -m sh -c 'mount --make-rprivate / && mkdir -p musl/proc &&
            mount -t proc proc musl/proc && chroot musl /opt/pitot/bin/pitot record "$@" /bin/burn &&
            exec chroot musl /opt/pitot/bin/pitot top -n 1 /tmp/a.pb.gz' sh \
            --engine=$engine -o /tmp/a.pb.gz
        expect_status 0
        expect_stderr_line '* CPU seconds seen,*'
        expect_stdout_line '* burn  burn.c:*'
    done
fi
