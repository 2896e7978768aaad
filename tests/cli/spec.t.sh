#!/usr/bin/env bash
# tests/unit/sentences.md against the tests that it names: every sentence is there, every test is one
# that runs, and names the sentence.
. "$(dirname "$0")/lib.sh"

needs python3 || skip_all 'python3 is not installed'

# sentences LETTER COUNT FILE: says what is wrong with the rows of one text.
sentences() {
    python3 - "$PITOT_ROOT/tests" "$@" <<'PY'
import re, sys
tests, letter, count, program = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
source = open(f"{tests}/unit/{program}").read()
rows = re.findall(rf"^\| ({letter}\d+) \| (.+?) \| (.+) \|$", open(f"{tests}/unit/sentences.md").read(), re.M)
if [row[0] for row in rows] != [f"{letter}{i}" for i in range(1, count + 1)]:
    print("rows are not", f"{letter}1 to {letter}{count}")

def named(comment): # the sentences that a comment begins with
    head = re.match(r"\W*Sentences? ((?:[PGD]\d+(?:,\s+(?:\*\s|#\s)?)?)+)", comment)
    return set(re.findall(r"[PGD]\d+", head.group(1))) if head else set()

for sentence, says, cell in rows:
    if cell.startswith("none: "): continue
    for test in re.findall(r"`([^`]+)`", cell):
        if test.endswith(".t.sh"):
            comments = re.findall(r"^# (.*)\nit ", open(f"{tests}/cli/{test}").read(), re.M)
            if not any(sentence in named(comment) for comment in comments): print(test, "does not name", sentence)
            continue
        body = re.search(rf"(/\*(?:(?!\*/).)*\*/)\nstatic void {test}\(void \*\*state\)", source, re.S)
        if f"cmocka_unit_test({test})" not in source: print(test, "does not run")
        if not body or sentence not in named(body.group(1)): print(test, "does not name", sentence)
table = "\n".join(cell for _, _, cell in rows)
for comment, test in re.findall(r"(/\*(?:(?!\*/).)*\*/)\nstatic void (\w+)\(void \*\*state\)", source, re.S):
    for sentence in named(comment):
        if not any(row[0] == sentence and f"`{test}`" in row[2] for row in rows): print("no row of", sentence, "names", test)
PY
}

it 'each sentence of the gperftools text has a test that names it'
expect_equal 'what is missing' "$(sentences P 33 test_gperftools.c)" ''

it 'each sentence of the gmon.out text has a test that names it'
expect_equal 'what is missing' "$(sentences G 34 test_gmon.c)" ''

it 'each sentence of the DCPI text has a test that names it'
expect_equal 'what is missing' "$(sentences D 52 test_dcpi.c)" ''
