# ruby_stacks.rb EXPECTED ROUNDS: spends CPU time at places whose stacks it writes to the file EXPECTED, a JSON object:
# the name of the innermost method, which no other place has, to the list of [label, path, line] of its callers,
# innermost first, as caller_locations has them, methods that are written in C among them. Stacks go through Ruby and C
# in each way that a stack can.
require 'json'

HOLD_NS = 8_000_000
EXPECTED = {}

def clock() Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) end

# Spends time in a method of its own, in a loop of one line.
def hold
  name = "at_#{EXPECTED.size}"
  Object.class_eval("def #{name}(ends)\n\n  (i = 0; (i += 1) while i < 2000) while clock < ends\nend", 'held.rb')
  callers = caller_locations(0).map { |l| [l.label, l.path, l.lineno] }
  EXPECTED[name] = callers
  callers[0][2] = __LINE__ + 1
  __send__(name, clock + HOLD_NS)
end

class Base
  def inherited_by(go) go.call end

  def initialize(go = nil)
    @go = go
  end
end

module Mixed
  def mixed(go)
    go.call
  end

  def self.of_module(go)
    go
      .call
  end
end

class Ways < Base
  include Mixed
  include Comparable
  attr_reader :kept

  def self.of_class(go) new.method_of(go) end

  def method_of(go)
    passes(
      go, 1)
  end

  def inherited_by(go)
    super
  end

  define_method(:defined) { |go| go.call }
  alias renamed method_of

  def method_missing(name, *arguments) name == :anything ? arguments[0].call : super end

  def respond_to_missing?(*) true end

  def <=>(other)
    @go.call
    0
  end

  def to_s
    @go.call
    ''
  end

  def hash
    @go.call
    1
  end

  def eql?(other) true end

  def coerce(other)
    @go.call
    [1, 2]
  end

  def ===(other)
    @go.call
    true
  end

  def each
    yield 1
    yield 2
  end

  def yields
    yield
  ensure
    @kept = 1
  end

  class << self
    def in_singleton(go) go.() end
  end

  private

  def passes(go, n)
    go.call if n > 0
  end
end

module Refined
  refine String do
    def refined(go) go.call end
  end
end
using Refined

Point = Struct.new(:x) do
  def go_on(go) go.call end
end

class Hooked
  def self.inherited(child)
    $hook.call
  end
end

def recurses(go, depth)
  return recurses(go, depth - 1) if depth > 0

  go.call
end

def keywords(a, b = 2, *c, d: 4, **e, &f) f.call end

loaded = "#{Dir.pwd}/loaded.rb"
File.write(loaded, "\n\n$go.call\n")

WAYS = {
  call: ->(go) { go.call },
  method: ->(go) { Ways.new.method_of(go) },
  class_method: ->(go) { Ways.of_class(go) },
  singleton: ->(go) { Ways.in_singleton(go) },
  module_method: ->(go) { Mixed.of_module(go) },
  mixed: ->(go) { Ways.new.mixed(go) },
  super: ->(go) { Ways.new.inherited_by(go) },
  defined: ->(go) { Ways.new.defined(go) },
  alias: ->(go) { Ways.new.renamed(go) },
  missing: ->(go) { Ways.new.anything(go) },
  send: ->(go) { Ways.new.send(:passes, go, 1) },
  public_send: ->(go) { Ways.new.public_send(:mixed, go) },
  method_object: ->(go) { Ways.new.method(:mixed).call(go) },
  unbound: ->(go) { Ways.instance_method(:mixed).bind_call(Ways.new, go) },
  to_proc: ->(go) { [go].each(&:call) },
  curry: ->(go) { ->(a, b) { a.call }.curry[go][1] },
  compose: ->(go) { (->(x) { x } >> ->(x) { go.call }).call(1) },
  yield: ->(go) { Ways.new.yields { go.call } },
  each: ->(go) { [1].each { go.call } },
  times: ->(go) { 1.times { |i| go.call } },
  map: ->(go) { [1].each_with_index.map { |x, i| go.call } },
  inject: ->(go) { [1, 2].inject { |a, b| go.call; a } },
  sort_by: ->(go) { [1].sort_by { |x| go.call; x } },
  sort: ->(go) { [1, 2].sort { |a, b| go.call; a <=> b } },
  hash_each: ->(go) { { a: 1 }.each { |k, v| go.call } },
  default: ->(go) { Hash.new { |h, k| go.call }[1] },
  gsub: ->(go) { 'abc'.gsub(/b/) { go.call; '' } },
  compare: ->(go) { Ways.new(go) < Ways.new(go) },
  string: ->(go) { "a#{Ways.new(go)}" },
  key: ->(go) { { Ways.new(go) => 1 } },
  coerce: ->(go) { 1 + Ways.new(go) },
  case: ->(go) { case 1 when Ways.new(go) then 1 end },
  tap: ->(go) { 1.tap { go.call } },
  then: ->(go) { 1.then { go.call } },
  loop: ->(go) { loop { go.call; break } },
  instance_eval: ->(go) { Ways.new.instance_eval { go.call } },
  instance_exec: ->(go) { Ways.new.instance_exec(go) { |g| g.call } },
  class_eval: ->(go) { Ways.class_eval { go.call } },
  eval: ->(go) { eval("\n\ngo.call") },
  eval_named: ->(go) { eval("\ngo.call", binding, 'named.rb', 7) },
  load: ->(go) { $go = go; load loaded },
  rescue: ->(go) { begin; raise 'x'; rescue StandardError; go.call; end },
  ensure: ->(go) { begin; 1; ensure; go.call; end },
  ensure_raised: ->(go) { begin; begin; raise 'x'; ensure; go.call; end; rescue StandardError; 1; end },
  retry: ->(go) { n = 0; begin; n += 1; raise 'x' if n < 2; go.call; rescue StandardError; retry; end },
  catch: ->(go) { catch(:x) { go.call; throw :x } },
  recursion: ->(go) { recurses(go, 30) },
  keywords: ->(go) { keywords(1, 3, d: 5, g: 6) { go.call } },
  refined: ->(go) { 'x'.refined(go) },
  struct: ->(go) { Point.new(1).go_on(go) },
  anonymous: ->(go) { Class.new { define_method(:run) { go.call } }.new.run },
  of_object: ->(go) { o = Object.new; o.define_singleton_method(:own) { go.call }; o.own },
  hook: ->(go) { $hook = go; Class.new(Hooked) },
  enum_for: ->(go) { Ways.new.to_enum(:each).map { |x| go.call if x == 1 } },
  lazy: ->(go) { [1].lazy.map { |x| go.call }.first(1) },
  enumerator: ->(go) { Enumerator.new { |y| go.call; y << 1 }.next },
  fiber: ->(go) { Fiber.new { go.call }.resume },
  thread: ->(go) { Thread.new { go.call }.join },
}.freeze

# Each way alone, and then mixtures.
def walk(ways)
  return hold if ways.empty?

  WAYS[ways[0]].call(-> { walk(ways[1..]) })
end

WAYS.each_key { |way| walk([way]) }
random = Random.new(7)
ARGV[1].to_i.times { walk(Array.new(6) { WAYS.keys[random.rand(WAYS.size)] }) }
File.write(ARGV[0], JSON.generate(EXPECTED))
