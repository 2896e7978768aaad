#!/usr/bin/env bash
# Ruby's methods and blocks in stacks that the library records: each right in name, file and line, among native ones.
. "$(dirname "$0")/lib.sh"
[ "$PITOT_SANITIZED" = 0 ] || skip_all 'the library is not loaded into sanitized runs'
tests=$PITOT_ROOT/tests/cli
ruby=$(command -v ruby3.1 || command -v ruby) || skip_all 'ruby is not installed'
[ "$("$ruby" --disable=gems -e 'print RUBY_ENGINE, RUBY_VERSION[/^\d+\.\d+/]')" = ruby3.1 ] || skip_all 'this ruby is not 3.1'

it "each method and block of Ruby $("$ruby" --disable=gems -e 'print RUBY_VERSION') is right in name, file and line, in each way that a stack can go"
run pitot record -F 2000 -o stacks.pb.gz "$ruby" --disable=gems "$tests/ruby_stacks.rb" expected.json 4
expect_status 0
expect_equal 'what is said of joining' "$(stderr | grep -c 'Ruby functions in [0-9.]* %, \(100\|99[.0-9]*\) % of these joined for certain')" 1
pitot traces -n 0 --lines --json stacks.pb.gz >traces.json 2>/dev/null
run python3 "$tests/ruby_stacks_check.py" expected.json traces.json
expect_status 0
read -r _ stacks _ frames _ wrong _ places _ all < <(stdout)
expect_equal 'wrong stacks' "$wrong" 0
expect [ "$frames" -ge 100 ]
expect [ "$((places * 2))" -ge "$all" ] # where ticks are few, some places meet none
expect_equal 'why the library' "$(pitot info stacks.pb.gz | grep -c 'engine: libprofiler.so.0 in the processes, as the command is Ruby 3.1,')" 1

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
"$ruby" --disable=gems says.rb >alone 2>&1
expect_equal 'its status alone' $? 5
for _ in 1 2 3; do
    pitot record -F 10000 -o says.pb.gz "$ruby" --disable=gems says.rb >recorded 2>said
    expect_equal 'its status' $? 5
    expect_equal 'what it says' "$(cat recorded)" "$(cat alone)"
done

it 'another program of that name, a version that is not known, and one that lies about itself do no harm'
if needs cc; then
    cp "$(command -v sh)" ruby3.1
    run pitot record -o other.pb.gz ./ruby3.1 -c true
    expect_equal 'the library for it' "$(pitot info other.pb.gz | grep -c 'the command is Ruby')" 0
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
        cc -O1 -rdynamic -DVERSION="\"$version\"" -o ruby fake.c
        run pitot record --engine=preload -F 2000 -o fake.pb.gz ./ruby
        expect_status 4
        expect_equal "functions of $version" "$(stderr | grep -c 'Ruby functions')" 0
        expect_equal "what is said of $version" "$(stderr | grep -c 'names of its functions will be missing')" 1
    done
fi
