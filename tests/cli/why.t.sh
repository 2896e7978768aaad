#!/usr/bin/env bash
# pitot why: causes, places, shares by arithmetic; one function; what it does not say.
. "$(dirname "$0")/lib.sh"

cat >copy.folded <<'END'
_start;main;serve;Ledger::append;std::vector<long>::_M_realloc_insert<long>;operator new;malloc 200
_start;main;serve;Ledger::append;std::vector<long>::_M_realloc_insert<long>;__memmove_avx_unaligned_erms 400
_start;main;serve;Ledger::total 300
_start;main;serve;read_all;__libc_read;entry_SYSCALL_64_after_hwframe;ksys_read 60
_start;main;report;rare 40
END

it 'says what the time is spent on, below which function of the program, and how much that is'
run pitot why copy.folded
expect_status 0
expect_stdout 'copy.folded: 1,000 samples
unnamed 0%

1. 60.0% of the samples are spent moving arrays and strings to larger memory as they grow below Ledger::append.
     main > serve > Ledger::append > std::vector<long>::_M_realloc_insert<long> > __memmove_avx_unaligned_erms
     At most 600 of 1,000 can be saved. Try: reserve the size before the loop that appends.
2. 30.0% of the samples are spent in Ledger::total itself.
     main > serve > Ledger::total
     At most 300 of 1,000 can be saved.
3. 6.0% of the samples are spent in system calls that read below read_all.
     main > serve > read_all > __libc_read > ksys_read
     At most 60 of 1,000 can be saved. Try: read larger pieces into a buffer, or map the file.'

it 'does not take what a function reads, or an interpreter runs for it, for the function'"'"'s own work on memory'
printf '_start;main;load;std::getline<char>;underflow;__libc_read 900\n_start;main;load;std::getline<char>;memchr 100\n' >lines.folded
run pitot why lines.folded
expect_status 0
expect_stdout_line '1. 90.0% of the samples are spent in system calls that read below load.'
expect_stdout_line '2. 10.0% of the samples are spent splitting and cutting text below load.'
printf '{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[
{"name":"main","file":"/home/me/app.py"},{"name":"list_extend"},{"name":"_PyEval_EvalFrameDefault"},
{"name":"_format","file":"/usr/lib/python3.11/ast.py"}]},"profiles":[{"type":"sampled","name":"p","unit":"none","startValue":0,
"endValue":100,"samples":[[0,1],[0,1,2,3]],"weights":[40,60]}]}' >generator.speedscope.json
run pitot why generator.speedscope.json
expect_status 0
expect_stdout_line '?. 40.0% of the samples are spent copying objects below main (app.py).'
expect_stdout_line '?. 60.0% of the samples are spent in and below list_extend, called by main (app.py), without a known cause.'

it 'begins the path with what shows the cause where no code of the program called it'
printf '_start;_dl_start;dl_main;asm_exc_page_fault;handle_mm_fault 90\n_start;main;work 10\n' >start.folded
run pitot why start.folded
expect_status 0
expect_stdout_line '1. 90.0% of the samples are spent starting and ending processes or threads.'
expect_stdout_line '     _dl_start > handle_mm_fault'

it 'gives shares that add up with the rest to 1, as JSON'
run pitot why --json copy.folded
expect_status 0
expect_equal 'shares' "$(stdout | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(d["report"], [(f["kind"], f.get("cause"), f["value"], f["function"]) for f in d["findings"]], round(d["rest"], 6))')" \
    "why [('cause', 'growing-arrays', 600, 'Ledger::append'), ('own', None, 300, 'Ledger::total'), ('cause', 'system-calls-read', 60, 'read_all')] 0.04"

it 'shows so many findings, and those of a share'
run pitot why -n 1 copy.folded
expect_status 0
expect_no_stdout_line '2. *'
expect_stdout_line 'The other 40.0% are spread over smaller causes; pitot top shows all functions.'
run pitot why --least=50% copy.folded
expect_no_stdout_line '2. *'

it 'reads standard input'
run pitot why - <copy.folded
expect_status 0
expect_stdout_line '1. 60.0% of the samples *'

it 'adds up values that together are more than 2^63'
for i in 1 2 3 4 5 6 7 8; do echo "main;f$i;__memcpy_avx 9223372036854775807"; done >large.folded
run pitot why --json large.folded
expect_status 0
run pitot why main large.folded
expect_status 0

it 'explains one function: ways to it, and what its time is spent on'
printf 'main;a;parse;free 30\nmain;b;parse;lex 50\nmain;b;parse 10\nmain;c 110\n' >one.folded
run pitot why parse one.folded
expect_status 0
expect_stdout 'one.folded: 200 samples
unnamed 0%

parse: 90, 45.0% of the samples; 11.1% of it in the function itself.
  66.7%  main > b > parse
  33.3%  main > a > parse

1. 55.6% of it is spent in lex itself.
     main > b > parse > lex
     At most 50 of 90 can be saved.
2. 33.3% of it is spent allocating and freeing memory below parse.
     main > a > parse > free
     At most 30 of 90 can be saved. Try: keep objects and buffers, and use them again.
3. 11.1% of it is spent in parse itself.
     main > b > parse
     At most 10 of 90 can be saved.'

it 'takes the whole of a share from what the query leaves'
run pitot why --focus='Ledger' --relative --json copy.folded
expect_equal 'shares' "$(stdout | python3 -c '
import json, sys
print([round(f["share"], 3) for f in json.load(sys.stdin)["findings"]])')" '[0.667, 0.333]'

it 'says nothing of few samples: that would be chance'
printf 'main;a;memcpy 2\nmain;b 2\nmain;c 1\n' >few.folded
run pitot why few.folded
expect_status 0
expect_stdout_line 'Nothing stands out:*'

it 'knows a function by its name, else by an expression, else says which are near'
run pitot why 'led.*total' copy.folded
expect_status 3
run pitot why 'Led.*total' copy.folded
expect_status 0
expect_stdout_line 'Ledger::total: 300, 30.0% of the samples; 100.0% of it in the function itself.'
run pitot why 'Ledger::.*' copy.folded
expect_status 0
expect_stdout_line 'Ledger::append and 1 more that matches: 900, 90.0% of the samples; 33.3% of it in the functions themselves.'
run pitot why Ledgr copy.folded
expect_status 3
expect_stderr_line "pitot: copy.folded: 'Ledgr' matches no function*"

it 'takes a comparison that a sort calls for sorting'
printf 'main;rank;qsort;msort_with_tmp;compare;weigh 50\nmain;rank;fill 50\n' >sort.folded
run pitot why sort.folded
expect_stdout_line '1. 50.0% of the samples are spent sorting below rank.'

it 'is not fooled by functions of the program that are called as those of a library'
printf 'main;my_sort;my_read 50\nmain;reader::read 50\n' >names.folded
run pitot why names.folded
expect_stdout_line '*% of the samples are spent in my_read itself.'
expect_stdout_line '*% of the samples are spent in reader::read itself.'

# samples COUNT PID FRAME...: so many samples as perf script prints them; a frame is "NAME FILE", the leaf first.
samples() {
    local count=$1 pid=$2 i=0
    shift 2
    while [ $((count -= 1)) -ge 0 ]; do
        printf 'prog %d/%d %d.%06d: 1 cycles:\n' "$pid" "$pid" "$pid" $((i += 1))
        printf '\t1000 %s (%s)\n' "$@"
        echo
    done
}

it 'takes code of V8 without a name for part of its library where functions of JavaScript were read'
expression=('[unknown]' '[anon:jit]' v8::internal::NativeRegExpMacroAssembler::Execute /usr/bin/node
    Builtins_RegExpPrototypeTest /usr/bin/node)
samples 50 1 "${expression[@]}" isBlank '[javascript]' >v8.txt
run pitot why v8.txt
expect_stdout_line '1. 100.0% of * spent matching regular expressions below isBlank.'
samples 50 1 "${expression[@]}" isBlank /home/me/prog >v8.txt
run pitot why v8.txt
expect_stdout_line '1. 100.0% of * spent in code without names of [[]anon:jit[]].'

it 'names the function itself where no code of the program called it'
samples 50 1 Perl_pp_split /usr/bin/perl main /usr/bin/perl _start /usr/bin/perl >perl.txt
run pitot why perl.txt
expect_stdout_line '1. 100.0% of * spent in Perl_pp_split.'

it 'tells of several processes where none of them has nearly all'
samples 50 1 memcpy /lib/libc.so.6 run /home/me/prog >many.txt
samples 9 2 memcpy /lib/libc.so.6 run /home/me/prog >>many.txt
run pitot why many.txt
expect_stdout_line '1. 100.0% of * spent copying memory below run.'
samples 9 3 memcpy /lib/libc.so.6 run /home/me/prog >>many.txt
run pitot why many.txt
expect_stdout_line '1. 100.0% of * spent copying memory, in 3 processes, below run.'

it 'takes waits that were measured for what they are, however few: one long wait is no chance'
python3 - >waits.pb <<'END'
import sys

def number(n):
    return bytes([n & 127 | 128]) + number(n >> 7) if n > 127 else bytes([n])

def field(tag, value):
    return number(tag << 3) + number(value) if isinstance(value, int) else number(tag << 3 | 2) + number(len(value)) + value

texts = ['', 'off-cpu', 'nanoseconds', 'wait_for_work', 'usleep', '/home/me/app', '/home/me/app.c']
profile = field(1, field(1, 1) + field(2, 2)) + field(3, field(1, 1) + field(2, 1) + field(3, 1 << 30) + field(5, 5))
for i, name in ((1, 4), (2, 3)):
    profile += field(4, field(1, i) + field(2, 1) + field(3, i) + field(4, field(1, i) + field(2, 7)))
    profile += field(5, field(1, i) + field(2, name) + field(4, 6 if i == 2 else 0))
for value in (5 * 10**9, 10**6):
    profile += field(2, field(1, number(1) + number(2)) + field(2, number(value)))
sys.stdout.buffer.write(profile + b''.join(field(6, t.encode()) for t in texts))
END
run pitot why -e off-cpu waits.pb
expect_status 0
expect_stdout_line '1. 100.0% of the waiting time is spent sleeping below wait_for_work (app.c:7).'

it 'says how much of the time is below the place where that is not nearly all'
printf 'a;memcpy 40\nb;memcpy 35\nc;memcpy 25\n' >parts.folded
run pitot why parts.folded
expect_stdout_line '1. 100.0% of the samples are spent copying memory, 40.0% of it below a.'

it 'says that a function calls itself, and how deep'
printf 'main;ways;ways;ways;ways 60\nmain;ways;ways 20\nmain;ways 20\nmain;other;other 50\n' >deep.folded
run pitot why deep.folded
expect_stdout_line '     At most 100 of 150 can be saved. It calls itself, 3 deep on average. Try: keep results that it computes again.'
expect_stdout_line '     At most 50 of 150 can be saved.'

it 'does not take the end of an object for a look into its table, nor the making of a stream for a cast'
printf 'main;total;std::map<int>::~map;std::_Rb_tree<int>::_M_erase;free 60\nmain;total;std::map<int>::find 20\n' >ends.folded
printf 'main;parse;std::__cxx11::basic_istringstream<char>::basic_istringstream;__dynamic_cast;strcmp 20\n' >>ends.folded
run pitot why ends.folded
expect_stdout_line '1. 60.0% of the samples are spent destroying objects below total.'
expect_stdout_line '?. 20.0% of the samples are spent looking up ordered maps and sets below total.'
expect_stdout_line '?. 20.0% of the samples are spent making and destroying string streams below parse.'

it 'takes what reads a buffer for that, and for a system call only what waits for the kernel'
printf 'main;count;getc;_IO_getc 60\nmain;count;getc;__underflow;__libc_read;ksys_read 40\n' >pieces.folded
printf 'main;report;std::io::Write::write_fmt;core::fmt::write;__libc_write 70\nmain;report;core::fmt::write 30\n' >format.folded
run pitot why format.folded
expect_stdout_line '1. 70.0% of the samples are spent in system calls that write below report.'
expect_stdout_line '2. 30.0% of the samples are spent formatting text below report.'
run pitot why pieces.folded
expect_stdout_line '1. 60.0% of the samples are spent reading input in small pieces through a buffer below count.'
expect_stdout_line '2. 40.0% of the samples are spent in system calls that read below count.'

it 'names the function that own code called, not the interpreter in between'
samples 50 1 list_concat /usr/bin/python3 cfunction_vectorcall_O /usr/bin/python3 all_lines '[python]' >concat.txt
run pitot why concat.txt
expect_stdout_line '1. 100.0% of * spent copying objects below all_lines.'
expect_stdout_line '     all_lines > list_concat'

it 'tells waiting from the CPU time of going to wait'
printf 'main;work;pthread_cond_wait;futex_wait 90\n' >wait.folded
run pitot why wait.folded
expect_stdout_line '1. 100.0% of the samples are spent waiting for other threads below work.'
samples 50 1 futex_wait '[kernel.kallsyms]' pthread_cond_wait /lib/libc.so.6 work /home/me/prog >wait.txt
run pitot why wait.txt
expect_stdout_line '1. 100.0% of * spent going to wait for other threads and waking up below work.'

it 'shows names of strangers and does not obey them'
printf 'main;\033[31mred\033[0m;memcpy 100\n' >esc.folded
run pitot why esc.folded
expect_status 0
! stdout | grep -q "$(printf '\033')" || fail 'an escape reached standard output'

it 'fits 80 columns on a terminal'
if needs script; then
    name=$(printf 'very_long_name_%.0s' 1 2 3 4 5 6 7 8)
    printf 'main;%s;memcpy 100\n' "$name" >wide.folded
    script -qec "stty cols 80; '$PITOT' why wide.folded" /dev/null </dev/null >wide.txt
    expect_equal 'longest line' "$(tr -d '\r' <wide.txt | sed 's/\x1b\[[0-9;]*m//g' | awk 'length > 80' | wc -l)" 0
fi

it 'names the cause in a program that copies a vector for each call'
if needs g++; then
    expect g++ -O1 -g "$PITOT_ROOT/tests/torture/why/copy_vector.cc" -o copy
    expect pitot record -F 1000 -o copy.pb.gz -- ./copy
    run pitot why copy.pb.gz
    expect_status 0
    expect_stdout_line '1. * of the CPU time is spent copying objects below Ledger::append (copy_vector.cc:*).'
fi
