#!/usr/bin/env bash
# docs/guide.md: its commands run, and print the output that it shows. Each option of pitot in the README and the guide exists.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/transcript.sh"

# pitot_words PAGE: a line "COMMAND OPTION" for each long option that follows a command of pitot in code of the page.
pitot_words() {
    grep -o 'pitot [a-z][^`|;#]*' "$1" |
        while read -r _ command rest; do
            previous=-
            for word in $rest; do
                case $word in
                --) break ;;
                --[a-z]*) word=${word%%=*} && echo "$command ${word%%[^a-z-]*}" ;;
                -*) ;;
                *) [ "$command" != record ] || [[ $previous == -? ]] || break ;; # the recorded command
                esac
                previous=$word
            done
        done | sort -u
}

for page in README.md docs/guide.md docs/record.md docs/queries.md docs/diff.md docs/from-perf.md docs/languages.md; do
    it "names options that exist: $page"
    while read -r command option; do
        case $command in pprof | google-pprof | gprof) continue ;; esac
        [ "$option" != --focuss ] || continue # the README's mistake
        pitot help "$command" >help.txt 2>&1 || continue # a page's text after the word pitot
        man=$(pitot help --man "$command" | sed -e 's/\\f[BIR]//g' -e 's/\\//g')
        case $man in
        *"$option"* | *"--[no-]${option#--no-}"* | *"--[no-]${option#--}"*) ;;
        *) fail "pitot $command has no $option" ;;
        esac
    done < <(pitot_words "$PITOT_ROOT/$page")
done

it 'finds options in the guide'
expect test "$(pitot_words "$PITOT_ROOT/docs/guide.md" | wc -l)" -ge 5

it 'has a section for each row of its table'
sed -n 's/^| \[\(.*\)\](#\(.*\)) |.*/\1\t\2/p' "$PITOT_ROOT/docs/guide.md" >rows
while IFS=$'\t' read -r title anchor; do
    expect grep -qx "## $title" "$PITOT_ROOT/docs/guide.md"
    expect_equal 'the anchor' "$anchor" "$(tr 'A-Z ' 'a-z-' <<<"$title")"
done <rows
expect test "$(wc -l <rows)" = 8

if [ "$PITOT_SANITIZED" = 1 ] || ! command -v "${CC:-gcc}" >/dev/null || ! command -v python3 >/dev/null; then
    it 'prints the output of the guide'
    skip 'needs a library without sanitizers, a C compiler and python3'
    exit
fi

mkdir demo
cp "$PITOT_ROOT/demo/shop.c" "$PITOT_ROOT/demo/report.py" demo
PATH=$(dirname "$PITOT"):$PATH
unset -f pitot
can_attach=1
sleep 60 &
pitot record -p $! -d 0.1s -o attach.pb.gz 2>attach.txt || can_attach=0
kill $!

transcript_split "$PITOT_ROOT/docs/guide.md"
service=
for n in $(seq "$count"); do
    command=$(cat "steps/command.$n")
    it "prints the output of the guide: $command"
    case $command in
    *' -p '* | *--off-cpu* | *hang.pb.gz | *wait.pb.gz)
        [ $can_attach = 1 ] || skip "perf events are refused: $(head -1 attach.txt)" ;;
    esac
    [ -z "$t_skip" ] || continue
    case $command in
    *' &')
        ${command% &} >/dev/null 2>&1 &
        service=$!
        ;;
    'kill %1') kill $service && service= ;;
    *)
        run bash -c "{ $command; } >answer 2>&1"
        expect transcript_matches "steps/expected.$n" answer
        ;;
    esac
    case $command in
    *--fail-above*) expect_status 5 ;;
    *' &' | 'kill %1') ;;
    *) expect_status 0 ;;
    esac
done
[ -z "$service" ] || kill $service
