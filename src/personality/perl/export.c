/* export.c: the Perl pprof's output for other programs: folded stacks, profiles that contain their
 * symbols, callgrind. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "base/text.h"
#include "personality/perl/perl.h"

/* ---- Folded stacks ---- */

/* The names at an address, outermost first, with ; between. */
static void put_folded_names(const pt_perl_session *s, uint32_t address, pt_buf *text)
{
    size_t count;
    const pt_perl_name *names = pt_perl_names_of(s, address, &count);
    char hex[17];
    if (count == 0) pt_put_text(text, pt_perl_hex(s, pt_perl_pc(s, address), hex));
    for (size_t i = 0; i < count; i++) {
        const char *line = pt_perl_text_of(s, names[i].file_line);
        const char *name = pt_perl_text_of(s, names[i].full_name);
        if (strcmp(line, "?") == 0 || strcmp(line, ":0") == 0) line = "??:0";
        if (i > 0) pt_put_u8(text, ';');
        pt_put_text(text, strcmp(name, "??") == 0 ? line : name);
        if (i > 0) pt_put_text(text, "[inline]");
    }
}

void pt_perl_print_collapsed(pt_perl_session *session, const pt_perl_profile *profile)
{
    const size_t count = session->addresses.count;
    PT_AUTO(pt_buf) text = PT_BUF_INIT; /* the names of all addresses, one after the other */
    PT_FREE size_t *first = pt_alloc(count + 1, sizeof *first);
    for (uint32_t i = 0; i < count; i++) {
        first[i] = text.size;
        put_folded_names(session, i, &text);
    }
    first[count] = text.size;
    for (size_t i = 0; i < profile->count; i++) {
        size_t depth;
        const uint32_t *frames = pt_perl_frames(session, profile->stack[i], &depth);
        for (size_t k = depth; k-- > 0;) {
            const uint32_t at = frames[k];
            pt_out_put(session->out, text.data + first[at], first[at + 1] - first[at]);
            if (k > 0) pt_out_char(session->out, ';');
        }
        pt_outf(session->out, " %.0f\n", trunc(profile->value[i]));
    }
}

/* ---- A profile with its symbols ---- */

static int by_address(const void *a, const void *b, void *context)
{
    const pt_perl_session *s = context;
    const uint64_t x = pt_perl_pc(s, *(const uint32_t *)a);
    const uint64_t y = pt_perl_pc(s, *(const uint32_t *)b);
    return x < y ? -1 : x > y;
}

static void put_symbols(pt_perl_session *s)
{
    const size_t count = s->addresses.count;
    PT_FREE uint32_t *order = pt_alloc_numbers(count);
    qsort_r(order, count, sizeof *order, by_address, s);
    for (size_t i = 0; i < count; i++) {
        size_t names;
        char hex[17];
        const pt_perl_name *name = pt_perl_names_of(s, order[i], &names);
        if (names == 0) continue;
        pt_outf(s->out, "0x%s", pt_perl_hex(s, pt_perl_pc(s, order[i]), hex));
        for (size_t k = 0; k < names; k++)
            pt_outf(s->out, "%s%s", k == 0 ? " " : "--", pt_perl_text_of(s, name[k].full_name));
        pt_out_char(s->out, '\n');
    }
}

void pt_perl_print_raw(pt_perl_session *session, const pt_perl_profile *profile)
{
    pt_outf(session->out, "--- symbol\nbinary=%s\n", session->program);
    put_symbols(session);
    pt_out_text(session->out, "---\n--- profile\n");
    PT_AUTO(pt_buf) bytes = PT_BUF_INIT;
    static const uint64_t header[] = {0, 3, 0, 1, 0};
    for (size_t i = 0; i < PT_COUNT(header); i++)
        pt_put_le(&bytes, header[i], 8);
    for (size_t i = 0; i < profile->count; i++) {
        size_t depth;
        const uint32_t *frames = pt_perl_frames(session, profile->stack[i], &depth);
        if (depth == 0) continue;
        pt_put_le(&bytes, (uint64_t)pt_whole_part(profile->value[i]), 8);
        pt_put_le(&bytes, depth, 8);
        for (size_t k = 0; k < depth; k++)
            pt_put_le(&bytes, pt_perl_pc(session, frames[k]), 8);
    }
    pt_out_put(session->out, bytes.data, bytes.size);
}

/* ---- Callgrind ---- */

/* A call from place to place, each "file:line:function", and its cost. */
typedef struct {
    uint32_t caller, callee; /* words; callee PT_NONE = own cost */
    double cost;
} call;

typedef struct {
    pt_perl_session *session;
    call *items;
    size_t count, cap;
    pt_index index;
} calls;

static void add_call(calls *c, uint32_t caller, uint32_t callee, double cost)
{
    const uint64_t hash = pt_hash_u32_pair(caller, callee);
    PT_INDEX_EACH (&c->index, hash, id) {
        if (c->items[id].caller != caller || c->items[id].callee != callee) continue;
        c->items[id].cost += cost;
        return;
    }
    PT_INDEX_PUSH(&c->index, hash, *c, (call){.caller = caller, .callee = callee, .cost = cost});
}

/* The places of each address, callee first, as words. */
static uint32_t *place_words(pt_perl_session *s)
{
    const size_t count = s->addresses.count;
    uint32_t *words = pt_alloc(s->names.count + 1, sizeof *words);
    for (uint32_t id = 0; id < count; id++) {
        size_t names;
        const pt_perl_name *name = pt_perl_names_of(s, id, &names);
        for (size_t i = 0; i < names; i++) {
            const char *line = pt_perl_text_of(s, name[i].file_line);
            const bool unknown = strcmp(line, "?") == 0 || strcmp(line, ":0") == 0;
            PT_FREE char *text =
                pt_strf("%s:%s%s", unknown ? "??:0" : line, pt_perl_text_of(s, name[i].short_name),
                        i > 0 ? "[inline]" : "");
            words[s->name_ranges.items[id].first + (names - 1 - i)] = pt_perl_wordz(s, text);
        }
    }
    return words;
}

/* Adds the calls of all stacks. The loop over places ends at the number of addresses, as in the
 * Perl pprof, so that one call is missed for each inlined frame. The mistake is kept, since pitot
 * must print the same numbers. */
static void gather_calls(calls *c, const pt_perl_profile *profile)
{
    pt_perl_session *s = c->session;
    const uint32_t unknown = pt_perl_wordz(s, "??:0:unknown");
    PT_FREE uint32_t *places = place_words(s);
    uint32_t *path = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < profile->count; i++) {
        size_t depth;
        const uint32_t *frames = pt_perl_frames(s, profile->stack[i], &depth);
        size_t length = 0;
        for (size_t k = 0; k < depth; k++) {
            size_t names;
            const pt_perl_name *name = pt_perl_names_of(s, frames[k], &names);
            path = pt_grow(path, &cap, length + names + 1, sizeof *path);
            if (names == 0) path[length++] = unknown;
            for (size_t n = 0; n < names; n++)
                path[length++] = places[(size_t)(name - s->names.items) + n];
        }
        if (depth == 0) {
            add_call(c, unknown, PT_NONE, profile->value[i]);
            continue;
        }
        add_call(c, path[0], PT_NONE, profile->value[i]);
        for (size_t k = 1; k + 1 < depth && k < length; k++)
            add_call(c, path[k], path[k - 1], profile->value[i]);
    }
    free(path);
}

/* The parts of a text "file:line:function". */
typedef struct {
    const char *file, *line, *function;
    size_t file_length, line_length, function_length;
} place;

/* Finds the first part of text that has the form "FILE:LINE:FUNCTION". FUNCTION reaches to the next
 * space; with to_end (a callee) to the end of the text. */
static bool split_place(const char *text, bool to_end, place *ret)
{
    for (const char *start = text; *start != '\0';) {
        const char *colon = strchr(start, ':');
        if (colon == NULL) return false;
        const size_t digits = strspn(colon + 1, "0123456789");
        const char *after = colon + 1 + digits;
        const size_t length =
            *after == ':' ? (to_end ? strlen(after + 1) : strcspn(after + 1, " ")) : 0;
        if (colon > start && digits > 0 && length > 0) {
            *ret = (place){.file = start,
                           .line = colon + 1,
                           .function = after + 1,
                           .file_length = (size_t)(colon - start),
                           .line_length = digits,
                           .function_length = length};
            return true;
        }
        if (to_end) return false; /* a callee must begin at the beginning of the text */
        start = colon + 1;
    }
    return false;
}

/* The place of a text without "FILE:LINE:FUNCTION". */
static const place no_place = {.file = "", .line = "", .function = ""};

typedef struct {
    place from, to;
    bool has_to;
    double cost;
    size_t order;
    char *text; /* "caller -> callee" */
} record;

static int compare_bytes(const char *a, size_t a_length, const char *b, size_t b_length)
{
    const int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order != 0 ? order : a_length < b_length ? -1 : a_length > b_length;
}

static int by_file_and_line(const void *a, const void *b)
{
    const record *x = a, *y = b;
    const int files =
        compare_bytes(x->from.file, x->from.file_length, y->from.file, y->from.file_length);
    if (files != 0) return files;
    const double p = strtod(x->from.line, NULL), q = strtod(y->from.line, NULL);
    if (p != q) return p < q ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Callgrind's short names: "fn=(3) name" the first time, "fn=(3)" later; names of at most three
 * bytes are always written out. */
static void put_name(pt_perl_session *s, pt_index *known, uint32_t *count, uint32_t *words,
                     const char *key, const char *name, size_t length)
{
    if (length <= 3) {
        pt_outf(s->out, "%s=%.*s\n", key, (int)length, name);
        return;
    }
    const uint32_t word = pt_perl_word(s, name, length);
    const uint64_t hash = pt_hash_u32_pair(word, 1);
    PT_INDEX_EACH (known, hash, id) {
        if (words[id] != word) continue;
        pt_outf(s->out, "%s=(%u)\n", key, id + 1);
        return;
    }
    words[*count] = word;
    pt_index_add(known, hash, (*count)++);
    pt_outf(s->out, "%s=(%u) %.*s\n", key, *count, (int)length, name);
}

void pt_perl_print_callgrind(pt_perl_session *session, const pt_perl_profile *profile)
{
    calls c = {.session = session};
    gather_calls(&c, profile);
    PT_FREE record *records = pt_alloc(c.count + 1, sizeof *records);
    for (size_t i = 0; i < c.count; i++) {
        const char *from = pt_perl_text_of(session, c.items[i].caller);
        const bool has_to = c.items[i].callee != PT_NONE;
        records[i] =
            (record){.from = no_place, .to = no_place, .cost = trunc(c.items[i].cost), .order = i};
        records[i].text =
            has_to ? pt_strf("%s -> %s", from, pt_perl_text_of(session, c.items[i].callee))
                   : pt_strdup(from);
        if (!split_place(records[i].text, false, &records[i].from)) continue;
        const char *rest = records[i].from.function + records[i].from.function_length;
        records[i].has_to = pt_begins(rest, " -> ") && split_place(rest + 4, true, &records[i].to);
    }
    qsort(records, c.count, sizeof *records, by_file_and_line);
    pt_index files, functions;
    uint32_t file_count = 0, function_count = 0;
    PT_FREE uint32_t *file_words = pt_alloc(2 * c.count + 1, sizeof *file_words);
    PT_FREE uint32_t *function_words = pt_alloc(2 * c.count + 1, sizeof *function_words);
    pt_index_init(&files);
    pt_index_init(&functions);
    pt_out_text(session->out, "events: Hits\n\n");
    for (size_t i = 0; i < c.count; i++) {
        const record *r = &records[i];
        put_name(session, &files, &file_count, file_words, "fl", r->from.file, r->from.file_length);
        put_name(session, &functions, &function_count, function_words, "fn", r->from.function,
                 r->from.function_length);
        if (r->has_to) {
            put_name(session, &files, &file_count, file_words, "cfl", r->to.file,
                     r->to.file_length);
            put_name(session, &functions, &function_count, function_words, "cfn", r->to.function,
                     r->to.function_length);
            pt_outf(session->out, "calls=%.0f %.*s\n", r->cost, (int)r->to.line_length, r->to.line);
        }
        pt_outf(session->out, "%.*s %.0f\n\n", (int)r->from.line_length, r->from.line, r->cost);
        free(r->text);
    }
    pt_index_done(&files);
    pt_index_done(&functions);
    pt_index_done(&c.index);
    free(c.items);
}
