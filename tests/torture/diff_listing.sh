#!/usr/bin/env bash
# -list and -disasm with random other options, byte for byte against google/pprof, built from the
# copy that Go 1.23 brings along: `go tool pprof` has a disassembler of its own instead of objdump.
# The programs are linked statically, so that one mapping has all the code: with several, google/pprof
# -disasm finds nothing in some of its runs (docs/listing.md).
. "$(dirname "$0")/../cli/lib.sh"

[ -x /usr/lib/go-1.23/bin/go ] || skip_all 'golang-1.23-go is not installed'
for tool in g++ gcc objdump python3; do
    command -v $tool >/dev/null || skip_all "$tool is not installed"
done

. "$PITOT_ROOT/tests/torture/reference.bash"

make_programs() {
    cat >shapes.hh <<'C'
namespace geo {
inline double square(double x)
{
    double y = 0;
    for (int i = 0; i < 20; i++) y += x * i;
    return y;
}
template <class T> struct Bag {
    T items[1000];
    int count = 0;
    void grow(T x)
    {
        items[count++] = x;
        if (count == 1000) count = 0;
    }
    double sum() const
    {
        double s = 0;
        for (int i = 0; i < count; i++) s += square(items[i]);
        return s;
    }
};
}
C
    cat >app.cc <<'C'
#include "shapes.hh"
#include <cmath>
#include <cstdio>

static int fib(int n)
{
    if (n < 2)
        return n;
    return fib(n - 1) +
           fib(n - 2);
}

namespace {
double hidden(double x)
{
	for (int i = 0; i < 100; i++)
		x = std::sin(x) + 1;
	return x;
}
}

__attribute__((noinline)) double run(geo::Bag<double> &bag, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        bag.grow(i);
        s += bag.sum();
    }
    return s + hidden(s);
}

int main()
{
    geo::Bag<double> bag;
    double s = 0;
    for (int i = 0; i < 30; i++) {
        s += run(bag, 300) + fib(24);
        for (int k = 0; k < 1000; k++) s += hidden(k);
    }
    printf("%f\n", s);
}
C
    g++ -g -O2 -static -o app2 app.cc && g++ -g -O0 -static -o app0 app.cc || return 1
    for program in app0 app2; do
        python3 "$PITOT_ROOT/tests/torture/diff_listing.py" profile $program $program.prof "$seed" &&
            pitot convert --symbols=full $program.prof -o $program.pb.gz || return 1
    done
    g++ -g -O2 -o app app.cc && pitot record -o app.rec.pb.gz -- ./app >said 2>&1 &&
        pitot convert --symbols=full app.rec.pb.gz -o rec-app.pb.gz || return 1
    LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 CPUPROFILE=app.prof CPUPROFILE_FREQUENCY=1000 ./app >said &&
        pitot convert --symbols=full app.prof -o rec-lib.pb.gz || return 1
    # -tools: GNU's objdump, where LLVM's would be preferred. The reference needs an nm beside it.
    mkdir -p gnu && ln -sf "$(command -v objdump)" "$(command -v nm)" gnu/
}

seed=${PITOT_SEED:-1}
pairs=${DIFF_LISTING_PAIRS:-500}
[ "$PITOT_SANITIZED" = 0 ] || pairs=$((pairs / 10))

it 'google/pprof and the programs are built'
expect build_reference
expect make_programs

it "-list and -disasm have google/pprof's bytes: $pairs pairs, seed $seed"
export PITOT
run python3 "$PITOT_ROOT/tests/torture/diff_listing.py" compare ./google-pprof "$seed" "$pairs" \
    app0.pb.gz app2.pb.gz rec-app.pb.gz rec-lib.pb.gz
[ "$status" = 0 ] || fail "$(stdout | tail -60)$(stderr)"
echo "# $(stdout | tail -1)"
