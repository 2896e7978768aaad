#!/usr/bin/env bash
# Perl's subs in stacks that the library records: each right in name, file and line, among native ones.
. "$(dirname "$0")/lib.sh"
[ "$PITOT_SANITIZED" = 0 ] || skip_all 'the library is not loaded into sanitized runs'
perl=$(command -v perl) || skip_all 'perl is not installed'
version=$("$perl" -MConfig -e 'print "5.$Config{PERL_VERSION} $Config{useithreads} $Config{ptrsize}"')
case $version in
'5.32 define 8' | '5.36 define 8' | '5.40 define 8') version=${version%% *} ;;
*) skip_all 'this perl is not 5.32, 5.36 or 5.40 with threads' ;;
esac
language=Perl
program=("$perl" "$PITOT_ROOT/tests/cli/perl_stacks.pl")
. "$(dirname "$0")/language.sh"

it "each sub of Perl $("$perl" -e 'printf "%vd", $^V') is right in name, file and line, in each way that a stack can go"
check_stacks
expect_equal 'why the library' "$(pitot info stacks.pb.gz | grep -c "engine: libprofiler.so.0 in the processes, as the command is Perl $version,")" 1

it 'each sub is right in stacks that the kernel walks, too'
! needs_bpf || check_stacks --engine=bpf

it 'a Perl that runs already has its subs; names that it has freed are kept'
cat >service.pl <<'P'
$| = 1;
package Ledger { sub append { my $n = shift; my $sum = 0; $sum += $_ for 1 .. $n; return $sum } }
my $long = 'made_' . 'x' x 180;
eval "sub $long { my \$sum = 0; \$sum += \$_ for 1 .. 2000; \$sum }";
eval "\n#line 1 \"" . 'f' x 700 . "\"\nsub far { my \$sum = 0; \$sum += \$_ for 1 .. 2000; \$sum }";
print "$$\n";
for (;;) {
    Ledger::append(2000);
    &$long();
    far();
    eval 'sub { my $sum = 0; $sum += $_ for 1 .. 2000; $sum }->()';
}
P
if needs_bpf; then
    check_service "$perl" service.pl -- Ledger::append main::far "main::made_$(printf 'x%.0s' $(seq 180))" main::__ANON__ '{main}'
    expect_equal 'bytes of a path that the kernel cuts' "$(pitot top -n 0 --json service.pb.gz 2>/dev/null | grep -o '"f*"' | awk 'length > 100 { print length - 2; exit }')" 700
fi

it "the interpreter's own functions count for the sub that runs; --native shows them; list shows the source"
cat >Ledger.pm <<'P'
package Ledger;
sub new { bless {}, shift }
sub append {
    my ($self, $n) = @_;
    my $sum = 0;
    $sum += $_
        for 1 .. $n;
    return $sum;
}
1;
P
cat >app.pl <<'P'
use lib '.';
use Ledger;
sub each_of { my ($code, @list) = @_; $code->($_) for @list }
each_of(sub { Ledger->new->append($_[0] * 1_000_000) }, 1, 2, 3);
P
printf '%s\n' "#!$perl" 'do "./app.pl";' >tool
chmod +x tool
run pitot record ./tool # a script for perl
expect_equal 'why the library' "$(pitot info | grep -c "the command is Perl $version,")" 1
expect_equal 'what is said of joining' "$(stderr | grep -c 'Perl functions in [0-9.]* %, \(100\|99[.0-9]*\) % of these joined for certain')" 1
run pitot top -n 0 --csv
expect_equal 'a line about names' "$(stderr | grep 'no names')" ''
share=$(stdout | awk -F, '$5 == "Ledger::append" { sum += $2 } END { print int(100 * sum) }')
expect [ "$share" -ge 50 ]
expect_equal 'the evaluator' "$(stdout | grep -c runops)" 0
expect [ "$(pitot traces -n 0 --native 2>/dev/null | grep -c runops_standard)" -ge 2 ]
pitot traces -n 0 --json 2>/dev/null | python3 -c '
import json, sys
stacks = [[f["name"] for f in t["frames"]] for t in json.load(sys.stdin)["traces"]]
print(*next(s for s in stacks if "Ledger::append" in s)[:5], sep=",")' >callers
expect_equal 'who calls' "$(cat callers)" 'Ledger::append,main::__ANON__,main::each_of,(eval),{main}'
expect [ "$(pitot list 'Ledger::append' 2>/dev/null | grep -c 'for 1 .. .n')" -ge 1 ]
expect [ "$(pitot top -n 0 --by=mapping --csv 2>/dev/null | grep -c '\[perl\]')" -ge 1 ]

it 'profile.proto has them, whoever writes it'
CPUPROFILE=$PWD/own.pb.gz CPUPROFILE_FREQUENCY=1000 LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 run "$perl" app.pl
run pitot traces -n 0 --lines own.pb.gz
expect [ "$(stdout | grep -c 'Ledger::append .*Ledger.pm:[67]')" -ge 1 ]

it 'a program says and returns what it does alone'
cat >says.pl <<'P'
use strict; use warnings; no warnings 'recursion';
use threads;
sub deep { my $n = shift; $n > 0 ? deep($n - 1) : do { my $s = 0; $s += $_ for 1 .. 300_000; $s } }
eval { deep(10); die { code => 3 } };
print $@->{code}, "\n";
print threads->create(sub { deep(2000) })->join, "\n";
local $SIG{ALRM} = sub { print "alarm\n" };
kill ALRM => $$;
my $pid = fork // die;
if (!$pid) { deep(5); exit 4 }
waitpid $pid, 0;
print $? >> 8, "\n", join(',', sort { $b <=> $a } 1 .. 5), "\n", qx(echo out);
exit 5;
P
if "$perl" -Mthreads -e 1 2>/dev/null; then
    check_says 5 "$perl" says.pl
else
    skip 'this perl has no threads.pm'
fi

it 'another program of that name, a version that is not known, and one that lies about itself do no harm'
if needs cc; then
    check_other perl
    cat >fake.c <<'C'
#include <pthread.h>
const char PL_version = VERSION;
pthread_key_t PL_thr_key;
static long memory[1000];
__attribute__((noinline)) void Perl_runops_standard(long rounds)
{
    for (volatile long n = rounds; n > 0; n--)
        memory[n * 31 % 1000] = n % 3 == 0 ? (long)&memory[n * 7 % 990] : n % 3 == 1 ? -8 : 0x7fffffff0008;
}
int main(void)
{
    pthread_key_create(&PL_thr_key, NULL);
    pthread_setspecific(PL_thr_key, memory);
    Perl_runops_standard(60000000);
    return 4;
}
C
    for version in 36 90; do
        check_refused perl5 $version -DVERSION=$version -lpthread
    done
fi
