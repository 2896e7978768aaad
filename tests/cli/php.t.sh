#!/usr/bin/env bash
# PHP's functions in stacks that the library records: each right in name, file and line, among native ones.
. "$(dirname "$0")/lib.sh"
[ "$PITOT_SANITIZED" = 0 ] || skip_all 'the library is not loaded into sanitized runs'
php=$(command -v php8.2 || command -v php) || skip_all 'php is not installed'
case $("$php" -n -r 'echo PHP_MAJOR_VERSION, PHP_MINOR_VERSION, PHP_ZTS, PHP_DEBUG, PHP_INT_SIZE;') in
74008 | 82008 | 84008) ;;
*) skip_all 'this php is not 7.4, 8.2 or 8.4 without threads' ;;
esac

language=PHP
program=("$php" -n "$PITOT_ROOT/tests/cli/php_stacks.php")
. "$(dirname "$0")/language.sh"

it "each function of PHP $("$php" -n -r 'echo PHP_VERSION;') is right in name, file and line, in each way that a stack can go"
check_stacks
expect_equal 'why the library' "$(pitot info stacks.pb.gz | grep -c 'engine: libprofiler.so.0 in the processes, as the command is PHP,')" 1

it 'each function is right in stacks that the kernel walks, too'
! needs_bpf || check_stacks --engine=bpf

it 'a PHP that runs already has its functions; names that it has freed are kept, in full up to 200 bytes'
cat >service.php <<'P'
<?php
class Ledger { function append(int $n): int { for ($i = 0; $i < $n; $i++) continue; return $i; } }
$long = 'made_' . str_repeat('x', 180);
eval("function $long(\$n) { for (\$i = 0; \$i < \$n; \$i++) continue; }");
$name = 'n' . str_repeat('y', 300);
eval("function $name(\$n) { for (\$i = 0; \$i < \$n; \$i++) continue; }");
echo getmypid(), "\n";
$ledger = new Ledger;
for (;;) {
    $ledger->append(20000);
    $long(20000);
    $name(20000);
    eval('(function () { for ($i = 0; $i < 20000; $i++) continue; })();');
}
P
! needs_bpf || check_service "$php" -n service.php -- Ledger::append "made_$(printf 'x%.0s' $(seq 180))" \
    "n$(printf 'y%.0s' $(seq 300))" '{closure}' '{main}'

it 'code in a fiber has its functions in stacks that the kernel walks, and the stacks are whole'
cat >fiber.php <<'P'
<?php
function in_fiber(int $n): void { for ($i = 0; $i < $n; $i++) continue; }
echo getmypid(), "\n";
(new Fiber(function () { for (;;) in_fiber(20000); }))->start();
P
if ! "$php" -n -r 'exit(class_exists("Fiber") ? 0 : 1);'; then
    skip 'this PHP has no fibers'
elif needs_bpf; then
    check_service "$php" -n fiber.php -- in_fiber '{closure}'
    pitot top --json -n 1 service.pb.gz >top.json 2>/dev/null
    expect python3 -c 'import json; assert json.load(open("top.json"))["profile"]["complete_share"] > 0.9'
fi

it "the interpreter's own functions count for the function that runs; --native shows them; list shows the source"
cat >app.php <<'P'
<?php
namespace App;
function spin(int $n): int
{
    for ($i = 0;
        $i < $n;
        $i++)
        continue;
    return $i;
}
function fill(): void
{
    str_repeat('x', 3000000);
}
for ($i = 0; $i < (int)(getenv('ROUNDS') ?: 100); $i++) array_map(fn($n) => spin($n * 20000), [1, 2, 3]);
for ($i = 0; $i < 3; $i++) fill();
P
printf '%s\n' "#!$php" '<?php require "app.php";' >tool
chmod +x tool
run pitot record ./tool # a script for php
expect_equal 'why the library' "$(pitot info | grep -c 'the command is PHP,')" 1
run pitot top -n 0 --csv
expect_equal 'a line about names' "$(stderr | grep 'no names')" ''
expect_equal "PHP's own functions in place of the program's" "$(pitot top -n 0 2>/dev/null | grep -c '<- str_repeat')" 0
expect_equal 'the evaluator' "$(stdout | grep -c execute_ex)" 0
expect [ "$(pitot traces -n 0 --native 2>/dev/null | grep -c execute_ex)" -ge 2 ]
expect_equal 'who calls' "$(pitot traces -n 1 2>/dev/null | sed -n 's/^ *\([Aa{][^ ]*\).*/\1/p' | paste -sd ' ')" 'App\spin App\{closure} array_map {main} {main}' # of app.php, and of the script that requires it
expect [ "$(pitot list 'App.spin' 2>/dev/null | grep -c '.i < .n;')" -ge 1 ]
expect [ "$(pitot top -n 0 --by=mapping --csv 2>/dev/null | grep -c '\[php\]')" -ge 1 ]

ROUNDS=400 run pitot record -o long.pb.gz ./tool # longer than a slow start of the interpreter
run pitot top -n 0 --csv long.pb.gz
share=$(stdout | awk -F, '$5 == "App\\spin" { sum += $2 } END { print int(100 * sum) }')
expect [ "$share" -ge 50 ]

it 'the lines of a loop that only counts are its own, not that of the assignment before it, which the frame has saved'
pitot traces -n 0 --lines --csv >lines.csv 2>/dev/null
expect [ "$(grep -c 'App.spin[^;]*app.php:[67];' lines.csv)" -ge 1 ]
expect_equal 'samples at the assignment, which takes no time' "$(grep 'App.spin[^;]*app.php:5;' lines.csv | awk -F, '$2 > 0.1' | wc -l)" 0

it 'code that opcache has compiled has its functions, though no native caller is known'
jit=("$php" -d opcache.enable_cli=1 -d opcache.jit_buffer_size=16M -d opcache.jit=function)
if "${jit[@]}" -r 'exit((int)!(opcache_get_status()["jit"]["on"] ?? false));' 2>/dev/null; then
    cat >compiled.php <<'P'
<?php
function spin(int $n): int
{
    for ($i = 0; $i < $n; $i++)
        continue;
    return $i;
}
array_map(fn($n) => spin($n * 50000000), [1, 2, 3]);
P
    run pitot record -o jit.pb.gz "${jit[@]}" compiled.php
    expect_status 0
    expect_equal 'where stacks are cut' "$(stderr | grep -c 'are cut in.*\[php\]')" 0
    run pitot top -n 0 --csv jit.pb.gz
    expect [ "$(stdout | awk -F, '$5 == "spin" { sum += $2 } END { print int(100 * sum) }')" -ge 50 ]
    expect_equal 'compiled code' "$(stdout | grep -c anon:jit)" 0
else
    skip 'this php has no opcache with a JIT'
fi

it 'profile.proto has them, whoever writes it'
CPUPROFILE=$PWD/own.pb.gz CPUPROFILE_FREQUENCY=1000 LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 run "$php" -n app.php
run pitot traces -n 0 --lines own.pb.gz
expect [ "$(stdout | grep -c 'App.spin .*/app.php:[67]')" -ge 1 ]

it 'a program says and returns what it does alone'
cat >says.php <<'P'
<?php
function deep($n) { return $n > 0 ? deep($n - 1) : array_sum(range(1, 100000)); }
$f = new Fiber(function () { foreach (range(1, 3) as $i) { deep(50); Fiber::suspend($i); } });
for ($v = $f->start(); $v !== null; $v = $f->resume()) echo $v, ' ';
try { (function () { throw new LogicException('thrown'); })(); } catch (LogicException $e) { echo $e->getLine(), "\n"; }
echo deep(5000), "\n";
exit(5);
P
check_says 5 "$php" -n says.php

it 'another program of that name, a build that is not known, and one that lies about itself do no harm'
if needs cc; then
    check_other php
    cat >fake.c <<'C'
const char build[] = BUILD;
long *executor_globals[100], zend_ce_generator;
static long memory[1000];
__attribute__((noinline)) void execute_ex(long rounds)
{
    for (volatile long n = rounds; n > 0; n--)
        memory[n * 31 % 1000] = n % 3 == 0 ? (long)&memory[n * 7 % 990] : n % 3 == 1 ? -8 : 0x7fffffff0008;
}
int main(void)
{
    executor_globals[61] = memory;
    execute_ex(60000000);
    return 4 + (build[0] != 'A');
}
C
    for build in API20220829,NTS API20230831,NTS; do
        check_refused php8.2 $build "-DBUILD=\"$build\""
    done
fi
