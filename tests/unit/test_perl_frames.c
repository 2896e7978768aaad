/* test_perl_frames.c: frames of Perl from images of memory that lie as the headers of Perl say:
 * subs, evals, blocks that C calls, the program's file; names and lines; memory that is none.
 */
#include "memory_image.h"

#include <stdio.h>

#include "interp/perl.h"

enum {
    INTERPRETER = BASE,
    RUN = 4,
    CONTEXT_BYTES = 104,
    CONTEXTS_MAX = 8,
    MOST = 64,
    SUB = 9,
    LOOP = 3,
    EVAL = 11,
    TRY = 0x40,
    SORT = 0,
    NAMED = 0x8000,
};

static const pt_perl_layout *layout; /* of the version that is tested */

static image *make_perl(void)
{
    image *const m = make_image();
    m->used = 0xa00; /* behind the interpreter */
    put(m, INTERPRETER + layout->phase, RUN);
    return m;
}

static uint64_t make_text(image *m, const char *text)
{
    const uint64_t at = make(m, strlen(text) + 1);
    memcpy(m->bytes + (at - BASE), text, strlen(text));
    return at;
}

static uint64_t make_shared_text(image *m, const char *text)
{
    const uint64_t at = make(m, 9 + strlen(text));
    put(m, at, 12345 | (uint64_t)strlen(text) << 32);
    memcpy(m->bytes + (at - BASE) + 8, text, strlen(text));
    return at;
}

static uint64_t make_value(image *m, uint64_t type, uint64_t body)
{
    const uint64_t at = make(m, 24);
    put(m, at, body);
    put(m, at + 8, 1 | type << 32);
    return at;
}

static uint64_t make_statement(image *m, uint64_t line, uint64_t file)
{
    const uint64_t at = make(m, 0x40);
    put(m, at + 0x20, layout->first_statement | line << 32);
    put(m, at + 0x30, file);
    return at;
}

static uint64_t make_package(image *m, const char *name)
{
    enum { LAST = 7 }; /* of its array */
    const uint64_t body = make(m, 0x60), array = make(m, (LAST + 1) * 8 + 0x20);
    put(m, body + 0x18, LAST);
    put(m, layout->stash_names != 0 ? body + layout->stash_names : array + (LAST + 1) * 8,
        make_shared_text(m, name));
    const uint64_t package = make_value(m, 12 | 0x2000000, body);
    put(m, package + 0x10, array);
    return package;
}

/* With a glob that has its name, or by itself. */
static uint64_t make_sub(image *m, uint64_t package, const char *name, bool has_glob,
                         uint64_t first)
{
    const uint64_t body = make(m, 0x68);
    put(m, body + 0x20, package);
    put(m, body + 0x28, first);
    put(m, body + 0x58, has_glob ? 0 : (uint64_t)NAMED << 32);
    if (has_glob) {
        const uint64_t glob = make(m, 0x40);
        put(m, glob + 0x20, make_shared_text(m, name));
        put(m, glob + 0x28, package);
        put(m, body + 0x38, make_value(m, 9, glob));
    } else {
        put(m, body + 0x38, make_shared_text(m, name));
    }
    return make_value(m, 13, body);
}

typedef struct {
    uint64_t at, contexts, count;
} stack;

static stack make_stack(image *m, uint64_t outer)
{
    stack s = {.at = make(m, 0x30), .contexts = make(m, CONTEXTS_MAX * CONTEXT_BYTES)};
    put(m, s.at + 8, s.contexts);
    put(m, s.at + 16, outer);
    put(m, s.at + 32, UINT32_MAX); /* no context */
    put(m, INTERPRETER + layout->stack, s.at);
    return s;
}

static void push(image *m, stack *s, uint64_t type, uint64_t sub, uint64_t statement,
                 uint64_t operation)
{
    const uint64_t at = s->contexts + s->count * CONTEXT_BYTES;
    put(m, at, type);
    put(m, at + 0x10, statement);
    put(m, at + 0x30, operation);
    put(m, at + 0x48, sub);
    put(m, s->at + 32, s->count++);
}

static void run_at(image *m, uint64_t statement)
{
    put(m, INTERPRETER + layout->statement, statement);
}

/* "NAME:LINE NAME:LINE* ...", innermost first; * of an entry, - of a run without a frame */
static void check_stack(image *m, const char *expected)
{
    char text[2048] = "", name[64];
    size_t used = 0, bytes = 0;
    pt_perl_walk walk;
    pt_perl_frame frame;
    pt_perl_code code;
    pt_interp_step step = pt_perl_walk_begin(&walk, layout, read_image, m, INTERPRETER, MOST);
    while (step == PT_INTERP_FRAME_READ &&
           (step = pt_perl_walk_next(&walk, &frame)) == PT_INTERP_FRAME_READ) {
        const char *const space = used > 0 ? " " : "";
        if (frame.kind == PT_PERL_EMPTY) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s-", space);
            continue;
        }
        assert_true(pt_perl_code_at(layout, read_image, m, &frame, &code));
        assert_true(pt_perl_name(read_image, m, &code, name, sizeof name, &bytes));
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s:%d%s", space, (int)bytes,
                                 name, code.line, frame.is_entry ? "*" : "");
        assert_true(pt_perl_file(read_image, m, &code, name, sizeof name, &bytes));
        assert_memory_equal(name, "/srv/app.pl", bytes);
    }
    assert_string_equal(text, expected);
    assert_int_equal(step, PT_INTERP_END);
}

static void check_calls(void)
{
    image *const m = make_perl();
    const uint64_t file = make_text(m, "/srv/app.pl"), package = make_package(m, "Ledger");
    uint64_t line[10];
    for (uint64_t i = 0; i < 10; i++)
        line[i] = make_statement(m, i, file);
    const uint64_t add = make_sub(m, package, "add", true, line[4]);
    const uint64_t named = make_sub(m, package, "named", false, 0);
    run_at(m, line[9]);
    check_stack(m, ""); /* nothing runs yet */
    stack outer = make_stack(m, 0);
    check_stack(m, "{main}:9*");
    push(m, &outer, LOOP, 0, line[1], 0);
    push(m, &outer, SUB, add, line[2], 8);
    push(m, &outer, EVAL | TRY, 0, line[3], 8);
    push(m, &outer, EVAL, 0, line[4], 8);
    check_stack(m, "(eval):9 Ledger::add:4 {main}:2*");
    /* C calls a sub, which sorts by a block. */
    stack inner = make_stack(m, outer.at);
    push(m, &inner, SUB, named, line[5], 0);
    stack sorting = make_stack(m, inner.at);
    push(m, &sorting, SORT, 0, line[6], 0);
    check_stack(m, "- Ledger::named:9* (eval):5 Ledger::add:4 {main}:2*");
    put(m, INTERPRETER + layout->phase, RUN + 1); /* END blocks run */
    check_stack(m, "- Ledger::named:9* (eval):5 Ledger::add:4");
    free(m);
}

/* Sets the version of the tests behind it, too. */
static void calls_go_through_evals_and_c_to_the_file(void **state)
{
    (void)state;
    static const unsigned minors[] = {32, 40, 36};
    for (size_t i = 0; i < sizeof minors / sizeof minors[0]; i++) {
        layout = pt_perl_layout_of(minors[i]);
        assert_non_null(layout);
        check_calls();
    }
}

static void a_sub_that_has_run_no_statement_is_at_its_first(void **state)
{
    (void)state;
    image *const m = make_perl();
    const uint64_t file = make_text(m, "/srv/app.pl"), package = make_package(m, "Ledger");
    uint64_t line[10];
    for (uint64_t i = 0; i < 10; i++)
        line[i] = make_statement(m, i, file);
    const uint64_t add = make_sub(m, package, "add", true, line[4]);
    const uint64_t other = make_sub(m, package, "other", true, line[6]);
    run_at(m, line[2]);
    stack s = make_stack(m, 0);
    push(m, &s, SUB, add, line[2], 8);
    check_stack(m, "Ledger::add:4 {main}:2*");
    push(m, &s, LOOP, 0, line[2], 0);
    push(m, &s, SUB, add, line[2], 8); /* add calls itself in line 2, and is there again */
    check_stack(m, "Ledger::add:2 Ledger::add:2 {main}:2*");
    push(m, &s, LOOP, 0, line[2], 0);
    push(m, &s, SUB, other, line[2], 8);
    check_stack(m, "Ledger::other:6 Ledger::add:2 Ledger::add:2 {main}:2*");
    free(m);
}

static void subs_have_the_name_of_their_glob_or_their_own(void **state)
{
    (void)state;
    image *const m = make_perl();
    const uint64_t file = make_text(m, "/srv/app.pl                                                "
                                       "                                                    ");
    const uint64_t package = make_package(m, "A::B");
    const uint64_t first = make_statement(m, 7, file), sub = make_sub(m, package, "f", true, first);
    pt_perl_frame frame = {.kind = PT_PERL_SUB, .sub = sub, .statement = first};
    pt_perl_code code;
    char name[32];
    size_t bytes;
    uint64_t before, after;
    assert_true(pt_perl_code_at(layout, read_image, m, &frame, &code));
    assert_int_equal(code.first_line, 7);
    assert_true(pt_perl_check(read_image, m, &code, &before));
    memcpy(m->bytes + (file - BASE), "/srv/abc.pl", 11); /* another text at the same place */
    assert_true(pt_perl_check(read_image, m, &code, &after));
    assert_true(before != after);
    /* Files in one long folder differ at the ends of their names only. */
    memset(m->bytes + (file - BASE), 'd', 90);
    memcpy(m->bytes + (file - BASE) + 90, "/a.pl", 6);
    assert_true(pt_perl_check(read_image, m, &code, &before));
    memcpy(m->bytes + (file - BASE) + 90, "/b.pl", 6);
    assert_true(pt_perl_check(read_image, m, &code, &after));
    assert_true(before != after);
    /* A package without a name, a sub without a glob. */
    put(m, package + 8, 1 | UINT64_C(12) << 32);
    assert_true(pt_perl_code_at(layout, read_image, m, &frame, &code));
    assert_true(pt_perl_name(read_image, m, &code, name, sizeof name, &bytes));
    assert_memory_equal(name, "f", bytes);
    uint64_t body;
    memcpy(&body, m->bytes + (sub - BASE), sizeof body);
    put(m, body + 0x38, 0);
    assert_true(pt_perl_code_at(layout, read_image, m, &frame, &code));
    assert_true(pt_perl_name(read_image, m, &code, name, sizeof name, &bytes));
    assert_memory_equal(name, "__ANON__", bytes);
    frame.sub = package; /* no sub */
    assert_false(pt_perl_code_at(layout, read_image, m, &frame, &code));
    frame = (pt_perl_frame){.kind = PT_PERL_EVAL, .statement = BASE + IMAGE_BYTES};
    assert_false(pt_perl_code_at(layout, read_image, m, &frame, &code));
    free(m);
}

static void random_memory_ends_a_walk(void **state)
{
    (void)state;
    image *const m = make_image();
    uint64_t seed = 1;
    for (int round = 0; round < 200; round++) {
        fill_at_random(m, &seed);
        put(m, INTERPRETER + layout->phase, RUN);
        pt_perl_walk walk;
        pt_perl_frame frame;
        unsigned frames = 0;
        m->reads = 0;
        pt_interp_step step = pt_perl_walk_begin(&walk, layout, read_image, m, INTERPRETER, MOST);
        while (step == PT_INTERP_FRAME_READ &&
               (step = pt_perl_walk_next(&walk, &frame)) == PT_INTERP_FRAME_READ)
            frames++;
        assert_true(frames <= MOST + 1 && m->reads <= 4 + 2 * MOST);
    }
    free(m);
}

static void versions_and_files_are_known(void **state)
{
    (void)state;
    static const char *const are[] = {"perl", "/usr/bin/perl5.36.0", "libperl.so.5.36",
                                      "/a/libperl.so.5.36.0"};
    static const char *const are_not[] = {"perldoc", "perl-config", "libperlx.so", "libperl", "pl"};
    for (size_t i = 0; i < sizeof are / sizeof are[0]; i++)
        assert_true(pt_perl_is_file(are[i]));
    for (size_t i = 0; i < sizeof are_not / sizeof are_not[0]; i++)
        assert_false(pt_perl_is_file(are_not[i]));
    assert_null(pt_perl_layout_of(35));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_go_through_evals_and_c_to_the_file),
        cmocka_unit_test(a_sub_that_has_run_no_statement_is_at_its_first),
        cmocka_unit_test(subs_have_the_name_of_their_glob_or_their_own),
        cmocka_unit_test(random_memory_ends_a_walk),
        cmocka_unit_test(versions_and_files_are_known),
    };
    return cmocka_run_group_tests_name("perl_frames", tests, NULL, NULL);
}
