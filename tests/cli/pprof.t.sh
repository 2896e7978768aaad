#!/usr/bin/env bash
# pitot pprof: what google/pprof prints, from its options, in its words.
. "$(dirname "$0")/lib.sh"

export TZ=UTC
printf 'main;parse;read 3\nmain;parse 2\nmain;emit 1\nstart;main;emit 4\n' >a.folded

# pprof ARGUMENTS...: through the command, as every test here.
pprof() { "$PITOT" pprof "$@"; }

it 'prints the flat table in pprof columns'
run pprof -top a.folded
expect_status 0
expect_stdout 'Type: samples
Showing nodes accounting for 10, 100% of 10 total
      flat  flat%   sum%        cum   cum%
         5 50.00% 50.00%          5 50.00%  emit
         3 30.00% 80.00%          3 30.00%  read
         2 20.00%   100%          5 50.00%  parse
         0     0%   100%         10   100%  main
         0     0%   100%          4 40.00%  start'

it 'is the same under a link called pprof'
ln -s "$PITOT" pprof
run ./pprof -top a.folded
expect_status 0
expect_stdout_line '         5 50.00% 50.00%          5 50.00%  emit'

it 'prints each function between its callers and callees'
run pprof -tree a.folded
expect_stdout_has '                                                 6 60.00% |   main
         0'
expect_equal 'callers of parse' "$(stdout | grep -B1 '| parse$' | head -1)" \
    '                                                 5   100% |   main'

it 'says in the words of pprof that nothing matches a peek, and fails with 2'
run pprof -peek=nothing a.folded
expect_status 2
expect_stderr_line 'no matches found for regexp: nothing'

it 'says that a focus matched nothing and goes on'
run pprof -top -focus=nothing a.folded
expect_status 0
expect_stderr_line 'Focus expression matched no samples'

it 'shows active filters in the legend'
run pprof -top -focus=parse a.folded
expect_stdout_line 'Active filters:'
expect_stdout_line '   focus=parse'
expect_stdout_line 'Showing nodes accounting for 5, 50.00% of 10 total'

it 'takes one dash or two, = or a space, and false for what is on'
run pprof --top --nodecount 1 -trim=false a.folded
expect_stdout_line '         0     0%   100%          4 40.00%  start'
run pprof --top --nodecount 1 a.folded
expect_stdout_line 'Showing top 1 nodes out of 5'

it 'refuses an option that is none with 2'
run pprof -topp a.folded
expect_status 2
expect_stderr_line 'flag provided but not defined: -topp'

it 'refuses a number that is none'
run pprof -top -nodecount=x a.folded
expect_status 2
expect_stderr_line 'invalid value "x" for flag -nodecount: parse error'

it 'takes all that follows the first argument as sources'
run pprof -top a.folded -unit
expect_status 0
expect_stderr_line '-unit: *'

it 'refuses an option without its value'
run pprof -unit
expect_status 2
expect_stderr_line 'flag needs an argument: -unit'

it 'refuses two formats'
run pprof -top -tree a.folded
expect_status 2
expect_stderr 'must set at most one output format'

it 'refuses two granularities'
run pprof -top -lines -files a.folded
expect_status 2
expect_stderr 'conflicting options set: [files lines]'

it 'refuses to serve a page beside a format'
run pprof -top -http=:0 a.folded
expect_status 2
expect_stderr '-http is not compatible with an output format on the command line'

it 'refuses base and diff_base at once, and to normalize by nothing'
run pprof -top -base=a.folded -diff_base=a.folded a.folded
expect_status 2
expect_stderr '-base and -diff_base flags cannot both be specified'
run pprof -top -normalize a.folded
expect_status 2
expect_stderr 'must have base profile to normalize by'

it 'says which events there are'
run pprof -top -sample_index=cpu a.folded
expect_status 2
expect_stderr 'sample_index "cpu" must be one of: [samples]'
run pprof -top -sample_index=7 a.folded
expect_stderr 'sample_index 7 is outside the range [0..0]'

it 'refuses to divide by nothing'
run pprof -top -divide_by=0 a.folded
expect_status 2
expect_stderr 'zero divisor specified'

it 'says where a regular expression ends too early'
run pprof -top '-focus=(' a.folded
expect_status 2
expect_stderr_line 'parsing focus regexp: *'

it 'reads what can be read of several sources'
run pprof -top a.folded missing.folded
expect_status 0
expect_stderr_line 'Fetched 1 source profiles out of 2'
expect_stdout_line 'Showing nodes accounting for 10, 100% of 10 total'
run pprof -top missing.folded
expect_status 2
expect_stderr_line 'failed to fetch any source profiles'

it 'answers from a damaged profile, says so, and exits with 4'
run pprof -proto -output=whole.pb.gz a.folded
gzip -dc whole.pb.gz | head -c -3 >cut.pb
run pprof -top cut.pb
expect_status 4
expect_stderr_has cut.pb

it 'adds several sources up and takes bases away'
run pprof -top a.folded a.folded
expect_stdout_line 'Showing nodes accounting for 20, 100% of 20 total'
printf 'main;parse;read 1\n' >base.folded
run pprof -top -base=base.folded a.folded
expect_stdout_line 'Showing nodes accounting for 9, 100% of 9 total'
run pprof -top -diff_base=base.folded a.folded
expect_stdout_line 'Showing nodes accounting for 9, 900.00% of 1 total'

it 'writes to a file and says so'
run pprof -top -output=report.txt a.folded
expect_status 0
expect_no_stdout
expect_stderr 'Generating report in report.txt'
expect_equal 'first line' "$(head -1 report.txt)" 'Type: samples'

it 'writes a profile that pprof reads, with a comment'
run pprof -proto -add_comment=hello -output=p.pb.gz a.folded
expect_status 0
run pprof -comments p.pb.gz
expect_stdout 'hello'

it 'writes the flat table as a profile of two events'
run pprof -topproto -output=top.pb.gz a.folded
run pprof -top -sample_index=flat top.pb.gz
expect_stdout_line '         5 50.00% 50.00%          5 50.00%  emit'

it 'prints a callgrind file'
run pprof -callgrind a.folded
expect_stdout_line 'events: samples(count)'
expect_stdout_line 'calls=0 * 0'

it 'prints every stack'
run pprof -traces a.folded
expect_equal stacks "$(stdout | grep -c '^-----------+')" 5
expect_stdout_line '         3   read'

it 'takes a type that a profile has twice for none that all have, as pprof does'
type='\x0a\x04\x08\x01\x10\x02' strings='\x22\x02\x08\x01\x32\x00\x32\x03cpu\x32\x02ns'
printf "$type$type"'\x12\x07\x0a\x01\x01\x12\x02\x05\x05\x5a\x04\x08\x01\x10\x02'"$strings" >twice.pb
printf "$type"'\x12\x06\x0a\x01\x01\x12\x01\x05'"$strings" >once.pb
run pprof -raw twice.pb once.pb
expect_status 2
expect_stderr_has 'problem fetching source profiles: profiles have empty common sample type list'

# Google's own expected reports, byte for byte.
while read -r expected input args; do
    it "prints google/pprof's own expected $expected"
    if corpus pprof-goldens/expected/"$expected"; then
        cd "$PITOT_CORPUS/pprof-goldens" || exit 1
        # shellcheck disable=SC2086
        run pprof $args -output="$t_dir/answer" "fixtures/$input"
        cd "$t_dir" || exit 1
        expect_status 0
        expect_same "$corpus" answer
    fi
done < <(grep -v '^#' "${PITOT_CORPUS:-/nowhere}/pprof-goldens/cases.tsv" 2>/dev/null ||
    echo 'cases.tsv - -')

for name in gperftools-cpu/pprof__cppbench.cpu gperftools-cpu/pprof__gobench.cpu \
    gperftools-heap/pprof__cppbench.heap gperftools-heap/pprof__gobench.heap \
    gperftools-thread/pprof__cppbench.thread gperftools-thread/pprof__go.godoc.thread; do
    it "dumps $name as google/pprof does"
    if corpus "$name"; then
        run pprof -raw -symbolize=none "$corpus"
        expect_same "$PITOT_CORPUS/pprof-goldens/raw/${name##*pprof__}.string" "$t_out/stdout"
    fi
done
