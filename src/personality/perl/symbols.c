/* symbols.c: names of addresses: the Perl pprof's choice between the answers of addr2line and nm.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/plain/ascending.h"
#include "base/text.h"
#include "personality/perl/addr2line.h"
#include "personality/perl/perl.h"

/* ---- One image ---- */

typedef struct {
    pt_perl_session *session;
    const pt_perl_nm *nm;
    const uint64_t *addrs;
    uint64_t offset;
    pt_perl_names_sink *sink;
    void *context;
} naming;

static uint64_t image_address(const pt_perl_session *s, uint64_t address, uint64_t offset)
{
    return s->address_digits == 8 ? (address - offset) & UINT32_MAX : address - offset;
}

/* The full name of the procedure at an address of the image. NULL when the image has no procedures,
 * or when the address lies after the last procedure; in this case *ret_outside becomes true. */
static const char *nm_name(const pt_perl_nm *nm, uint64_t addr, bool *ret_outside)
{
    const size_t at = PT_FIRST_WHERE(i, nm->count, addr < nm->items[i].end);
    *ret_outside = nm->count > 0 && at == nm->count;
    return at < nm->count ? nm->items[at].name : NULL;
}

/* The name of a function: that of nm if addr2line has none, or if nm's begins with addr2line's
 * short name; else that of addr2line. */
static pt_perl_name choose_name(const naming *n, const pt_perl_line *line, const char *nm_full)
{
    pt_perl_session *s = n->session;
    const bool keeps = s->settings->no_strip_templates;
    PT_FREE char *brief = pt_perl_short_name(line->function, keeps);
    const bool unknown = strcmp(line->function, "??") == 0;
    const bool same = nm_full != NULL && pt_begins(nm_full, brief);
    pt_perl_name name = {.file_line = pt_perl_wordz(s, line->file_line)};
    if (nm_full != NULL && (unknown || same)) {
        const bool is_address = pt_begins(nm_full, "0x");
        PT_FREE char *nm_brief =
            is_address ? pt_strdup(nm_full) : pt_perl_short_name(nm_full, keeps);
        name.short_name = pt_perl_wordz(s, nm_brief);
        name.full_name = pt_perl_wordz(s, nm_full);
    } else {
        name.short_name = pt_perl_wordz(s, brief);
        name.full_name = pt_perl_wordz(s, line->function);
    }
    return name;
}

static void take_lines(void *context, size_t index, const pt_perl_line *lines, size_t count)
{
    const naming *n = context;
    const uint64_t address = n->addrs[index];
    bool outside;
    const char *full = nm_name(n->nm, image_address(n->session, address, n->offset), &outside);
    char hex[17], text[20];
    if (outside) {
        snprintf(text, sizeof text, "0x%s", pt_perl_hex(n->session, address, hex));
        full = text;
    }
    PT_FREE pt_perl_name *names = pt_alloc(count, sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[count - 1 - i] = choose_name(n, &lines[i], full);
    n->sink(n->context, index, names, count);
}

void pt_perl_map_to_symbols(pt_perl_session *session, const char *path, uint64_t offset,
                            const uint64_t *addrs, size_t count, pt_perl_names_sink *sink,
                            void *context)
{
    pt_perl_image *image = count > 0 ? pt_perl_image_find(&session->images, path) : NULL;
    pt_perl_addr2line *tool = image != NULL ? pt_perl_image_tool(session, image) : NULL;
    if (tool == NULL) return; /* no image: no names, as when addr2line fails */
    const pt_perl_nm *nm = pt_perl_image_procedures(session, image);
    PT_FREE uint64_t *there = pt_alloc(count, sizeof *there);
    for (size_t i = 0; i < count; i++)
        there[i] = image_address(session, addrs[i], offset);
    naming n = {.session = session,
                .nm = nm,
                .addrs = addrs,
                .offset = offset,
                .sink = sink,
                .context = context};
    pt_perl_addr2line_ask(tool, there, count, nm->has_separator, take_lines, &n);
}

/* ---- All addresses ---- */

typedef struct {
    uint64_t address;
    uint32_t id;
} pc;

PT_ORDER(by_address, pc, PT_UP(address));

typedef struct {
    pt_perl_session *session;
    const pc *pcs; /* by index of the question */
} gathering;

static void gather_names(void *context, size_t index, const pt_perl_name *names, size_t count)
{
    const gathering *g = context;
    pt_perl_give_names(g->session, g->pcs[index].id, names, count);
}

/* Descending by start; libraries with equal starts keep the order of the list. */
PT_ORDER(by_start, __typeof__(const pt_perl_lib *),
         PT_COMPARE((*b)->start, (*a)->start) ?: PT_COMPARE(*a, *b));

/* Ascending addresses. An address is free until its library is found; then it is taken. */
typedef struct {
    pc *items;
    size_t count;
    size_t *next; /* [count + 1]: for a free address its own index, for a taken address a later
                   * index */
} free_pcs;

/* The index of the first free address at or after index i; count if there is none. */
static size_t find_free(free_pcs *pcs, size_t i)
{
    while (pcs->next[i] != i) {
        pcs->next[i] = pcs->next[pcs->next[i]];
        i = pcs->next[i];
    }
    return i;
}

static size_t first_from(const free_pcs *pcs, uint64_t address)
{
    return PT_FIRST_FROM(pcs->items, pcs->count, address, address);
}

/* Takes the free addresses that belong to a library, and finds their names. addrs, taken: memory
 * with room for all addresses. */
static void name_lib(gathering *g, const pt_perl_lib *lib, free_pcs *pcs, uint64_t *addrs,
                     pc *taken)
{
    size_t count = 0;
    for (size_t i = find_free(pcs, first_from(pcs, lib->start));
         i < pcs->count && pcs->items[i].address <= lib->finish; i = find_free(pcs, i)) {
        addrs[count] = pcs->items[i].address;
        taken[count++] = pcs->items[i];
        pcs->next[i] = i + 1;
    }
    g->pcs = taken;
    pt_perl_map_to_symbols(g->session, lib->path, lib->start - lib->offset, addrs, count,
                           gather_names, g);
}

static void name_by_libs(pt_perl_session *s)
{
    const size_t count = s->addresses.count;
    PT_FREE pc *items = pt_alloc(count + 1, sizeof *items);
    PT_FREE pc *taken = pt_alloc(count + 1, sizeof *taken);
    PT_FREE uint64_t *addrs = pt_alloc(count + 1, sizeof *addrs);
    PT_FREE size_t *next = pt_alloc(count + 1, sizeof *next);
    for (uint32_t i = 0; i < count; i++)
        items[i] = (pc){.address = pt_perl_pc(s, i), .id = i};
    for (size_t i = 0; i <= count; i++)
        next[i] = i;
    qsort(items, count, sizeof *items, by_address);
    PT_FREE const pt_perl_lib **order = pt_alloc(s->lib_count + 1, sizeof *order);
    for (size_t i = 0; i < s->lib_count; i++)
        order[i] = &s->libs[i];
    qsort(order, s->lib_count, sizeof *order, by_start);
    free_pcs pcs = {.items = items, .count = count, .next = next};
    gathering g = {.session = s};
    for (size_t i = 0; i < s->lib_count; i++)
        name_lib(&g, order[i], &pcs, addrs, taken);
}

/* Sets the names of addresses that a symbolized file contains: "main--helper", outermost first. An
 * address without names there gets itself as its name. */
static void name_by_file(pt_perl_session *s)
{
    const uint32_t unknown = pt_perl_wordz(s, "?");
    PT_VECTOR(pt_perl_name) names = {0};
    for (uint32_t id = 0; id < s->addresses.count; id++) {
        size_t known;
        pt_perl_names_of(s, id, &known);
        if (known > 0) continue; /* the names come from a profile of another format */
        char hex[17], fallback[20];
        snprintf(fallback, sizeof fallback, "0x%s", pt_perl_hex(s, pt_perl_pc(s, id), hex));
        const bool is_given = id < s->given_names_count && s->given_names[id] != PT_NONE;
        PT_FREE char *text =
            pt_strdup(is_given ? pt_perl_text_of(s, s->given_names[id]) : fallback);
        names.count = 0;
        for (char *name = text, *next; name != NULL; name = next) {
            next = strstr(name, "--");
            if (next != NULL) {
                *next = '\0';
                next += 2;
            }
            PT_FREE char *brief = pt_perl_short_name(name, s->settings->no_strip_templates);
            PT_PUSH(names, (pt_perl_name){.short_name = pt_perl_wordz(s, brief),
                                          .file_line = unknown,
                                          .full_name = pt_perl_wordz(s, name)});
        }
        pt_perl_give_names(s, id, names.items, names.count);
    }
    free(names.items);
}

void pt_perl_symbols_extract(pt_perl_session *session)
{
    if (session->symbolized || (session->server != NULL && !session->from_model))
        name_by_file(session);
    else if (!session->from_model)
        name_by_libs(session);
}

/* ---- --symbols ---- */

/* Finds the first word "0x..." of the line; returns false if the line has none. */
static bool find_address(const char *line, uint64_t *ret)
{
    for (const char *p = line; (p = strpbrk(p, "0")) != NULL; p++) {
        const bool starts =
            p == line || !(strchr("_", p[-1]) != NULL || (p[-1] >= '0' && p[-1] <= '9') ||
                           ((p[-1] | 32) >= 'a' && (p[-1] | 32) <= 'z'));
        if (!starts || (p[1] | 32) != 'x') continue;
        const size_t digits = strspn(p + 2, "0123456789abcdefABCDEF");
        const char after = p[2 + digits];
        const bool ends = !(after == '_' || (after >= '0' && after <= '9') ||
                            ((after | 32) >= 'a' && (after | 32) <= 'z'));
        if (digits == 0 || !ends) continue;
        *ret = strtoull(p + 2, NULL, 16);
        return true;
    }
    return false;
}

int pt_perl_symbols_print(pt_perl_session *session)
{
    PT_AUTO(pt_blob) input = PT_BLOB_INIT;
    pt_error error = PT_ERROR_INIT;
    if (pt_file_read_fd(0, "standard input", PT_FILE_EMPTY_OK, UINT64_MAX, &input, &error) != PT_OK)
        return pt_fail(&error);
    PT_AUTO(pt_buf) maps = PT_BUF_INIT;
    uint32_t *asked = NULL;
    size_t count = 0, cap = 0, length;
    pt_reader r;
    pt_reader_init(&r, input.data, input.size, NULL);
    for (const char *raw; (raw = pt_read_line(&r, &length)) != NULL;) {
        PT_FREE char *line = pt_strndup(raw, length);
        uint64_t address;
        if (find_address(line, &address)) {
            asked = pt_grow(asked, &cap, count + 1, sizeof *asked);
            asked[count++] = pt_perl_address(session, address);
        } else {
            pt_put_text(&maps, line);
            pt_put_u8(&maps, '\n');
        }
    }
    pt_perl_libs_parse(session, pt_buf_text(&maps), maps.size);
    pt_perl_symbols_extract(session);
    for (size_t i = 0; i < count; i++) {
        size_t names;
        const pt_perl_name *name = pt_perl_names_of(session, asked[i], &names);
        pt_outf(session->out, "%s\n",
                names > 0 ? pt_perl_text_of(session, name->short_name) : "??");
    }
    free(asked);
    return PT_EXIT_OK;
}
