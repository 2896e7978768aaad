#!/usr/bin/env bash
# pitot ci, and Markdown of reports. Figures: 4,000 of 5,000 samples are read's; a share of 1,000 more is
# 20 % of the base. That noise is right is tested with diff (diff.t.sh), whose statistics these are.
. "$(dirname "$0")/lib.sh"

printf 'main;parse;read 4000\nmain;emit 1000\n' >base.folded
printf 'main;parse;read 5000\nmain;emit 1000\n' >slow.folded
printf 'main;parse;read 4010\nmain;emit 990\n' >same.folded

it 'says in a title what grew beyond the limit, and ends with status 5'
run pitot ci --base=base.folded slow.folded
expect_status 5
expect_equal title "$(stdout | head -n 1)" '### Slower: `read` grew'
expect_stdout_line '+1,000 (+25.0%), 95% interval +814 to +1,186; that is at least 6[0-9][0-9], the limit is 250 (5% of the base)?'
expect_stdout_line '| self | after | change | +-95% |  |  | total | +-95% |  | function |'
expect_stdout_line '| 4,000 | 5,000 | +1,000 | 186 | +25.0% |  | +1,000 | 186 |  | `read` |'
expect_no_stdout_line '*`emit`*'

it 'takes the limit that is asked for'
run pitot ci --limit=25% --base=base.folded slow.folded
expect_status 0
expect_equal title "$(stdout | head -n 1)" '### 3 of 4 functions changed, none grew beyond the limit'

it 'takes a limit of 0 %: the least growth beyond doubt is too much'
printf 'main;parse;read 4000\nmain;emit 1300\n' >more.folded
run pitot ci --limit=0% --base=base.folded more.folded
expect_status 5
run pitot ci --limit=0% --base=base.folded base.folded
expect_status 0

it 'judges shares alone with --normalize, so that three times the work has not grown'
printf 'main;parse;read 12000\nmain;emit 3000\n' >thrice.folded
run pitot ci --normalize --base=base.folded thrice.folded
expect_status 0
expect_no_stderr
expect_equal title "$(stdout | head -n 1)" '### No share changed beyond noise'
run pitot ci --base=base.folded thrice.folded
expect_status 5
# emit: 20 % before, 50 % after
printf 'main;parse;read 7500\nmain;emit 7500\n' >shifted.folded
run pitot ci --normalize --base=base.folded shifted.folded
expect_status 5
expect_equal title "$(stdout | head -n 1)" '### Slower: `emit` grew'

it 'says that the whole changed where no function alone did'
for ((i = 0; i < 300; i++)); do echo "f$i 10"; done >tens.folded
for ((i = 0; i < 300; i++)); do echo "f$i 12"; done >twelves.folded
run pitot ci --limit=50% --base=tens.folded twelves.folded
expect_status 0
expect_equal title "$(stdout | head -n 1)" '### The whole changed, but did not grow beyond the limit'

it 'keeps the function of the title in a table of few rows, and says how many more have changed'
for ((i = 1; i <= 6; i++)); do echo "main;parse;f$i 1000"; done >six.folded
for ((i = 1; i <= 6; i++)); do echo "main;parse;f$i 2000"; done >grown.folded
run pitot ci -n 3 --base=six.folded grown.folded
expect_status 5
expect_equal title "$(stdout | head -n 1)" '### Slower: `main` and what it calls grew'
expect_stdout_line '| 0 | 0 | 0 |  |  |  | +6,000 | * | `main` |'
expect_equal rows "$(stdout | grep -c '^| [0-9]')" 3
expect_stdout_line '5 more' # six leaves, parse and main have changed
run pitot ci -n 8 --base=six.folded grown.folded
expect_no_stdout_line '* more'

it 'gives the same figures in the comment and on standard error'
printf 'main;f 1030\nmain;g 2103\n' >odd.folded
printf 'main;f 3091\nmain;g 2103\n' >odd2.folded
run pitot ci --base=odd.folded odd2.folded
expect_status 5
# 5 % of 3,133 is 156.65
expect_stdout_line '*the limit is 157 (5% of the base).'
expect_stderr_line '*the limit is 157'

# Five bounds hold together in 999 of 1,000 diffs, so each fails in 1 of 5,000: Student's t is beyond 10.3 as seldom with the
# 4 degrees of freedom of three runs a side, and beyond 5.8 with the 8 of five.
it 'says that three runs a side cannot prove a growth by 47 %, and finds it with five'
n=0
for samples in 550 650 600 570 630; do
    n=$((n + 1))
    echo "main;read $samples" >main$n.folded
    echo "main;read $((samples * 147 / 100))" >change$n.folded
done
run pitot ci --base=main1.folded --base=main2.folded --base=main3.folded change[123].folded
expect_status 0
expect_equal title "$(stdout | head -n 1)" '### Not sure: `read` grew, perhaps beyond the limit'
expect_stdout_line 'Note: with 3 runs a side, the limit finds a growth of the whole from about [0-9]*% on; five runs a side, or longer ones, *'
expect_stderr_line 'pitot: --limit=5%: not sure: read grew: +28* (+4*%), 95% interval *; that is at least *, the limit is 30'
expect_stderr_line 'pitot: --limit=5%: with 3 runs a side, *'
run pitot diff --fail-above=5% main[123].folded -- change[123].folded
expect_status 0
expect_stderr_line 'pitot: --fail-above=5%: not sure: read grew: *'
run pitot ci $(printf ' --base=%s' main?.folded) change?.folded
expect_status 5
expect_equal title "$(stdout | head -n 1)" '### Slower: `read` grew'
expect_no_stdout_line 'Note: *'

it 'writes a brief name in the title, as in the table, and no more than 100 columns of it'
name='std::_Hashtable<std::pair<int, int>, std::allocator<std::pair<int, int> > >::_M_find'
echo "$name 1000" >hash.folded
echo "$name 2000" >hash2.folded
run pitot ci --base=hash.folded hash2.folded
expect_equal title "$(stdout | head -n 1)" '### Slower: `std::_Hashtable<...>::_M_find` grew'
name=a$(printf '%0400d' 0)z
echo "$name 1000" >wide.folded
echo "$name 2000" >wide2.folded
run pitot ci --base=wide.folded wide2.folded
expect_equal width "$(stdout | head -n 1 | wc -m)" 120 # "### Slower: ``  grew" and the end of the line beside 100
expect_stdout_line '### Slower: `a0*0...0*z` grew'

it 'says of an event that does not measure time that it grew, not that something is slower'
for n in 100 300; do
    printf -- '--- contention:\ncycles/second = 1000000000\nsampling period = 1\n%d000 %d @ 0x1000\n' $n $n >$n.contention
done
run pitot ci -e contentions --base=100.contention 300.contention
expect_status 5
expect_stdout_line '### Grew: `*`'
run pitot ci -e delay --base=100.contention 300.contention
expect_stdout_line '### Slower: `*` grew'

it 'speaks of itself where a profile or the noise is not known'
cp /bin/true program
run pitot ci --base=base.folded program program
expect_status 2
expect_stderr_line 'pitot: ci: name a profile to compare with the base'
printf 'main;f 12\nmain;f -12\nmain;h 5\n' >minus.folded
run pitot ci --base=minus.folded minus.folded
expect_status 2
expect_equal title "$(stdout | head -n 1)" '### Not decided: the profiles do not show what is noise'
expect_stderr_line 'pitot: the profiles do not hold the number of samples *, so noise is unknown and --limit=5% cannot be checked'

it 'says that a file is damaged'
pitot convert -o base.pb.gz base.folded 2>/dev/null
{ gzip -dc base.pb.gz; printf '\022\177'; } >damaged.pb # a sample of 127 bytes, of which there is none
run pitot ci --base=base.pb.gz damaged.pb
expect_status 4
expect_stdout_line 'a file from after is damaged: only a part of it was read'
run pitot diff damaged.pb base.pb.gz
expect_status 4
expect_stdout_line 'a file from before is damaged: only a part of it was read'
run pitot ci --base=base.pb.gz base.pb.gz
expect_no_stdout_line '*damaged*'

it 'says that nothing changed beyond noise, and shows no table'
run pitot ci --base=base.folded same.folded
expect_status 0
expect_equal title "$(stdout | head -n 1)" '### No change beyond noise'
expect_no_stdout_line '|*'
expect_stdout_line 'base.folded -> same.folded: *: noise'
expect_stdout_line 'noise of sampling only: one run a side *'

it 'takes pitot.pb.gz where no profile is named, and needs a base'
run pitot ci --base=base.folded
expect_status 2
expect_stderr_line 'pitot: ci: name a profile; there is no pitot.pb.gz here'
pitot convert -o pitot.pb.gz slow.folded 2>/dev/null
run pitot ci --base=base.folded
expect_status 5
run pitot ci slow.folded
expect_status 2
expect_stderr_line 'pitot: ci: name the profile to compare with: --base=PROFILE'

it 'no name of a profile leaves its cell, or becomes more than a name'
printf 'main;a|b`c<img src=x>[l](h) 10\n' >odd.folded
run pitot top --markdown odd.folded
expect_status 0
expect_stdout_has '| `a\|b'"'"'c<img src=x>[l](h)` |'
printf '{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"x\\n```\\n# y"}]},"profiles":[{"type":"sampled","name":"p","unit":"none","startValue":0,"endValue":3,"samples":[[0]],"weights":[3]}]}' >lines.speedscope.json
run pitot top --markdown lines.speedscope.json
expect_status 0
expect_stdout_has '| `x^J'"'''"'^J# y` |'

it 'diff has a table of all rows'
run pitot diff --markdown base.folded same.folded
expect_status 0
expect_stdout_line '| 4,000 | 4,010 | +10 | * | ~ | `read` |'
expect_stdout_line '| 1,000 | 990 | -10 | * | ~ | `emit` |'

it 'does not pass a recording without values, nor compare with one'
printf 'main;parse;read 0\nmain;emit 0\n' >zero.folded
for sides in 'zero.folded zero.folded' 'base.folded zero.folded' 'zero.folded base.folded'; do
    run pitot ci --base=${sides% *} ${sides#* }
    expect_status 3
    expect_stderr_line 'pitot: zero.folded: no sample has a value, so there is nothing to compare with a limit'
done
run pitot ci --base=base.folded --base=zero.folded same.folded # one run of two has values
expect_status 0
run pitot diff --fail-above=2% base.folded zero.folded
expect_status 3
run pitot diff base.folded zero.folded
expect_status 0
# A filter that leaves nothing of one side is another matter: a function may go.
run pitot ci --base=base.folded --focus=emit more.folded
expect_status 5
