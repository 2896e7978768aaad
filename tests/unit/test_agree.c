/* test_agree.c: facts that two reports share are equal, over every golden profile and every rule of
 * folding: which rows there are, their self and total, their file and line; and a name that one
 * report shows is found by every report that takes a name. No answer is known but that: each report
 * is the witness of the others.
 */
#include "formats_check.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "base/compress.h"
#include "base/grow.h"
#include "base/hash.h"
#include "model/sums.h"
#include "transform/sum.h"
#include "view/diff.h"
#include "view/flame.h"
#include "view/listing.h"
#include "view/peek.h"
#include "view/summary.h"
#include "view/table.h"
#include "view/traces.h"
#include "view/tree.h"

/* ---- What a report says of each row ---- */

typedef struct {
    char *name;
    int64_t self, total;
    char *file;    /* NULL = it does not say */
    int64_t line;  /* -1 = it does not say */
    uint64_t seen; /* the last stack that it was counted for */
} said;

typedef struct {
    const char *report;
    said *items;
    size_t count, cap;
    pt_index index;
} account;

/* The compared profile, for messages. */
static const char *where = "";
static pt_fold_rule rule;
static size_t sums_compared;

static said *said_of(account *a, const char *name)
{
    const uint64_t hash = pt_hash_bytes(name, strlen(name));
    pt_probe probe = {0};
    for (uint32_t i = pt_index_first(&a->index, hash, &probe); i != PT_NONE;
         i = pt_index_next(&a->index, &probe))
        if (strcmp(a->items[i].name, name) == 0) return &a->items[i];
    PT_GROW(*a, a->count + 1);
    a->items[a->count] = (said){.name = pt_strdup(name), .line = -1};
    pt_index_add(&a->index, hash, (uint32_t)a->count);
    return &a->items[a->count++];
}

/* A row that stands in the report once. */
static said *add_row(account *a, const char *name, int64_t self, int64_t total)
{
    const size_t before = a->count;
    said *s = said_of(a, name);
    if (a->count == before) fail_msg("%s: %s has two rows called %s", where, a->report, name);
    s->self = self;
    s->total = total;
    return s;
}

static void set_file(said *s, const char *file)
{
    if (s->file == NULL) s->file = pt_strdup(file);
}

static void account_done(account *a)
{
    for (size_t i = 0; i < a->count; i++) {
        free(a->items[i].name);
        free(a->items[i].file);
    }
    free(a->items);
    pt_index_done(&a->index);
}

/* A row that one report does not have is worth nothing in the other. */
static void expect_same_rows(account *a, account *b)
{
    for (size_t i = 0; i < a->count; i++)
        said_of(b, a->items[i].name);
    for (size_t i = 0; i < b->count; i++) {
        const said *y = &b->items[i], *x = said_of(a, y->name);
        if (x->self != y->self || x->total != y->total)
            fail_msg("%s, by %d: %s: %s says self %lld total %lld, %s self %lld total %lld", where,
                     rule.by, y->name, a->report, (long long)x->self, (long long)x->total,
                     b->report, (long long)y->self, (long long)y->total);
        if (x->file != NULL && y->file != NULL && strcmp(x->file, y->file) != 0)
            fail_msg("%s, by %d: %s: %s says file %s, %s %s", where, rule.by, y->name, a->report,
                     x->file, b->report, y->file);
        if (x->line >= 0 && y->line >= 0 && x->line != y->line)
            fail_msg("%s, by %d: %s: %s says line %lld, %s %lld", where, rule.by, y->name,
                     a->report, (long long)x->line, b->report, (long long)y->line);
    }
}

/* ---- The reports ---- */

/* Rows by these have one file, wherever they are seen. */
static bool knows_file(void)
{
    return rule.by == PT_BY_FILEFUNCTION || rule.by == PT_BY_FILE || rule.by == PT_BY_LINE;
}

static account top_of(const pt_profile *p, uint32_t event, int64_t whole)
{
    account a = {.report = "top"};
    pt_top top;
    pt_error error = PT_ERROR_INIT;
    const pt_top_request request = {.event = event, .whole = whole, .fold = rule};
    assert_int_equal(pt_top_init(&top, p, &request, &error), PT_OK);
    for (size_t i = 0; i < top.count; i++) {
        const pt_top_row *row = &top.row[i];
        said *s = add_row(&a, row->name, row->self, row->total);
        if (knows_file() && !row->unnamed) set_file(s, row->file);
        if (rule.by == PT_BY_LINE) s->line = row->line;
    }
    pt_top_done(&top);
    return a;
}

static account diff_of(const pt_profile *p, uint32_t event)
{
    account a = {.report = "diff"};
    pt_diff diff;
    pt_error error = PT_ERROR_INIT;
    const pt_diff_run run = {p, event};
    const pt_diff_request request = {
        .run = {&run, &run}, .run_count = {1, 1}, .confidence = 0.95, .fold = rule};
    assert_int_equal(pt_diff_init(&diff, &request, &error), PT_OK);
    for (size_t i = 0; i < diff.count; i++) {
        const pt_diff_row *row = &diff.row[i];
        for (int side = 0; side < 2; side++) {
            assert_true(row->self.value[side] == row->self.value[0]);
            assert_true(row->total.value[side] == row->total.value[0]);
        }
        said *s = add_row(&a, row->name, (int64_t)row->self.value[0], (int64_t)row->total.value[0]);
        if (knows_file() && row->file[0] != '\0' && row->name[0] != '[') set_file(s, row->file);
        if (rule.by == PT_BY_LINE) s->line = row->line;
    }
    pt_diff_done(&diff);
    return a;
}

/* A path of names; what is counted for a row that is on it twice counts once. */
typedef struct {
    char **items;
    size_t count, cap;
} path;

static bool is_on(const path *above, size_t depth, const char *name)
{
    for (size_t i = 0; i < depth; i++)
        if (strcmp(above->items[i], name) == 0) return true;
    return false;
}

static void go_to(path *above, size_t depth, const char *name)
{
    while (above->count > depth)
        free(above->items[--above->count]);
    PT_GROW(*above, above->count + 1);
    above->items[above->count++] = pt_strdup(name);
}

static void path_done(path *above)
{
    while (above->count > 0)
        free(above->items[--above->count]);
    free(above->items);
}

static account tree_of(const pt_profile *p, uint32_t event, int64_t whole)
{
    account a = {.report = "tree"};
    path above = {0};
    pt_tree tree;
    pt_tree_row row;
    pt_error error = PT_ERROR_INIT;
    const pt_tree_request request = {.event = event, .whole = whole, .fold = rule};
    assert_int_equal(pt_tree_init(&tree, p, &request, &error), PT_OK);
    while (pt_tree_next(&tree, &row)) {
        assert_int_equal(row.folded, 0);
        said *s = said_of(&a, row.name);
        s->self += row.self;
        if (!is_on(&above, row.depth - 1, row.name)) s->total += row.total;
        if (knows_file() && row.name[0] != '[') set_file(s, row.file);
        go_to(&above, row.depth - 1, row.name);
    }
    pt_tree_done(&tree);
    path_done(&above);
    return a;
}

/* false: a difference has no widths. */
static bool flame_of(const pt_profile *p, uint32_t event, account *ret_account)
{
    account a = {.report = "flame"};
    path above = {0};
    pt_flame *f = NULL;
    pt_error error = PT_ERROR_INIT;
    const pt_flame_request request = {.event = event, .fold = rule};
    const pt_status status = pt_flame_new(p, &request, &f, &error);
    if (status == PT_ERR_UNSUPPORTED || status == PT_ERR_LIMIT) return false;
    assert_int_equal(status, PT_OK);
    for (uint32_t i = 1; i < f->node_count; i++) {
        const pt_flame_frame *frame = &f->frame[f->node_frame[i]];
        const char *name = pt_flame_text(f, frame->name);
        said *s = said_of(&a, name);
        s->self += f->self[i];
        if (!is_on(&above, f->depth[i] - 1, name)) s->total += f->node_total[i];
        if (knows_file() && frame->kind != PT_FLAME_UNRESOLVED)
            set_file(s, pt_flame_text(f, frame->file));
        go_to(&above, f->depth[i] - 1, name);
    }
    assert_int_equal(f->cut_nodes, 0);
    pt_flame_free(f);
    path_done(&above);
    *ret_account = a;
    return true;
}

static account traces_of(const pt_profile *p, uint32_t event, int64_t whole)
{
    account a = {.report = "traces"};
    pt_traces traces;
    pt_error error = PT_ERROR_INIT;
    const pt_traces_request request = {.event = event, .whole = whole, .fold = rule};
    assert_int_equal(pt_traces_init(&traces, p, &request, &error), PT_OK);
    for (size_t t = 0; t < traces.count; t++) {
        const pt_trace *trace = &traces.trace[t];
        const uint32_t *frames = pt_stack_frames(p, trace->stack);
        for (uint32_t i = 0; i < pt_stack_depth(p, trace->stack); i++) {
            uint32_t one, count;
            const uint32_t *rows = pt_fold_rows(&traces.fold, frames[i], &one, &count);
            for (uint32_t k = 0; k < count; k++) {
                PT_FREE char *name = pt_fold_text(&traces.fold, rows[k]);
                said *s = said_of(&a, name);
                if (i == 0 && k == 0) s->self += trace->value;
                if (s->seen != t + 1) s->total += trace->value;
                s->seen = t + 1;
                if (rule.by == PT_BY_LINE) s->line = pt_fold_line_number(&traces.fold, rows[k]);
            }
        }
    }
    pt_traces_done(&traces);
    return a;
}

static pt_status peek_at(pt_peek *peek, const pt_profile *p, uint32_t event, int64_t whole,
                         const char *name, const pt_regex *pattern)
{
    pt_error error = PT_ERROR_INIT;
    const pt_peek_request request = {
        .event = event, .whole = whole, .name = name, .pattern = pattern, .fold = rule};
    return pt_peek_init(peek, p, &request, &error);
}

static account peek_of(const pt_profile *p, uint32_t event, int64_t whole, const pt_regex *all)
{
    account a = {.report = "peek"};
    pt_peek peek;
    if (peek_at(&peek, p, event, whole, NULL, all) != PT_OK) return a;
    for (size_t i = 0; i < peek.count; i++)
        add_row(&a, peek.function[i].name, peek.function[i].self, peek.function[i].total);
    pt_peek_done(&peek);
    return a;
}

static account graph_of(const pt_profile *p, uint32_t event)
{
    account a = {.report = "graph"};
    pt_graph g;
    pt_error error = PT_ERROR_INIT;
    const pt_graph_request request = {
        .event = event, .fold = rule, .visual = true, .edges = PT_EDGES_ALL, .unit = "minimum"};
    assert_int_equal(pt_graph_init(&g, p, &request, &error), PT_OK);
    for (uint32_t i = 0; i < g.listed_count; i++) {
        const pt_graph_node *node = &g.node[g.listed[i]];
        add_row(&a, node->text, node->flat, node->cum);
    }
    pt_graph_done(&g);
    return a;
}

/* ---- Agreement ---- */

/* In each report. Lists tell functions of one name in several files apart. */
static void find_name(const pt_profile *p, uint32_t event, int64_t whole, const said *s,
                      pt_source_texts *texts)
{
    const pt_fold_rule shown_by = rule;
    pt_peek peek;
    bool found = false;
    if (peek_at(&peek, p, event, whole, s->name, NULL) != PT_OK)
        fail_msg("%s, by %d: peek does not find %s", where, rule.by, s->name);
    for (size_t i = 0; i < peek.count; i++)
        found |= strcmp(peek.function[i].name, s->name) == 0 && peek.function[i].self == s->self &&
                 peek.function[i].total == s->total;
    if (!found) fail_msg("%s, by %d: peek finds something else for %s", where, rule.by, s->name);
    if (rule.by != PT_BY_MAPPING && rule.by != PT_BY_FILE) assert_int_equal(peek.count, 1);
    pt_peek_done(&peek);
    rule = (pt_fold_rule){0}; /* copied into a report by other rules */
    if (peek_at(&peek, p, event, whole, s->name, NULL) == PT_OK)
        pt_peek_done(&peek);
    else
        fail_msg("%s, by %d: peek by function does not find %s", where, shown_by.by, s->name);
    pt_listing listing;
    pt_error error = PT_ERROR_INIT;
    const pt_listing_request request = {
        .event = event, .whole = whole, .name = s->name, .with_lines = true, .texts = texts};
    if (pt_listing_init(&listing, p, &request, &error) != PT_OK)
        fail_msg("%s, by %d: list does not find %s", where, shown_by.by, s->name);
    pt_listing_done(&listing);
    rule = shown_by;
}

#define NAMES_FOUND 16 /* of a report: spread over all of its rows */

static void find_names(const pt_profile *p, uint32_t event, int64_t whole, const account *a)
{
    pt_source_texts *texts = pt_source_texts_new("/nowhere", NULL, NULL, NULL);
    const size_t step = a->count / NAMES_FOUND + 1;
    for (size_t i = 0; i < a->count; i += step)
        if (a->items[i].total != 0) find_name(p, event, whole, &a->items[i], texts);
    pt_source_texts_free(texts);
}

static void compare_by_rule(const pt_profile *p, uint32_t event, const pt_regex *all)
{
    const int64_t whole = pt_profile_magnitude(p, event);
    assert_int_equal(whole, pt_summary_of(p, event).total);
    account top = top_of(p, event, whole);
    account flame = {0};
    const bool has_flame = flame_of(p, event, &flame);
    account others[] = {diff_of(p, event),          tree_of(p, event, whole),
                        traces_of(p, event, whole), peek_of(p, event, whole, all),
                        graph_of(p, event),         flame};
    const size_t count = sizeof others / sizeof others[0] - !has_flame;
    find_names(p, event, whole, &top);
    for (size_t i = 0; i < count; i++) {
        expect_same_rows(&top, &others[i]);
        account_done(&others[i]);
    }
    account_done(&top);
}

/* ---- A sum of events beside its parts ---- */

static account part_of_top(const pt_profile *sum, uint32_t event, size_t part)
{
    account a = {.report = "top's part"};
    pt_top top;
    pt_error error = PT_ERROR_INIT;
    const pt_top_request request = {
        .event = event, .whole = pt_profile_magnitude(sum, event), .fold = rule};
    assert_int_equal(pt_top_init(&top, sum, &request, &error), PT_OK);
    for (size_t i = 0; i < top.count; i++)
        if (top.row[i].part_total[part] != 0)
            add_row(&a, top.row[i].name, top.row[i].part_self[part], top.row[i].part_total[part]);
    pt_top_done(&top);
    return a;
}

static account part_of_tree(const pt_profile *sum, uint32_t event, size_t part)
{
    account a = {.report = "tree's part"};
    path above = {0};
    pt_tree tree;
    pt_tree_row row;
    pt_error error = PT_ERROR_INIT;
    const pt_tree_request request = {
        .event = event, .whole = pt_profile_magnitude(sum, event), .fold = rule};
    assert_int_equal(pt_tree_init(&tree, sum, &request, &error), PT_OK);
    while (pt_tree_next(&tree, &row)) {
        const bool is_first = !is_on(&above, row.depth - 1, row.name);
        go_to(&above, row.depth - 1, row.name);
        if (row.part_total[part] == 0) continue;
        said *s = said_of(&a, row.name);
        s->self += row.part_self[part];
        if (is_first) s->total += row.part_total[part];
    }
    pt_tree_done(&tree);
    path_done(&above);
    return a;
}

/* The other event that a default event can be added to; PT_NONE: there is none. */
static uint32_t addend_of(const pt_profile *p, uint32_t event)
{
    for (uint32_t e = 0; e < p->event->t.count; e++)
        if (e != event && p->event->row[e].unit == p->event->row[event].unit) return e;
    return PT_NONE;
}

/* The parts of a sum are what top says of each event alone. */
static void compare_parts(const pt_profile *p, uint32_t event)
{
    const uint32_t other = addend_of(p, event);
    if (other == PT_NONE) return;
    const uint32_t of[2] = {event < other ? event : other, event < other ? other : event};
    PT_FREE char *names = pt_strf("%u+%u", of[0], of[1]);
    const pt_profile *sum;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_sum_events(p, names, &sum, &error), PT_OK);
    const uint32_t last = sum->event->t.count - 1;
    for (size_t k = 0; k < 2; k++) {
        account alone = top_of(p, of[k], pt_profile_magnitude(p, of[k]));
        account parts[] = {part_of_top(sum, last, k), part_of_tree(sum, last, k)};
        for (size_t i = 0; i < 2; i++) {
            expect_same_rows(&alone, &parts[i]);
            account_done(&parts[i]);
        }
        account_done(&alone);
    }
    sums_compared++;
    pt_profile_unref(sum);
}

static void compare_all(const pt_profile *p)
{
    pt_regex *all;
    pt_error error = PT_ERROR_INIT;
    const uint32_t event = pt_profile_default_event(p);
    if (event == PT_NONE || p->sample->t.count == 0) return;
    if (pt_profile_magnitude(p, event) == INT64_MAX)
        return; /* sums saturate, each in its own way */
    assert_int_equal(pt_regex_new("", 0, &all, &error), PT_OK);
    rule = (pt_fold_rule){0};
    compare_parts(p, event);
    for (int by = PT_BY_FUNCTION; by <= PT_BY_MAPPING; by++)
        for (int unnamed = PT_UNNAMED_FUNCTION; unnamed <= PT_UNNAMED_OBJECT; unnamed++) {
            rule = (pt_fold_rule){.by = (pt_grain)by, .unnamed = (pt_unnamed)unnamed};
            compare_by_rule(p, event, all);
        }
    pt_regex_free(all);
}

static bool compare_file(const char *format, const char *file)
{
    pt_blob blob = PT_BLOB_INIT;
    pt_error error = PT_ERROR_INIT;
    struct stat st;
    if (stat(file, &st) != 0 || !S_ISREG(st.st_mode)) return false;
    if (pt_file_read(file, 0, 1 << 30, &blob, &error) != PT_OK ||
        pt_peel(&blob, 1 << 30, NULL, NULL, &error) != PT_OK)
        fail_msg("%s: %s", file, error.message);
    reading r = read_as(format, blob.data, blob.size);
    const bool is_profile = r.profile != NULL;
    where = file;
    if (is_profile) compare_all(r.profile);
    reading_done(&r);
    pt_blob_done(&blob);
    return is_profile;
}

static void reports_agree_on_every_golden_profile(void **state)
{
    size_t count = 0;
    for (size_t i = 0; i < pt_format_count; i++) {
        PT_FREE char *folder = pt_strf("%s/%s", PT_GOLDEN_FOLDER, pt_formats[i]->name);
        DIR *dir = opendir(folder);
        if (dir == NULL) continue;
        for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
            PT_FREE char *file = pt_strf("%s/%s", folder, entry->d_name);
            count += compare_file(pt_formats[i]->name, file);
        }
        closedir(dir);
    }
    assert_true(count > 30);
    assert_true(sums_compared > 3);
}

static uint32_t add_frame(pt_builder *b, const char *name, const char *mapped, uint64_t address)
{
    pt_location location = {.mapping = PT_NONE, .address = address};
    if (mapped != NULL) {
        const pt_mapping m = {
            .start = 0x400000, .limit = 0x500000, .file = pt_builder_text(b, mapped).v};
        location.mapping = pt_builder_mapping(b, &m).v;
    }
    if (name == NULL) return pt_builder_append_location(b, &location, NULL, 0).v;
    const pt_function f = {.name = pt_builder_text(b, name).v,
                           .file = pt_builder_text(b, "/src/a b.cc").v};
    const pt_line line = {.function = pt_builder_function(b, &f).v, .line = 7};
    return pt_builder_append_location(b, &location, &line, 1).v;
}

/* Names that are no expressions, or expressions for something else; memory that is no file. */
static void odd_names_are_found_in_every_report(void **state)
{
    static const struct {
        const char *name, *mapped;
        uint64_t address;
    } frames[] = {
        {"std::map<int, std::vector<char> >::operator[](int&&)", "/bin/app", 0x401000},
        {"main::{lambda(int)#1}::operator()(int) const", "/bin/app", 0x401010},
        {"operator delete[](void*", "/bin/app", 0x401020}, /* not closed */
        {"(anonymous namespace)::f+?", "/bin/app", 0x401030},
        {"net/http.(*conn).serve", "/bin/app", 0x401040},
        {"<core::ops::Range<T> as Iterator>::next", "/bin/app", 0x401050},
        {"f", "/lib/a.so", 0x401060},
        {"f", "/lib/b.so", 0x401070},
        {NULL, "/lib/a.so", 0x401080},
        {NULL, "/old/a.so", 0x401080},
        {NULL, "[vdso]", 0x401090},
        {NULL, "/memfd:doublemapper", 0x401006},
        {NULL, "/memfd:doublemapper (deleted)", 0x401007},
        {NULL, "[anon:jit]", 0x401008},
        {NULL, "//anon", 0x401009},
        {NULL, NULL, 0x7f67455ed006},
        {NULL, NULL, 0},
        {NULL, "", 0x40100a},
    };
    enum { COUNT = sizeof frames / sizeof frames[0] };
    pt_builder *b = pt_builder_new();
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "samples").v,
                                    .unit = pt_builder_text(b, "count").v});
    uint32_t at[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        at[i] = add_frame(b, frames[i].name, frames[i].mapped, frames[i].address);
    for (size_t i = 0; i < COUNT; i++) {
        const uint32_t stack[] = {at[i], at[(i + 1) % COUNT]};
        const int64_t value = (int64_t)i + 1;
        pt_builder_add(b, pt_builder_stack(b, stack, 2, PT_STACK_END_ROOT), PT_NO_LABELS, &value);
    }
    const pt_profile *p = NULL;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_builder_freeze(b, &p, &error), PT_OK);
    where = "odd names";
    compare_all(p);
    pt_profile_unref(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_agree_on_every_golden_profile),
        cmocka_unit_test(odd_names_are_found_in_every_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
