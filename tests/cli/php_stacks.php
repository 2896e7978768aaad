<?php
/* php_stacks.php EXPECTED ROUNDS [MS]: spends CPU time, MS (8) each, at places whose stacks it writes to the file EXPECTED, a JSON
 * object: the name of the innermost function, which no other place has, to the list of [name, file, line] of its
 * callers, innermost first, as debug_backtrace() has them. Stacks go through PHP and C in each way that a stack can. */
namespace Stacks;

define(__NAMESPACE__ . '\\HOLD_NS', (int)($argv[3] ?? 8) * 1000000);
$expected = [];
$place = 0;

function own_name(array $entry): string
{
    $name = isset($entry['class']) ? explode("\0", $entry['class'])[0] . '::' . $entry['function'] : $entry['function'];
    return in_array($name, ['include', 'include_once', 'require', 'require_once']) ? '{main}' : $name;
}

/* Each function with its file and the line that it is at, from entries with the file and line of their calls. */
function callers(array $entries): array
{
    $found = [];
    foreach ($entries as $i => $entry) {
        $name = isset($entries[$i + 1]) ? own_name($entries[$i + 1]) : '{main}';
        $found[] = [$name, $entry['file'] ?? '', $entry['line'] ?? 0];
    }
    return $found;
}

function clock(): int
{
    $used = getrusage();
    return ($used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec']) * 1000000000 +
        ($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']) * 1000;
}

/* Spends time in a function of its own, in a loop of one line. */
function hold(): void
{
    global $expected, $place;
    $name = 'Stacks\\at_' . $place++;
    if (!function_exists($name)) {
        eval('namespace Stacks; function ' . substr($name, 7) . '(int $end): void {' .
            "\n\n" . 'while (clock() < $end) for ($i = 0; $i < 2000; $i++) $x = $i * 3;' . "\n}");
    }
    $end = clock() + HOLD_NS;
    $expected[$name] = callers(debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS));
    array_unshift($expected[$name], [__FUNCTION__, __FILE__, __LINE__ + 1]);
    $name($end);
}

/* ---- ways to go on: each calls $go(), which takes the next ---- */

interface Way
{
    public function go(callable $go): void;
}

class Methods implements Way
{
    private $kept;
    public function __construct($kept = null) { $this->kept = $kept; }

    public function go(callable $go): void
    {
        self::passes($go,
            1);
    }

    private static function passes(callable $go, int $n): void
    {
        $n > 0
            and $go();
    }

    public function __call(string $name, array $arguments): void
    {
        $arguments[0]();
    }

    public static function __callStatic(string $name, array $arguments): void
    {
        $arguments[0]();
    }

    public function __get(string $name): int
    {
        ($this->kept)();
        return 1;
    }

    public function __toString(): string
    {
        ($this->kept)();
        return '';
    }

    public function __invoke(): void
    {
        ($this->kept)();
    }
}

class Destroyed
{
    private $go;
    public function __construct($go) { $this->go = $go; }

    public function __destruct()
    {
        ($this->go)();
    }
}

trait Shared
{
    public function shared(callable $go): void
    {
        $go();
    }
}

class User
{
    use Shared;
    use Shared { shared as renamed; }
}

class Listed implements \IteratorAggregate, \Countable, \ArrayAccess
{
    private $go;
    public function __construct($go) { $this->go = $go; }
    public function getIterator(): \Iterator { ($this->go)(); return new \ArrayIterator([]); }
    public function count(): int { ($this->go)(); return 0; }
    public function offsetExists($at): bool { return true; }
    #[\ReturnTypeWillChange]
    public function offsetGet($at) { ($this->go)(); return 1; }
    public function offsetSet($at, $to): void {}
    public function offsetUnset($at): void {}
}

function yields(callable $go): \Generator
{
    yield 1;
    $go();
    yield 2;
}

function delegates(callable $go, int $depth): \Generator
{
    if ($depth > 0)
        yield from delegates($go, $depth - 1);
    else
        yield from yields($go);
}

function recurses(callable $go, int $depth): void
{
    if ($depth > 0) {
        recurses($go,
            $depth - 1);
        return;
    }
    $go();
}

function throws(callable $go): void
{
    $kept = new Destroyed($go); /* destroyed while the exception passes */
    throw new \Exception('on its way');
}

function leaves(callable $go): int
{
    $kept = new Destroyed($go);
    return 1;
}

$included = tempnam(sys_get_temp_dir(), 'php');
file_put_contents($included, "<?php\n\n\$go(\n);\n");

$ways = [
    'call' => function ($go) { $go(); },
    'method' => function ($go) { (new Methods)->go($go); },
    'call_user_func' => function ($go) { call_user_func([new Methods, 'go'], $go); },
    'magic' => function ($go) { (new Methods)->anything($go); },
    'magic_static' => function ($go) { Methods::anything($go); },
    'get' => function ($go) { (new Methods($go))->missing; },
    'string' => function ($go) { $s = 'a' . new Methods($go); },
    'invoke' => function ($go) { array_map(new Methods(fn() => $go()), [1]); },
    'anonymous' => function ($go) { (new class { public function runs($go) { $go(); } })->runs($go); },
    'trait' => function ($go) { (new User)->shared($go); },
    'alias' => function ($go) { (new User)->renamed($go); },
    'array_map' => function ($go) { array_map(function () use ($go) { $go(); }, [1]); },
    'array_walk' => function ($go) { $list = [1]; array_walk($list, fn() => $go()); },
    'usort' => function ($go) {
        $list = [2, 1];
        usort($list, function ($a, $b) use ($go) {
            $go();
            return $a <=> $b;
        });
    },
    'preg' => function ($go) { preg_replace_callback('/b/', function ($m) use ($go) { $go(); return ''; }, 'abc'); },
    'generator' => function ($go) { foreach (yields($go) as $v) continue; },
    'send' => function ($go) { $g = yields($go); $g->current(); $g->send(1); },
    'yield_from' => function ($go) { foreach (delegates($go, 0) as $v) continue; },
    'yield_from_deep' => function ($go) { foreach (delegates($go, 20) as $v) continue; },
    'spread' => function ($go) { array_sum([...yields($go)]); },
    'iterator_to_array' => function ($go) { iterator_to_array(delegates($go, 1), false); },
    'include' => function ($go) use ($included) { include $included; },
    'require' => function ($go) use ($included) { require $included; },
    'eval' => function ($go) { eval("\n\n\$go();"); },
    'destructor' => function ($go) { $d = new Destroyed($go); $d = null; },
    'leaves' => function ($go) { leaves($go); },
    'leaves_callback' => function ($go) { array_map(fn() => leaves($go), [1]); },
    'throws' => function ($go) { try { throws($go); } catch (\Exception $e) { $e = null; } },
    'catch' => function ($go) { try { throw new \Exception('x'); } catch (\Exception $e) { $go(); } finally { $e = null; } },
    'finally' => function ($go) { try { (function () use ($go) { try { return 1; } finally { $go(); } })(); } finally { $x = 1; } },
    'recursion' => function ($go) { recurses($go, 30); },
    'iterator' => function ($go) { foreach (new Listed($go) as $v) continue; },
    'count' => function ($go) { count(new Listed($go)); },
    'offset' => function ($go) { (new Listed($go))[1]; },
    'reflection' => function ($go) { (new \ReflectionFunction($go))->invoke(); },
    'bound' => function ($go) { \Closure::bind(function () use ($go) { $go(); }, new User, User::class)(); },
    'autoload' => function ($go) {
        $load = function () use ($go) { $go(); };
        spl_autoload_register($load);
        call_user_func('class_exists', 'Stacks\\Missing' . mt_rand()); /* in 8.4 a plain call has no frame */
        spl_autoload_unregister($load);
    },
    'handler' => function ($go) {
        set_error_handler(function () use ($go) { $go(); return true; });
        $x = [][1];
        restore_error_handler();
    },
    'fiber' => function ($go) { (new \Fiber(fn() => $go()))->start(); },
    'fiber_resumed' => function ($go) {
        $fiber = new \Fiber(function () use ($go) {
            \Fiber::suspend(1);
            $go();
        });
        $fiber->start();
        $fiber->resume();
    },
    'output' => function ($go) {
        ob_start(function () use ($go) { static $done = false; if (!$done) { $done = true; $go(); } return ''; });
        echo 'x';
        ob_end_clean();
    },
];
/* What 7.4 does not have. */
if (PHP_VERSION_ID < 80000) /* its backtraces know the alias, which its frames do not */
    unset($ways['alias']);
if (PHP_VERSION_ID < 80100)
    unset($ways['fiber'], $ways['fiber_resumed']);
else
    $ways['first_class'] = eval('return function ($go) { $f = (new \\Stacks\\Methods)->go(...); $f($go); };');

/* Each way alone, and then mixtures. */
function walk(array $ways): void
{
    $way = array_shift($ways);
    $way === null ? hold() : $way(fn() => walk($ways));
}

foreach ($ways as $way)
    walk([$way]);
mt_srand(7);
for ($round = 0; $round < (int)$argv[2]; $round++) {
    $mixture = $round % 4 == 0 && isset($ways['fiber']) ? ['fiber_resumed'] : []; /* none can begin in a destructor */
    for ($i = 0; $i < 6; $i++) {
        $key = array_rand($ways);
        /* PHP knows the line of the last exception only, and gives it to frames of another, too. */
        $has_exception = array_intersect(['throws', 'catch'], $mixture) != [];
        $is_exception = in_array($key, ['throws', 'catch']);
        if (!in_array($key, ['output', 'handler', 'fiber', 'fiber_resumed']) && !($has_exception && $is_exception))
            $mixture[] = $key;
    }
    walk(array_map(fn($key) => $ways[$key], $mixture));
}
unlink($included);
file_put_contents($argv[1], json_encode($expected, JSON_INVALID_UTF8_SUBSTITUTE));
