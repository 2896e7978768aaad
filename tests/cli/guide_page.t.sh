#!/usr/bin/env bash
# docs/guide.md: each option of pitot in the README and the guide exists. tests/torture/guide_page.sh runs its commands.
. "$(dirname "$0")/lib.sh"

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
