#!/usr/bin/env bash
# Ruby's methods and blocks in stacks that the library records: each right in name, file and line, among native ones.
. "$(dirname "$0")/lib.sh"
[ "$PITOT_SANITIZED" = 0 ] || skip_all 'the library is not loaded into sanitized runs'
ruby=$(command -v ruby3.1 || command -v ruby) || skip_all 'ruby is not installed'
[ "$("$ruby" --disable=gems -e 'print RUBY_ENGINE, RUBY_VERSION[/^\d+\.\d+/]')" = ruby3.1 ] || skip_all 'this ruby is not 3.1'

language=Ruby
program=("$ruby" --disable=gems "$PITOT_ROOT/tests/cli/ruby_stacks.rb")
. "$(dirname "$0")/language.sh"

it "each method and block of Ruby $("$ruby" --disable=gems -e 'print RUBY_VERSION') is right in name, file and line, in each way that a stack can go"
check_stacks
expect_equal 'why the library' "$(pitot info stacks.pb.gz | grep -c 'engine: libprofiler.so.0 in the processes, as the command is Ruby 3.1,')" 1

it 'each method and block is right in stacks that the kernel walks, too'
! needs_bpf || check_stacks --engine=bpf

it 'a Ruby that runs already has its methods; names that it has freed are kept'
cat >service.rb <<'R'
class Ledger
  def append(n) = (i = 0; i += 1 while i < n)
  def self.make(n) = (i = 0; i += 1 while i < n)
  define_method('made_' + 'x' * 180) { |n| i = 0; i += 1 while i < n }
end
module Long; end
Long.const_set('L' + 'y' * 300, Class.new { def append(n) = (i = 0; i += 1 while i < n) })
puts $$
$stdout.flush
ledger, long = Ledger.new, Long.const_get('L' + 'y' * 300).new
loop do
  ledger.append(2000)
  Ledger.make(2000)
  long.append(2000)
  eval("def gone(n) = (i = 0; i += 1 while i < n)\ngone(2000)", binding, 'f' * 700)
end
R
if needs_bpf; then
    check_service "$ruby" --disable=gems service.rb -- 'Ledger#append' Ledger.make "Long::L$(printf 'y%.0s' $(seq 300))#append" \
        'Object#gone' 'block in <main>' '<main>'
    expect_equal 'bytes of a path' "$(pitot top -n 0 --json service.pb.gz 2>/dev/null | grep -o '"f*"' | awk 'length > 100 { print length - 2; exit }')" 700
fi

it "methods have their classes; the interpreter's own functions count for the method that runs; --native shows them; list shows the source"
cat >app.rb <<'R'
module App
  class Ledger
    def append(n)
      i = 0
      i += 1 while
        i < n
      i
    end

    def self.make(n) = new.append(n)
    define_method(:other) { |n| append(n) }
  end

  def self.each(list)
    list.each { |x| yield x }
  end
end
App.each([1, 2, 3]) { |x| App::Ledger.make(x * 5_000_000) }
App::Ledger.new.other(5_000_000)
R
printf '%s\n' "#!$ruby" 'load "app.rb"' >tool
chmod +x tool
run pitot record ./tool # a script for ruby
expect_equal 'why the library' "$(pitot info | grep -c 'the command is Ruby 3.1,')" 1
run pitot top -n 0 --csv
expect_equal 'a line about names' "$(stderr | grep 'no names')" ''
share=$(stdout | awk -F, '$5 == "App::Ledger#append" { sum += $2 } END { print int(100 * sum) }')
expect [ "$share" -ge 50 ]
expect_equal 'the evaluator' "$(stdout | grep -c rb_vm_exec)" 0
expect [ "$(pitot traces -n 0 --native 2>/dev/null | grep -c rb_vm_exec)" -ge 2 ]
pitot traces -n 0 --json 2>/dev/null | python3 -c '
import json, sys
stacks = [[f["name"] for f in t["frames"]] for t in json.load(sys.stdin)["traces"]]
print(*next(s for s in stacks if "App::Ledger.make" in s)[:7], sep=",")' >callers
expect_equal 'who calls' "$(cat callers)" 'App::Ledger#append,App::Ledger.make,block in <top (required)>,block in App.each,App.each,<top (required)>,<main>'
expect [ "$(pitot list 'App::Ledger#append' 2>/dev/null | grep -c 'i < n')" -ge 1 ]
expect [ "$(pitot top -n 0 --by=mapping --csv 2>/dev/null | grep -c '\[ruby\]')" -ge 1 ]
expect_equal 'functions of installed files as callers' "$(pitot top -n 0 2>/dev/null | grep -c '<- .*<internal:')" 0

it 'profile.proto has them, whoever writes it'
CPUPROFILE=$PWD/own.pb.gz CPUPROFILE_FREQUENCY=1000 LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 run "$ruby" --disable=gems app.rb
run pitot traces -n 0 --lines own.pb.gz
expect [ "$(stdout | grep -c 'App::Ledger#append .*app.rb:[56]')" -ge 1 ]

it 'a program says and returns what it does alone'
cat >says.rb <<'R'
def deep(n) = n > 0 ? deep(n - 1) : (1..100_000).sum { |x| x }
fiber = Fiber.new { 3.times { |i| deep(50); Fiber.yield i } }
3.times { print fiber.resume, ' ' }
begin
  raise 'thrown'
rescue StandardError => e
  puts e.backtrace_locations[0].lineno
end
GC.start
puts Thread.new { deep(5000) }.value
begin
  (f = ->(n) { f[n + 1] })[0]
rescue SystemStackError
  puts 'deep'
end
puts Process.wait2(fork { deep(10); exit!(3) })[1].exitstatus
exit 5
R
check_says 5 "$ruby" --disable=gems says.rb

it 'another program of that name, a version that is not known, and one that lies about itself do no harm'
if needs cc; then
    check_other ruby3.1
    cat >fake.c <<'C'
const char ruby_version[] = VERSION;
__thread long *ruby_current_ec;
long *rb_cObject, *rb_cString;
static long memory[1000];
__attribute__((noinline)) void rb_vm_exec(long rounds)
{
    for (volatile long n = rounds; n > 0; n--)
        memory[n * 31 % 1000] = n % 3 == 0 ? (long)&memory[n * 7 % 990] : n % 3 == 1 ? -8 : 0x7fffffff0008;
}
int main(void)
{
    ruby_current_ec = rb_cObject = rb_cString = memory;
    rb_vm_exec(60000000);
    return 4 + (ruby_version[0] != '3');
}
C
    for version in 3.1.2 3.9.0; do
        check_refused ruby $version "-DVERSION=\"$version\""
    done
fi
