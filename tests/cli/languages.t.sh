#!/usr/bin/env bash
# Code of other languages: names where the runtime gives them, whole stacks, and where it gives none,
# a line that says what would.
. "$(dirname "$0")/lib.sh"

it 'says of code without names which option names it'
# stack FILE FUNCTION MEMORY: a profile.proto of one sample of that function in that file, which called
# an address without a name in memory that is called so; or nothing.
stack() {
    python3 - "$1" "$2" "$3" <<'P'
import sys
def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value
file, function, jit = sys.argv[1:]
strings = ['', 'samples', 'count', file, function, jit]
p = field(1, field(1, 1) + field(2, 2))
p += field(2, field(1, bytes([2, 1] if jit else [1])) + field(2, 9))
p += field(3, field(1, 1) + field(2, 0x1000) + field(3, 0x9000) + field(5, 3))
p += field(3, field(1, 2) + field(2, 0x10000) + field(3, 0x90000) + field(5, 5))
p += field(4, field(1, 1) + field(2, 1) + field(3, 0x2000) + field(4, field(1, 1)))
p += field(4, field(1, 2) + field(2, 2) + field(3, 0x20000))
p += field(5, field(1, 1) + field(2, 4))
sys.stdout.buffer.write(p + b''.join(field(6, s.encode()) for s in strings))
P
}
says() { # says LANGUAGE FILE FUNCTION MEMORY; no language: nothing
    stack "$2" "$3" "$4" >one.pb
    run pitot top --symbols=off one.pb
    expect_status 0
    expect_equal "$2 $3" "$(stderr | sed -n 's/.*: 100 % is in \(.*\) code, which has no names: .*/\1/p')" "$1"
}
says JavaScript /usr/bin/node main '[anon:jit]'
says Java /usr/lib/jvm/lib/server/libjvm.so JavaMain '[anon:jit]'
says .NET /usr/lib/libcoreclr.so main '[memfd:doublemapper]'
says Python /usr/bin/python3.11 _PyEval_EvalFrameDefault ''
says Python /usr/lib/libpython3.9.so.1.0 _PyEval_EvalFrameDefault ''
says PHP /usr/sbin/php-fpm8.2 execute_ex ''
says '' /usr/bin/node_exporter main '[anon:jit]'
says '' /usr/bin/node-problem-detector main '[anon:jit]'
says '' /usr/bin/node main ''
says '' /usr/bin/python3.11 main '[anon:jit]'
says '' /usr/bin/prog _PyEval_EvalFrameDefault ''

it 'shows functions of Python that -X perf names, and whole stacks'
for python in python3.14 python3.13 python3.12 python3; do
    "$python" -X perf -c 'import sys; sys.exit(not sys.is_stack_trampoline_active())' 2>/dev/null && break
    python=
done
if [ -n "$python" ] && [ "$PITOT_SANITIZED" = 0 ]; then
    printf '%s\n' 'def leaf(n):' '    s = 0' '    for i in range(n):' '        s += i * i % 7' '    return s' \
        'def outer(n):' '    return leaf(n)' 'print(outer(3000000))' >app.py
    run pitot record --engine=perf -o app.pb.gz "$python" -X perf app.py
    if [ "$status" = 0 ]; then
        run pitot top -n 0 --csv app.pb.gz
        expect_equal 'a line about names' "$(stderr | grep 'no names')" ''
        share() { stdout | awk -F, -v name="$1" '$5 ~ name { print int(100 * $4) }'; }
        leaf=$(share '^py::leaf:') outer=$(share '^py::outer:')
        expect [ "${leaf:-0}" -ge 60 ]
        expect [ "${outer:-0}" -ge "${leaf:-1}" ]
    else
        skip 'the kernel gives no perf events'
    fi
else
    skip 'python 3.12 or later is not installed'
fi
